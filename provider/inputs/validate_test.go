package inputs

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestValidate(t *testing.T) {
	const instead = "or leave spec.forProvider.factCachingTimeout of the AnsibleRun out"

	roles := &apiextensionsv1.JSON{Raw: []byte(`[]`)}
	fine := common.AnsibleRunParameters{PlaybookInline: "- hosts: all"}
	verified := func(v common.Verification, files ...File) Inputs {
		return Inputs{Parameters: fine, Config: `ProviderConfig "x"`, Credentials: files, Verification: &v}
	}
	facts := fine
	facts.FactCachingTimeout = &metav1.Duration{Duration: time.Hour}

	keys := common.Verification{Keyring: "keys.gpg", Signatures: "+1"}

	for name, tc := range map[string]struct {
		reason string
		in     Inputs
		want   string
	}{
		"Roles": {
			reason: "Roles of collections, roles with a namespace, and roles with a source are valid.",
			in: Inputs{
				Parameters: common.AnsibleRunParameters{Roles: roles},
				Roles: []common.Role{
					{Name: "a.b.c"},
					{Name: "a.b.sub.c"},
					{Name: "geerling-guy.node-exporter", Version: "1.0"},
					{Name: "web", Src: "https://git.example.org/web.git"},
					{Name: "required"},
				},
			},
		},
		"RoleOfDeletion": {
			reason: "The roles of onDelete are validated before the deletion.",
			in: Inputs{
				Parameters: common.AnsibleRunParameters{Role: "a.b.c", OnDelete: &common.OnDelete{Role: "../etc"}},
				Roles:      []common.Role{{Name: "a.b.c"}}, Required: []common.Role{{Name: "a.b.c"}, {Name: "../etc"}},
			},
			want: `spec.forProvider.onDelete.role: Invalid value: "../etc": must be namespace.collection.role, each part a Python identifier`,
		},
		"CollectionRoleVersion": {
			reason: "The version of a role of a collection is that of the collection.",
			in:     Inputs{Parameters: common.AnsibleRunParameters{Roles: roles}, Roles: []common.Role{{Name: "a.b.c", Version: "1"}}},
			want:   "spec.forProvider.roles[0]: Forbidden: a role of a collection has no src or version of its own: require its collection in the ProviderConfig",
		},
		"OnePartVersion": {
			reason: "Galaxy has no roles without a namespace.",
			in:     Inputs{Parameters: common.AnsibleRunParameters{Roles: roles}, Roles: []common.Role{{Name: "a", Version: "1"}}},
			want:   "spec.forProvider.roles[0].src: Required value: a role without a namespace is not on Galaxy",
		},
		"KeyringMissing": {
			reason: "A keyring is a credential.", in: verified(keys, File{Name: "other"}),
			want: `ProviderConfig "x": spec.verification.keyring: Invalid value: "keys.gpg": must be the filename of one of the credentials`,
		},
		"KeyringEmpty": {
			reason: "A keyring has keys.", in: verified(keys, File{Name: "keys.gpg"}),
			want: `ProviderConfig "x": spec.verification.keyring: Invalid value: "keys.gpg": must have public keys as gpg --export writes them without --armor`,
		},
		"KeyringArmored": {
			reason: "gpg cannot read an armored keyring.", in: verified(keys, File{Name: "keys.gpg", Data: []byte("-----BEGIN PGP PUBLIC KEY BLOCK-----")}),
			want: `ProviderConfig "x": spec.verification.keyring: Invalid value: "keys.gpg": must have public keys as gpg --export writes them without --armor`,
		},
		"Keyring": {reason: "A binary keyring is valid.", in: verified(keys, File{Name: "keys.gpg", Data: []byte{0x98}})},
		"RevisionUnknown": {
			reason: "A content item to verify may have no revision yet.", in: verified(common.Verification{Collections: []common.VerifiedContent{{Name: "acme.web"}}}),
		},
		"Facts": {reason: "The provider can keep facts.", in: Inputs{Parameters: facts}},
		"FactsOfPod": {
			reason: "A Pod cannot keep facts.", in: Inputs{Parameters: facts, Execution: common.Execution{Place: common.PlacePod}},
			want: ": spec.execution.place: Forbidden: a Pod keeps no facts for the next one: have runs happen in the provider, " + instead,
		},
		"FactsOfVariable": {
			reason: "A variable must not configure another cache.", in: Inputs{Parameters: facts, Env: map[string]string{"ANSIBLE_CACHE_PLUGIN": "memory"}},
			want: ": spec.vars[ANSIBLE_CACHE_PLUGIN]: Forbidden: there would be two caches of facts: remove it, " + instead,
		},
		"FactsOfConfig": {
			reason: "An ansible.cfg must not configure another cache.",
			in:     Inputs{Parameters: facts, Credentials: []File{{Name: AnsibleConfigFile, Data: []byte("[defaults]\nfact_caching = memory\n")}}},
			want:   ": spec.credentials[ansible.cfg]: Forbidden: there would be two caches of facts: remove fact_caching, " + instead,
		},
		"Long": {
			reason: "A value of a megabyte does not fit into a condition.",
			in:     Inputs{Parameters: fine, Roles: []common.Role{{Name: strings.Repeat("-", 1<<20)}}},
			want:   `spec.forProvider.roles[0].name: Invalid value: "` + strings.Repeat("-", maxQuoted-3) + `…": must be namespace.collection.role or namespace.role`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := needs.Message(tc.in.Validate())

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nValidate(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestValidateLong has a name of a variable that is as long as an object may be.
func TestValidateLong(t *testing.T) {
	vars := &runtime.RawExtension{Raw: []byte(`{"` + strings.Repeat("é", 1<<19) + `": {"__ansible_unsafe": 1}}`)}

	err := Inputs{Parameters: common.AnsibleRunParameters{PlaybookInline: "- hosts: all", Vars: vars}}.Validate()
	if err == nil {
		t.Fatal("Validate(): want an error")
	}

	if text := err.Error(); len(text) > maxFailure || !strings.HasSuffix(text, "é…") {
		t.Errorf("Validate(): want the first %d bytes of the error, got %d: %s", maxFailure, len(text), text)
	}
}
