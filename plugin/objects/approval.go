package objects

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

// WhoAmI returns the name that the API server knows the user by.
func (c *Client) WhoAmI(ctx context.Context) (string, error) {
	reviews := schema.GroupVersionResource{Group: "authentication.k8s.io", Version: "v1", Resource: "selfsubjectreviews"}
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authentication.k8s.io/v1",
		"kind":       "SelfSubjectReview",
	}}

	got, err := c.dynamic.Resource(reviews).Create(ctx, review, metav1.CreateOptions{FieldManager: manager})
	if err != nil {
		return "", err
	}

	name, _, _ := unstructured.NestedString(got.Object, "status", "userInfo", "username")
	if name == "" {
		return "", errors.New("it does not say")
	}

	return name, nil
}

// Decide about what an AnsibleRun awaits, as its node shows it. The Approval goes with the AnsibleRun.
func (c *Client) Decide(ctx context.Context, n *tree.Node, spec common.ApprovalSpec) error {
	kind := schema.FromAPIVersionAndKind(n.APIVersion, common.KindApproval)

	r, err := c.resource(kind, n.Namespace)
	if err != nil {
		return err
	}

	spec.RunRef, spec.Digest = common.RunReference{Name: n.Name}, n.Approval.Digest

	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	if err != nil {
		return err
	}

	o := &unstructured.Unstructured{Object: map[string]any{"spec": fields}}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(n.Namespace)
	o.SetGenerateName(n.Name + "-")
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: n.APIVersion, Kind: n.Kind, Name: n.Name, UID: n.UID}})

	_, err = r.Create(ctx, o, metav1.CreateOptions{FieldManager: manager})

	return err
}
