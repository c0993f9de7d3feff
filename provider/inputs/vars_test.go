package inputs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestValidateVars(t *testing.T) {
	const (
		rounded      = ": may not be the number that was written, since the API server rounds those beyond 64 bits: write it as a string"
		noIdentifier = ": must be an identifier, as names of variables are: letters, digits and _"
		vault        = `{"__ansible_vault": "$ANSIBLE_VAULT;1.1;AES256\n3132"}`
	)

	nested := func(levels int) string {
		return `{"a": ` + strings.Repeat(`{"b": [`, levels/2) + strings.Repeat("]}", levels/2) + "}"
	}

	for name, tc := range map[string]struct {
		reason       string
		vars, unsafe string
		want         string
	}{
		"Names": {
			reason: "Identifiers are valid names, and values may have any keys.",
			vars:   `{"camelCase": {"with-dash": 2, "false": 3}, "n": 1, "_x9": 1}`,
		},
		"NoIdentifiers": {
			reason: "Templates cannot refer to other names.",
			vars:   `{"with-dash": 2, "ünï": 5, "1a": 6}`,
			want:   `spec.forProvider.vars[1a]: Invalid value: "1a"` + noIdentifier,
		},
		"Word": {
			reason: "kubectl reads {n: 1} as {false: 1}.",
			unsafe: `{"false": 1}`,
			want:   `spec.forProvider.unsafeVars[false]: Invalid value: "false": is what YAML makes of words such as y, n, on and off: write the name in quotes`,
		},
		"Numbers": {
			reason: "Numbers of 64 bits are exact.",
			vars:   `{"a": [9007199254740993, 9223372036854775807, -9223372036854775808, 0.1, -1.5e-7, 1e5, 0]}`,
		},
		"Integer": {
			reason: "The API server has rounded a larger integer.",
			vars:   `{"a": {"b": [1, 9223372036854775808]}}`,
			want:   `spec.forProvider.vars[a][b][1]: Invalid value: "9223372036854775808"` + rounded,
		},
		"Exponent": {
			reason: "A large number with an exponent may be a rounded integer.",
			unsafe: `{"a": 1.2345678901234568e+29}`,
			want:   `spec.forProvider.unsafeVars[a]: Invalid value: "1.2345678901234568e+29"` + rounded,
		},
		"Deep":   {reason: "A hundred levels are valid.", vars: nested(100), unsafe: nested(100)},
		"Deeper": {reason: "More than 128 levels are invalid.", vars: nested(130), want: "spec.forProvider.vars: Invalid value: must not be nested deeper than 128 levels"},
		"List":   {reason: "Variables must be a mapping.", unsafe: `["a"]`, want: `spec.forProvider.unsafeVars: Invalid value: "": must be a mapping of names to values`},
		"Vault":  {reason: "Ansible decrypts such values.", vars: `{"a": [` + vault + `, {"__ansible_unsafe": "{{ x }}"}]}`},
		"NoVault": {
			reason: "Because of one malformed value, Ansible would decrypt none.",
			vars:   `{"a": [` + vault + `, {"__ansible_vault": "s3cret"}]}`,
			want:   "spec.forProvider.vars[a][1][__ansible_vault]: Invalid value: must be what ansible-vault encrypt_string prints after !vault",
		},
		"NoUnsafe": {
			reason: "A value without templates must be a string.", vars: `{"b": {"__ansible_unsafe": 1}}`,
			want: "spec.forProvider.vars[b][__ansible_unsafe]: Invalid value: must be a string",
		},
		"UnsafeVault": {reason: "In unsafe variables, these keys have no meaning.", unsafe: `{"a": {"__ansible_vault": 1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			in := Inputs{Parameters: common.AnsibleRunParameters{
				PlaybookInline: "x", Vars: &runtime.RawExtension{Raw: []byte(tc.vars)}, UnsafeVars: &runtime.RawExtension{Raw: []byte(tc.unsafe)},
			}}

			got := needs.Message(in.Validate())

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nValidate(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
