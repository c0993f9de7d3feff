package config

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// betweenChecks of the rights for a configuration that was not changed. Each of its runs comes and goes with a usage,
// which is a reason to reconcile it.
const betweenChecks = 30 * time.Second

// Lacking says which rights the provider lacks for the runs of a configuration; empty for none.
type Lacking func(ctx context.Context, c common.Config) (string, error)

// A permitted reconciler shows on configurations which rights the provider lacks for their runs. Those that were bound
// to the account of the last version are lost when a version has another account.
type permitted struct {
	reconcile.Reconciler

	kube    client.Client
	kind    Kind
	lacking Lacking
	now     func() time.Time

	mu      sync.Mutex
	checked map[types.NamespacedName]check
}

// A check of the rights for a generation of a configuration.
type check struct {
	generation int64
	at         time.Time
}

// Reconcile a configuration. It is looked at again for as long as rights are missing.
func (p *permitted) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	result, err := p.Reconciler.Reconcile(ctx, req)
	if err != nil {
		return result, err //nolint:wrapcheck // The reconciler's own.
	}

	c, ok := p.kind.Object().(common.Config)
	if !ok {
		return result, errors.Errorf("%T is no configuration", p.kind.Object())
	}

	err = p.kube.Get(ctx, req.NamespacedName, c)
	if kerrors.IsNotFound(err) || err == nil && meta.WasDeleted(c) {
		p.forget(req.NamespacedName)

		return result, nil
	}

	if err != nil {
		return result, errors.Wrap(err, "cannot get the configuration")
	}

	if p.isDue(req.NamespacedName, c.GetGeneration()) {
		if err := p.show(ctx, c); err != nil {
			p.forget(req.NamespacedName)

			return result, err
		}
	}

	// The queue has one time for each configuration: an event before it would be the last.
	if c.GetCondition(common.TypePermitted).Status == corev1.ConditionFalse && result.RequeueAfter == 0 {
		result.RequeueAfter = betweenChecks
	}

	return result, nil
}

// show which rights are missing, if that has changed.
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

// isDue is true for a configuration that is new, was changed, or was checked some time ago. It is checked then.
func (p *permitted) isDue(key types.NamespacedName, generation int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	last, now := p.checked[key], p.now()
	if last.generation == generation && now.Sub(last.at) < betweenChecks {
		return false
	}

	p.checked[key] = check{generation, now}

	return true
}

func (p *permitted) forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()

	delete(p.checked, key)
}
