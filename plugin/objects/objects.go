// Package objects reads the objects of a tree from the API server, and annotates them, with the rights of the caller.
package objects

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	kmeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

// manager of the fields that the plugin sets.
const manager = "kubectl-ansible"

// maxDepth of XRs in XRs.
const maxDepth = 10

// A Client of the API server.
type Client struct {
	dynamic dynamic.Interface
	mapper  kmeta.RESTMapper
	plain   map[schema.GroupVersionKind]bool
}

// New client.
func New(d dynamic.Interface, m kmeta.RESTMapper) *Client {
	return &Client{dynamic: d, mapper: m, plain: map[schema.GroupVersionKind]bool{}}
}

// Tree of an object, as it is now.
func (c *Client) Tree(ctx context.Context, root tree.Reference) (*tree.Node, error) {
	o, err := c.get(ctx, root)
	if err != nil {
		return nil, err
	}

	return c.below(ctx, o, maxDepth)
}

// Annotate an object. A value of nil removes an annotation.
func (c *Client) Annotate(ctx context.Context, n *tree.Node, name string, value any) error {
	r, err := c.resource(schema.FromAPIVersionAndKind(n.APIVersion, n.Kind), n.Namespace)
	if err != nil {
		return err
	}

	// The uid makes sure that another object of the name is left alone.
	patch, err := json.Marshal(
		map[string]any{"metadata": map[string]any{"uid": n.UID, "annotations": map[string]any{name: value}}})
	if err != nil {
		return err
	}

	_, err = r.Patch(ctx, n.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})

	return err
}

// ConfigMap returns the data of a ConfigMap; nil if there is none.
func (c *Client) ConfigMap(ctx context.Context, namespace, name string) (map[string]string, error) {
	o, err := c.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(
		namespace).Get(ctx, name, metav1.GetOptions{})
	if kerrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}

	data, _, err := unstructured.NestedStringMap(o.Object, "data")

	return data, errors.Wrapf(err, "cannot read ConfigMap %s/%s", namespace, name)
}

func (c *Client) resource(kind schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	m, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}

	if m.Scope.Name() == kmeta.RESTScopeNameNamespace {
		return c.dynamic.Resource(m.Resource).Namespace(namespace), nil
	}

	return c.dynamic.Resource(m.Resource), nil
}

func (c *Client) get(ctx context.Context, ref tree.Reference) (*unstructured.Unstructured, error) {
	r, err := c.resource(ref.GroupVersionKind, ref.Namespace)
	if err != nil {
		return nil, err
	}

	return r.Get(ctx, ref.Name, metav1.GetOptions{})
}

// below reads what an object is composed of, as far as AnsibleRuns are concerned.
func (c *Client) below(ctx context.Context, o *unstructured.Unstructured, depth int) (*tree.Node, error) {
	if tree.IsRun(o) || depth == 0 {
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

	seen := map[types.UID]bool{}

	for i := range runs {
		seen[runs[i].GetUID()] = true
		composed = append(composed, tree.Of(&runs[i]))
	}

	for _, ref := range tree.References(o) {
		if !ref.MayBeComposite() || c.plain[ref.GroupVersionKind] || named(runs, ref) {
			continue
		}

		child, err := c.get(ctx, ref)

		switch {
		case kerrors.IsNotFound(err), kmeta.IsNoMatchError(err):
			continue // It was not created yet, or is gone.
		case kerrors.IsForbidden(err):
			unread = append(unread, err.Error())
			continue
		case err != nil:
			return nil, err
		}

		if !tree.IsRun(child) && !tree.Composite(child) {
			// What Crossplane has looked at is known not to be an XR.
			conditions, _, _ := unstructured.NestedSlice(child.Object, "status", "conditions")
			c.plain[ref.GroupVersionKind] = len(conditions) > 0

			continue
		}

		if !tree.Owns(o, child) {
			unread = append(unread, fmt.Sprintf("%s %s is named in resourceRefs, but does not belong to this object",
				ref.GroupVersionKind.Kind, ref.Name))
			continue
		}

		if seen[child.GetUID()] {
			continue
		}

		seen[child.GetUID()] = true

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

// runs that the function has composed for an XR, also those that are being deleted.
func (c *Client) runs(ctx context.Context, xr *unstructured.Unstructured) ([]unstructured.Unstructured, error) {
	var runs []unstructured.Unstructured

	for _, in := range places(xr) {
		r, err := c.resource(in.GroupVersionKind, in.Namespace)
		if kmeta.IsNoMatchError(err) {
			continue // The kind is not active.
		} else if err != nil {
			return nil, err
		}

		list, err := r.List(ctx, metav1.ListOptions{LabelSelector: ansiblerun.LabelComposite + "=" + string(xr.GetUID())})
		if kerrors.IsForbidden(err) {
			continue // Those that references name are read one by one.
		} else if err != nil {
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

// places where an XR may have AnsibleRuns: in its namespace or, if it is cluster scoped, as
// cluster scoped objects and in the namespaces that its references name.
func places(xr *unstructured.Unstructured) []tree.Reference {
	namespaced := schema.GroupVersionKind{
		Group: common.GroupNamespaced, Version: common.Version,
		Kind: common.KindAnsibleRun,
	}

	if ns := xr.GetNamespace(); ns != "" {
		return []tree.Reference{{GroupVersionKind: namespaced, Namespace: ns}}
	}

	cluster := namespaced
	cluster.Group = common.GroupCluster

	in := []tree.Reference{{GroupVersionKind: cluster}}
	seen := map[string]bool{"": true}

	for _, ref := range tree.References(xr) {
		if ref.GroupVersionKind.GroupKind() == namespaced.GroupKind() && !seen[ref.Namespace] {
			seen[ref.Namespace] = true
			in = append(in, tree.Reference{GroupVersionKind: namespaced, Namespace: ref.Namespace})
		}
	}

	return in
}

func named(runs []unstructured.Unstructured, ref tree.Reference) bool {
	return slices.ContainsFunc(runs, func(r unstructured.Unstructured) bool {
		return r.GetName() == ref.Name && r.GetNamespace() == ref.Namespace &&
			r.GroupVersionKind().GroupKind() == ref.GroupVersionKind.GroupKind()
	})
}
