// Package cached reads from the cache of a manager.
package cached

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Lists returns a client whose lists share what the cache holds, instead of copying
// it: for those who list thousands of objects to count them. What is listed must not
// be changed.
func Lists(c client.Client) client.Client { return lists{c} }

type lists struct{ client.Client }

// List objects without a copy of what they hold.
func (l lists) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return l.Client.List(ctx, list, append(opts, client.UnsafeDisableDeepCopy)...)
}

// Manager returns a manager whose client is one of Lists.
func Manager(mgr ctrl.Manager) ctrl.Manager { return manager{mgr} }

type manager struct{ ctrl.Manager }

// GetClient returns the client.
func (m manager) GetClient() client.Client { return Lists(m.Manager.GetClient()) }
