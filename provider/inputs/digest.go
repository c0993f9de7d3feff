package inputs

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/mac"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

// Schema is the version of the format of digests. It changes when a version of the provider computes another digest of
// the same inputs. Digests of different schemas are not comparable.
const Schema = "v4"

// canonical is the data of a digest, as JSON with sorted keys. A nil list is the same as an empty list.
type canonical struct {
	Parameters   map[string]any       `json:"parameters"`
	Roles        []common.Role        `json:"roles,omitempty"`
	Required     []common.Role        `json:"required,omitempty"`
	VarFiles     [][]byte             `json:"varFiles,omitempty"`
	Inventories  [][]byte             `json:"inventories,omitempty"`
	Credentials  []credential         `json:"credentials,omitempty"`
	Requirements string               `json:"requirements,omitempty"`
	Env          map[string]string    `json:"env,omitempty"`
	Collections  []common.ContentItem `json:"collections,omitempty"`
	Content      []common.ContentItem `json:"content,omitempty"`
	Project      string               `json:"project,omitempty"`
	Grant        *sandbox.Grant       `json:"grant,omitempty"`
	Kubernetes   *Kubernetes          `json:"kubernetes,omitempty"`
}

type credential struct {
	Name string `json:"name"`
	Data []byte `json:"data"`
	// Source replaces Data for a credential that rotates.
	Source string `json:"source,omitempty"`
}

// Digest returns an HMAC-SHA256 of the inputs and of the collections, the roles and the project that their requirements
// resolved to, as "<schema>.<fingerprint of the key>.<hex>". The formatting of variables does not change the digest,
// but the notation of numbers and any change of a text does.
//
// All parameters are inputs except the ones that canonicalParameters drops, since they do not change the effect of a
// run. The roles of onDelete are inputs, since they are installed. The timeout is an input: a user raises it to repeat
// a run that timed out.
func (in Inputs) Digest(key []byte, collections, roles []common.ContentItem,
	project *common.ContentItem,
) (string, error) {
	params, err := canonicalParameters(in.Parameters)
	if err != nil {
		return "", err
	}

	c := canonical{
		Parameters:   params,
		Roles:        in.Roles,
		VarFiles:     data(in.VarFiles),
		Inventories:  data(in.Inventories),
		Credentials:  make([]credential, len(in.Credentials)),
		Requirements: in.Requirements,
		Env:          in.ForPlay(),
		Collections:  withoutSources(collections),
		Content:      withoutSources(roles),
	}

	// Content can use all installed roles.
	if len(in.Required) > len(in.Roles) {
		c.Required = in.Required
	}

	if k := in.Kubernetes; k != nil {
		c.Kubernetes = &Kubernetes{
			Namespace: k.Namespace, ServiceAccount: k.ServiceAccount,
			OwnerReferences: k.OwnerReferences,
		}
	}

	// The revision identifies the files: another commit with the same files has the same revision.
	if project != nil {
		c.Project = project.Revision
	}

	if g := in.Grant; g.ServiceAccount || len(g.Read)+len(g.Write) > 0 {
		c.Grant = &g
	}

	for i, f := range in.Credentials {
		c.Credentials[i] = credential{Name: f.Name, Data: f.Data}
		if f.Rotates != "" {
			c.Credentials[i] = credential{Name: f.Name, Source: f.Rotates}
		}
	}

	text, err := json.Marshal(c)
	if err != nil {
		return "", errors.Wrap(err, "cannot encode the inputs")
	}

	return strings.Join([]string{Schema, fingerprint(key), hex.EncodeToString(mac.Sum(key, Schema, text))}, "."), nil
}

// AbsentDigest returns the digest of a deletion run. Its inputs are not resolved before the run starts, since
// referenced objects may be gone. A change of the spec changes the generation, and so starts another attempt.
func AbsentDigest(generation int64) string {
	return fmt.Sprintf("absent.%d", generation)
}

// ObjectKey returns the key of the digests of one object, derived from the key of the provider. With one key for all
// objects, an attacker could guess a secret of another object, create an object with the guess, and compare the
// digests.
func ObjectKey(key []byte, uid types.UID) []byte {
	return mac.Sum(key, "object", []byte(uid))
}

// Comparable is true for digests of the same schema and key. If such digests differ, the inputs differ.
func Comparable(a, b string) bool {
	pa, pb := prefix(a), prefix(b)

	return pa != "" && pa == pb
}

// prefix returns the schema and the fingerprint of the key of a digest; empty for other texts.
func prefix(digest string) string {
	parts := strings.Split(digest, ".")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return ""
	}

	return parts[0] + "." + parts[1]
}

// fingerprint returns a hash of a key that is too short to guess the key, and long enough to distinguish keys.
func fingerprint(key []byte) string {
	return hex.EncodeToString(mac.Sum(key, "fingerprint", nil)[:4])
}

// canonicalParameters returns the parameters without empty variables, without fields that are not inputs, and without
// fields that Inputs has in another form.
func canonicalParameters(p common.AnsibleRunParameters) (map[string]any, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode spec.forProvider")
	}

	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()

	m := map[string]any{}
	if err := d.Decode(&m); err != nil {
		return nil, errors.Wrap(err, "cannot decode spec.forProvider")
	}

	for _, k := range []string{
		"retryLimit", "forks", "verbosity", "approval", "historyLimit", "schedule", "window", "onDelete",
		"role", "roles", "factCachingTimeout",
	} {
		delete(m, k)
	}

	for _, k := range []string{"vars", "unsafeVars"} {
		if v, ok := m[k].(map[string]any); m[k] == nil || ok && len(v) == 0 {
			delete(m, k)
		}
	}

	return m, nil
}

// withoutSources returns the items without their sources: the same version from another server is the same input.
func withoutSources(items []common.ContentItem) []common.ContentItem {
	items = slices.Clone(items)
	for i := range items {
		items[i].Source = ""
	}

	return items
}

func data(files []File) [][]byte {
	all := make([][]byte, len(files))
	for i, f := range files {
		all[i] = f.Data
	}

	return all
}
