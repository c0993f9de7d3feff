package config

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// betweenChecks is the time between two checks of a configuration with missing rights.
const betweenChecks = 30 * time.Second

// Lacking returns the rights that the provider lacks for the runs of a configuration, as a message; empty for none.
type Lacking func(ctx context.Context, c common.Config) (string, error)

// A permitted reconciler shows on configurations which rights the provider lacks for their runs. Rights that are bound
// to the ServiceAccount of one version of the provider are lost when the next version has another ServiceAccount.
type permitted struct {
	kube    client.Client
	kind    schema.GroupVersionKind
	lacking Lacking
}

// Reconcile a configuration. While rights are missing, it is reconciled again after betweenChecks.
func (p *permitted) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	c, _ := New(p.kind, p.kube.Scheme()).(common.Config)
	if err := p.kube.Get(ctx, req.NamespacedName, c); err != nil || meta.WasDeleted(c) {
		return reconcile.Result{}, errors.Wrap(client.IgnoreNotFound(err), "cannot get the configuration")
	}

	if err := p.show(ctx, c); err != nil {
		return reconcile.Result{}, err
	}

	if c.GetCondition(common.TypePermitted).Status == corev1.ConditionFalse {
		return reconcile.Result{RequeueAfter: betweenChecks}, nil
	}

	return reconcile.Result{}, nil
}

// show sets the condition Permitted if it has changed. A configuration that never lacked a right does not get it.
func (p *permitted) show(ctx context.Context, c common.Config) error {
	message, err := p.lacking(ctx, c)
	if err != nil {
		return err
	}

	shown := c.GetCondition(common.TypePermitted)
	now := common.Permitted()

	if message != "" {
		now = common.NotPermitted(message)
	}

	if now.Status == corev1.ConditionTrue && shown.Status != corev1.ConditionFalse || now.Equal(shown) {
		return nil
	}

	was, _ := c.DeepCopyObject().(client.Object)
	c.SetConditions(now)

	return errors.Wrap(p.kube.Status().Patch(ctx, c, client.MergeFrom(was)), "cannot show which rights are missing")
}
