// Package objects reads the objects of a tree from the API server, and changes them, with the rights of the caller.
package objects

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	kmeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

// maxDepth is the largest depth of nested XRs.
const maxDepth = 10

// A Client reads and changes objects of trees in the API server.
type Client struct {
	client client.Client
	// isComposite is true for the kinds of XRs and claims.
	isComposite func(schema.GroupVersionKind) bool
}

// New returns a client. The plugin is the field manager of the fields that it sets.
func New(c client.Client, isComposite func(schema.GroupVersionKind) bool) *Client {
	return &Client{client: client.WithFieldOwner(c, "kubectl-ansible"), isComposite: isComposite}
}

// Tree returns the present tree of an object.
func (c *Client) Tree(ctx context.Context, root corev1.ObjectReference) (*tree.Node, error) {
	o := object(root)
	if err := c.client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return nil, err
	}

	return c.below(ctx, o, maxDepth)
}

// Annotate sets an annotation of an object. A value of nil removes it.
func (c *Client) Annotate(ctx context.Context, n *tree.Node, name string, value any) error {
	// With the uid, another object of the name is not changed.
	patch, err := json.Marshal(
		map[string]any{"metadata": map[string]any{"uid": n.UID, "annotations": map[string]any{name: value}}})
	if err != nil {
		return err
	}

	o := corev1.ObjectReference{APIVersion: n.APIVersion, Kind: n.Kind, Namespace: n.Namespace, Name: n.Name}

	return c.client.Patch(ctx, object(o), client.RawPatch(types.MergePatchType, patch))
}

// ConfigMap returns the data of a ConfigMap; nil if there is none.
func (c *Client) ConfigMap(ctx context.Context, namespace, name string) (map[string]string, error) {
	m := &corev1.ConfigMap{}
	err := c.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, m)

	return m.Data, client.IgnoreNotFound(err)
}

// WhoAmI returns the name that the API server knows the user by.
func (c *Client) WhoAmI(ctx context.Context) (string, error) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.client.Create(ctx, review); err != nil {
		return "", err
	}

	if review.Status.UserInfo.Username == "" {
		return "", errors.New("it does not say")
	}

	return review.Status.UserInfo.Username, nil
}

// Decide creates an Approval for the digest in the node of an AnsibleRun. The AnsibleRun owns the Approval.
func (c *Client) Decide(ctx context.Context, n *tree.Node, spec common.ApprovalSpec) error {
	spec.RunRef, spec.Digest = common.RunReference{Name: n.Name}, n.Approval.Digest

	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	if err != nil {
		return err
	}

	o := object(corev1.ObjectReference{APIVersion: n.APIVersion, Kind: common.KindApproval, Namespace: n.Namespace})
	o.Object["spec"] = fields
	o.SetGenerateName(n.Name + "-")
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: n.APIVersion, Kind: n.Kind, Name: n.Name, UID: n.UID}})

	return c.client.Create(ctx, o)
}

// object returns an object with only the fields of a reference.
func object(ref corev1.ObjectReference) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAPIVersion(ref.APIVersion)
	o.SetKind(ref.Kind)
	o.SetNamespace(ref.Namespace)
	o.SetName(ref.Name)

	return o
}

// below reads the composed resources of an object that are AnsibleRuns or XRs.
func (c *Client) below(ctx context.Context, o *unstructured.Unstructured, depth int) (*tree.Node, error) {
	if ansiblerun.Is(o.Object) || depth == 0 {
		return tree.Of(o), nil
	}

	runs, err := c.runs(ctx, o)
	if err != nil {
		return nil, err
	}

	var (
		composed []*tree.Node
		unread   []string
	)

	seen := map[corev1.ObjectReference]bool{}

	for i := range runs {
		seen[tree.ReferenceTo(&runs[i])] = true
		composed = append(composed, tree.Of(&runs[i]))
	}

	for _, ref := range tree.References(o) {
		child := object(ref)
		if seen[ref] || !ansiblerun.Is(child.Object) && !c.isComposite(child.GroupVersionKind()) {
			continue
		}

		seen[ref] = true

		switch err := c.client.Get(ctx, client.ObjectKeyFromObject(child), child); {
		case kerrors.IsNotFound(err), kmeta.IsNoMatchError(err):
			continue // The object was not created yet, or is gone.
		case kerrors.IsForbidden(err):
			unread = append(unread, err.Error())
			continue
		case err != nil:
			return nil, err
		case !tree.Owns(o, child):
			unread = append(unread, fmt.Sprintf("%s %s is named in resourceRefs, but does not belong to this object",
				ref.Kind, ref.Name))
			continue
		}

		below, err := c.below(ctx, child, depth-1)
		if err != nil {
			return nil, err
		}

		composed = append(composed, below)
	}

	n := tree.Of(o, composed...)
	n.Notes = append(n.Notes, unread...)

	return n, nil
}

// runs returns the AnsibleRuns that the function has composed for an XR, including those that are being deleted.
func (c *Client) runs(ctx context.Context, xr *unstructured.Unstructured) ([]unstructured.Unstructured, error) {
	var runs []unstructured.Unstructured

	for _, in := range places(xr) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(in.GroupVersionKind())

		err := c.client.List(ctx, list, client.InNamespace(in.Namespace),
			client.MatchingLabels{ansiblerun.LabelComposite: string(xr.GetUID())})

		switch {
		case kmeta.IsNoMatchError(err): // The kind is not active.
		case kerrors.IsForbidden(err): // Referenced objects are read one by one.
		case err != nil:
			return nil, errors.Wrap(err, "cannot list AnsibleRuns")
		}

		for _, run := range list.Items {
			if tree.Owns(xr, &run) {
				runs = append(runs, run)
			}
		}
	}

	return runs, nil
}

// places returns the places of AnsibleRuns of an XR: its namespace or, if it is cluster scoped,
// the cluster scope and the namespaces in its references.
func places(xr *unstructured.Unstructured) []corev1.ObjectReference {
	cluster := corev1.ObjectReference{APIVersion: ansiblerun.APIVersionCluster, Kind: common.KindAnsibleRun}
	namespaced := cluster
	namespaced.APIVersion = ansiblerun.APIVersionNamespaced

	if namespaced.Namespace = xr.GetNamespace(); namespaced.Namespace != "" {
		return []corev1.ObjectReference{namespaced}
	}

	in := []corev1.ObjectReference{cluster}

	for _, ref := range tree.References(xr) {
		namespaced.Namespace = ref.Namespace
		if ansiblerun.Is(object(ref).Object) && ref.Namespace != "" && !slices.Contains(in, namespaced) {
			in = append(in, namespaced)
		}
	}

	return in
}
