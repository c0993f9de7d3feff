package pods

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/rights"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestOwnPodForbidden(t *testing.T) {
	host, err := os.Hostname()
	needs.OK(t, err)

	for name, tc := range map[string]struct {
		reason string
		denies bool
		want   string
	}{
		"Rights": {
			"The error names the missing right, with the command that grants it.", true,
			`the provider may not get pods in namespace "crossplane-system"; once the ClusterRole in examples/operations/pods.yaml is there: ` +
				"kubectl create rolebinding provider-ansible-own-pod-provider-ansible --namespace=crossplane-system --clusterrole=provider-ansible-own-pod --serviceaccount=crossplane-system:provider-ansible",
		},
		"Other": {
			"The error of another authorizer is not changed.", false,
			`cannot find out the image of the provider from its own Pod; name it with --pod-image: pods "x" is forbidden: no RBAC policy matched`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.denies = tc.denies
			c.refuse = func(string, client.Object) error {
				return kerrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "x", errors.New("no RBAC policy matched"))
			}

			_, err := OwnOf(c.x.config.Client, "crossplane-system", "")(t.Context())
			if got := needs.Message(err); got != tc.want || rights.Lacks(err) != tc.denies {
				t.Errorf("%s\nwant %s, got a %T: %s", tc.reason, tc.want, err, got)
			}

			right := &authorizationv1.ResourceAttributes{Namespace: "crossplane-system", Verb: "get", Resource: "pods", Name: host}
			if diff := cmp.Diff(right, c.reviewed); diff != "" {
				t.Errorf("It should review another right: -want, +got:\n%s", diff)
			}
		})
	}
}
