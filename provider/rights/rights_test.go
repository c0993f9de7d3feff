package rights

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommand(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		user   string
		want   string
	}{
		"Account": {
			"Bindings of the accounts of two versions do not have the same name.",
			"system:serviceaccount:crossplane-system:provider-ansible-0f0c",
			"kubectl create rolebinding role-provider-ansible-0f0c --namespace=team-a --clusterrole=role --serviceaccount=crossplane-system:provider-ansible-0f0c",
		},
		"User": {
			"A user may be none of Kubernetes' accounts.",
			"jane",
			"kubectl create rolebinding role --namespace=team-a --clusterrole=role --user=jane",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Error{Role: Role{Name: "role"}, Namespace: "team-a", User: tc.user}
			if diff := cmp.Diff(tc.want, e.command()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
