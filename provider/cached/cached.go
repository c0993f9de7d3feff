// Package cached reads from the cache of a manager without copies, and sends no update that would change nothing.
package cached

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Lists returns a client that lists objects as the cache holds them, without copies: for counts of thousands of
// objects. The listed objects must not be changed.
func Lists(c client.Client) client.Client { return lists{c} }

type lists struct{ client.Client }

// List objects without a copy of what they hold.
func (l lists) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return l.Client.List(ctx, list, append(opts, client.UnsafeDisableDeepCopy)...)
}

// Shows is true if the cache shows an object as it is, so that an update would change nothing.
func Shows(ctx context.Context, cache client.Reader, o client.Object) bool {
	was, ok := o.DeepCopyObject().(client.Object)

	return ok && cache.Get(ctx, client.ObjectKeyFromObject(o), was) == nil && equality.Semantic.DeepEqual(was, o)
}

// Manager returns a manager with a client that lists as that of Lists does, and sends no update that would change
// nothing.
func Manager(mgr ctrl.Manager) ctrl.Manager { return manager{mgr} }

type manager struct{ ctrl.Manager }

// GetClient returns the client.
func (m manager) GetClient() client.Client { return updates{Lists(m.Manager.GetClient())} }

type updates struct{ client.Client }

// Update an object, unless it is as it was.
func (u updates) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	if Shows(ctx, u.Client, o) {
		return nil
	}

	return u.Client.Update(ctx, o, opts...) // Callers look for conflicts.
}

// Status returns a writer of statuses.
func (u updates) Status() client.SubResourceWriter { return statuses{u.Client.Status(), u.Client} }

type statuses struct {
	client.SubResourceWriter

	cache client.Reader
}

// Update the status of an object, unless it is as it was.
func (s statuses) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	if Shows(ctx, s.cache, o) {
		return nil
	}

	return s.SubResourceWriter.Update(ctx, o, opts...) // Callers look for conflicts.
}
