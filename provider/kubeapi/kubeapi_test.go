package kubeapi

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/rights"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestOpen(t *testing.T) {
	accounts := schema.GroupResource{Resource: "serviceaccounts"}
	forbidden := kerrors.NewForbidden(accounts, "deployer", errors.New("no"))

	for name, tc := range map[string]struct {
		reason string
		err    error
		// allowed is true if the provider may request tokens.
		allowed bool
		// lacks is true if a right has to be granted.
		lacks bool
		want  string
	}{
		"Rights": {
			"The error names a missing right, and the command that grants it.",
			forbidden, false, true,
			`the provider may not create serviceaccounts/token in namespace "team-a"; once the ClusterRole in examples/operations/tokens.yaml is there: ` +
				"kubectl create rolebinding provider-ansible-tokens-provider-ansible --namespace=team-a --clusterrole=provider-ansible-tokens --serviceaccount=crossplane-system:provider-ansible",
		},
		"Admission": {
			"Another reason for a refused token is returned unchanged.",
			forbidden, true, true,
			`cannot get a token of ServiceAccount "deployer" in namespace "team-a": serviceaccounts "deployer" is forbidden: no`,
		},
		"NoAccount": {
			"The error names a missing account.",
			kerrors.NewNotFound(accounts, "deployer"), true, true,
			`cannot get a token of ServiceAccount "deployer" in namespace "team-a": serviceaccounts "deployer" not found`,
		},
		"Unreachable": {
			"An API server that does not answer is no missing right.",
			errors.New("no route"), true, false,
			`cannot get a token of ServiceAccount "deployer" in namespace "team-a": no route`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := New(&rest.Config{Host: "https://127.0.0.1:1"}, granting(t, tc.err, tc.allowed))
			needs.OK(t, err)

			_, err = a.Open(spec(), "", nil)
			if err == nil {
				t.Fatalf("%s\nwant an error", tc.reason)
			}

			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}

			if rights.Lacks(err) != tc.lacks {
				t.Errorf("%s\ngot a %T", tc.reason, err)
			}
		})
	}
}
