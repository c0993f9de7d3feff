package pods

import (
	"context"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/rights"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestOwnPodForbidden(t *testing.T) {
	host, err := os.Hostname()
	needs.OK(t, err)

	denied := kerrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "x", errors.New("no RBAC policy matched"))

	for name, tc := range map[string]struct {
		reason  string
		allowed bool
		rights  bool
		want    string
	}{
		"Rights": {
			"The right that is missing is named, with the command that grants it.", false, true,
			`the provider may not get pods in namespace "crossplane-system"; once the ClusterRole in examples/operations/pods.yaml is there: ` +
				"kubectl create rolebinding provider-ansible-own-pod-provider-ansible --namespace=crossplane-system --clusterrole=provider-ansible-own-pod --serviceaccount=crossplane-system:provider-ansible",
		},
		"Other": {
			"Whatever else forbids it is said as it is.", true, false,
			`cannot find out the image of the provider from its own Pod; name it with --pod-image: pods "x" is forbidden: no RBAC policy matched`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			kube := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
				Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
					return denied
				},
				Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
					switch r := o.(type) {
					case *authorizationv1.SelfSubjectAccessReview:
						want := &authorizationv1.ResourceAttributes{Namespace: "crossplane-system", Verb: "get", Resource: "pods", Name: host}
						if diff := cmp.Diff(want, r.Spec.ResourceAttributes); diff != "" {
							t.Errorf("asks for another right: -want, +got:\n%s", diff)
						}

						r.Status.Allowed = tc.allowed
					case *authenticationv1.SelfSubjectReview:
						r.Status.UserInfo.Username = "system:serviceaccount:crossplane-system:provider-ansible"
					}

					return nil
				},
			})

			_, err := OwnOf(kube, "crossplane-system", "")(t.Context())
			if err == nil || errors.As(err, new(*rights.Error)) != tc.rights {
				t.Fatalf("%s\ngot a %T: %v", tc.reason, err, err)
			}

			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
