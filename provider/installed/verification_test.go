package installed

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// TestVerify says what differs from what it must be.
func TestVerify(t *testing.T) {
	good, other := strings.Repeat("a", 64), strings.Repeat("b", 64)
	m := Manifest{Content: common.Content{Collections: []common.ContentItem{{Name: "acme.web", Version: "1.1.0"}}}}
	all := map[string]string{"collections/ansible_collections/acme/web": good, "roles/acme.web": other}
	item := func(name, revision string) []common.VerifiedContent {
		return []common.VerifiedContent{{Name: name, Revision: revision}}
	}

	for name, tc := range map[string]struct {
		reason string
		v      *common.Verification
		want   string
	}{
		"Nothing": {reason: "Nobody asks."},
		"Keyring": {reason: "Signatures are another matter.", v: &common.Verification{Keyring: "keyring.gpg", Signatures: "+1"}},
		"Same":    {reason: "A role may have the name of a collection.", v: &common.Verification{Collections: item("acme.web", good), Roles: item("acme.web", other)}},
		"Other": {
			reason: "The error says what is there.", v: &common.Verification{Collections: item("acme.web", other), Roles: item("acme.web", good)},
			want: `"acme.web" has the revision ` + good + `, version "1.1.0", which is not that in spec.verification.collections; ` +
				`"acme.web" has the revision ` + other + `, version "", which is not that in spec.verification.roles`,
		},
		"Short": {
			reason: "The beginning of a revision is soon found for something else.", v: &common.Verification{Roles: item("acme.web", other[:12])},
			want: `"acme.web" has the revision ` + other + `, version "", which is not that in spec.verification.roles`,
		},
		"Missing": {
			reason: "What is not installed was perhaps written wrong.", v: &common.Verification{Collections: item("acme.wbe", "")},
			want: `"acme.wbe" in spec.verification.collections was not installed: nothing requires it`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, message(m.verify(tc.v, all))); diff != "" {
				t.Errorf("\n%s\nverify(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
