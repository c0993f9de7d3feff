package rights

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
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

func TestRefused(t *testing.T) {
	refusal := kerrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "ssh", errors.New(
		`User "system:serviceaccount:crossplane-system:provider-ansible-0f0c" cannot get resource "secrets" in API group "" in the namespace "team-a"`))

	err := Refused(refusal, "get", "secrets", "team-a")
	if !kerrors.IsForbidden(err) {
		t.Error("It should still be a refusal.")
	}

	want := `secrets "ssh" is forbidden: User "system:serviceaccount:crossplane-system:provider-ansible-0f0c" cannot get resource "secrets" ` +
		`in API group "" in the namespace "team-a"; Crossplane's RBAC manager grants that; without it: ` +
		`kubectl create clusterrole provider-ansible-secrets --verb=get --resource=secrets; ` +
		`kubectl create rolebinding provider-ansible-secrets-provider-ansible-0f0c --namespace=team-a ` +
		`--clusterrole=provider-ansible-secrets --serviceaccount=crossplane-system:provider-ansible-0f0c`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
