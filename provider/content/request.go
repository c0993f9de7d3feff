package content

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// Credentials that are used for installing content, whatever else says so.
const (
	gitCredentials = ".git-credentials"
	ansibleConfig  = "ansible.cfg"
	netrc          = ".netrc"
)

// A Request for the content set that a run needs.
type Request struct {
	// Requirements that the set is to meet.
	Requirements Requirements
	// Credentials that ansible-galaxy and git use.
	Credentials []inputs.File
	// Env that the configuration sets.
	Env map[string]string
	// Redact takes secrets out of what is reported. Nil leaves all as it is.
	Redact func(string) string
}

// NewRequest returns the request for the content that the inputs need. The
// error names what is wrong in the configuration's requirements, or which role
// contradicts them.
func NewRequest(in inputs.Inputs) (Request, error) {
	required, err := Parse(in.Requirements)
	if err != nil {
		return Request{}, errors.Wrapf(err, "%s: spec.requirements", in.Config)
	}

	merged, err := required.Merge(in.Roles, onPath(in.Env))
	if err != nil {
		return Request{}, err
	}

	return Request{Requirements: merged, Credentials: relevant(in), Env: in.Env}, nil
}

// onPath tells whether a role is in a directory that the configuration brings:
// a role that was put into the provider's image is not installed again.
func onPath(env map[string]string) func(role string) bool {
	dirs := filepath.SplitList(env["ANSIBLE_ROLES_PATH"] + string(filepath.ListSeparator) + env["ANSIBLE_ROLE_PATH"])

	return func(role string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool {
			if !filepath.IsAbs(dir) {
				return false
			}

			info, err := os.Stat(filepath.Join(dir, role))

			return err == nil && info.IsDir()
		})
	}
}

// relevant credentials: those that ansible-galaxy and git know by their names,
// and those that the settings for them mention. Others are none of their
// business, and their changing is no reason to install anything.
func relevant(in inputs.Inputs) []inputs.File {
	var (
		files    []inputs.File
		settings []string
	)

	for k, v := range in.Env {
		if isSetting(k) {
			settings = append(settings, v)
		}
	}

	for _, f := range in.Credentials {
		if f.Name == ansibleConfig {
			settings = append(settings, string(f.Data))
		}
	}

	for _, f := range in.Credentials {
		mentioned := slices.ContainsFunc(settings, func(s string) bool { return strings.Contains(s, f.Name) })
		if mentioned || slices.Contains([]string{gitCredentials, ansibleConfig, netrc}, f.Name) {
			files = append(files, f)
		}
	}

	return files
}

// isSetting is true for environment variables that say what is installed from
// where.
func isSetting(name string) bool {
	return strings.HasPrefix(name, "ANSIBLE_GALAXY_") || strings.HasPrefix(name, "GIT_") || name == "ANSIBLE_CONFIG"
}

// identity is what tells one content set from another.
type identity struct {
	Schema       int               `json:"schema"`
	Tools        string            `json:"tools"`
	Requirements Requirements      `json:"requirements"`
	Settings     map[string]string `json:"settings"`
	Credentials  map[string][]byte `json:"credentials"`
}

// digest of the request, an HMAC-SHA256 cut to 128 bits in hexadecimal; empty
// when nothing is required. It is keyed since credentials are part of it and it
// is shown in the status.
func (r Request) digest(key []byte, tools string) (string, error) {
	if r.Requirements.Empty() {
		return "", nil
	}

	id := identity{
		Schema:       1,
		Tools:        tools,
		Requirements: r.Requirements,
		Settings:     map[string]string{},
		Credentials:  map[string][]byte{},
	}

	for k, v := range r.Env {
		if isSetting(k) {
			id.Settings[k] = v
		}
	}

	for _, f := range r.Credentials {
		id.Credentials[f.Name] = f.Data
	}

	text, err := json.Marshal(id)
	if err != nil {
		return "", errors.Wrap(err, "cannot encode the requirements")
	}

	h := hmac.New(sha256.New, key)
	h.Write([]byte("content\x00"))
	h.Write(text)

	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

func (r Request) redact(s string) string {
	if r.Redact == nil {
		return s
	}

	return r.Redact(s)
}
