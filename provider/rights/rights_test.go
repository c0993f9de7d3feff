package rights

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

func TestRefused(t *testing.T) {
	for user, binding := range map[string]string{
		// Bindings of the accounts of two versions have different names. A user may be no ServiceAccount.
		"system:serviceaccount:crossplane-system:provider-ansible-0f0c": "provider-ansible-secrets-provider-ansible-0f0c --namespace=team-a " +
			"--clusterrole=provider-ansible-secrets --serviceaccount=crossplane-system:provider-ansible-0f0c",
		"jane": "provider-ansible-secrets --namespace=team-a --clusterrole=provider-ansible-secrets --user=jane",
	} {
		why := `User "` + user + `" cannot get resource "secrets" in API group "" in the namespace "team-a"`
		refusal := kerrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "ssh", errors.New(why))

		err := Refused(refusal, "get", "secrets", "team-a")
		if !kerrors.IsForbidden(err) {
			t.Error("The error should still be Forbidden.")
		}

		want := `secrets "ssh" is forbidden: ` + why + "; Crossplane's RBAC manager grants that; without it: " +
			"kubectl create clusterrole provider-ansible-secrets --verb=get --resource=secrets; kubectl create rolebinding " + binding
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
	}
}
