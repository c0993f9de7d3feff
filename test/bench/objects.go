package main

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
)

// patience with a number of objects.
const patience = 15 * time.Minute

// config for AnsibleRuns.
func config(name string) *v1alpha1.ProviderConfig {
	return &v1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// ansibleRun of a work, once.
func ansibleRun(name string, w work) *v1alpha1.AnsibleRun {
	r := &v1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name,
		Annotations: map[string]string{common.AnnotationRunPolicy: string(common.RunOnChange)},
	}}
	r.Spec.ProviderConfigReference = &xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: "default"}
	// Nothing is to be undone.
	r.Spec.ManagementPolicies = xpv2.ManagementPolicies{
		xpv2.ManagementActionObserve, xpv2.ManagementActionCreate,
		xpv2.ManagementActionUpdate, xpv2.ManagementActionLateInitialize,
	}
	r.Spec.ForProvider.PlaybookInline = w.playbook
	r.Spec.ForProvider.InventoryInline = w.inventory
	r.Spec.ForProvider.Env = w.env
	return r
}

// applied creates AnsibleRuns and returns when each was Ready, and how long it took until all were.
func (b *bench) applied(ctx context.Context, runs ...*v1alpha1.AnsibleRun,
) (map[string]time.Time, time.Duration, error) {
	ctx, stop := context.WithTimeout(ctx, 2*patience)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	wanted, ready := map[string]bool{}, map[string]time.Time{}
	for _, r := range runs {
		wanted[r.Name] = true
	}
	done := make(chan struct{})
	look := func(v any) {
		r, ok := v.(*v1alpha1.AnsibleRun)
		if !ok || !wanted[r.Name] {
			return
		}
		if a := r.Status.AtProvider.LastApply; a != nil && a.Result.Finished() && a.Result != common.PhaseSucceeded {
			cancel(errors.Errorf("%s: %s", r.Name, r.Status.AtProvider.LastRun.Message))
		}
		if _, known := ready[r.Name]; known || r.GetCondition(xpv2.TypeReady).Status != corev1.ConditionTrue {
			return
		}
		if ready[r.Name] = time.Now(); len(ready) == len(runs) {
			close(done)
		}
	}
	if err := b.watch(ctx, cancel, look); err != nil {
		return nil, 0, err
	}

	start := time.Now()
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(creators)
	for _, r := range runs {
		g.Go(func() error { return b.create(gctx, r) })
	}
	if err := g.Wait(); err != nil {
		return nil, 0, err
	}
	select {
	case <-done:
		return ready, time.Since(start), nil
	case <-ctx.Done():
		return nil, 0, errors.Wrap(context.Cause(ctx), "not all objects were Ready in time")
	}
}

// removed deletes AnsibleRuns and waits for their end.
func (b *bench) removed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	if err := b.kube.DeleteAllOf(ctx, &v1alpha1.AnsibleRun{}, client.InNamespace(namespace)); err != nil {
		return errors.Wrap(err, "cannot delete")
	}
	for {
		l := &v1alpha1.AnsibleRunList{}
		if err := b.kube.List(ctx, l, client.InNamespace(namespace)); err != nil {
			return errors.Wrap(err, "cannot list")
		}
		if len(l.Items) == 0 {
			return nil
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// watch AnsibleRuns until the context is done. If the watch ends before, it cancels.
func (b *bench) watch(ctx context.Context, cancel context.CancelCauseFunc, look func(any)) error {
	rest, err := b.stack.Config()
	if err != nil {
		return err
	}
	seen, err := cache.New(rest,
		cache.Options{Scheme: b.kube.Scheme(), DefaultNamespaces: map[string]cache.Config{namespace: {}}})
	if err != nil {
		return errors.Wrap(err, "cannot watch")
	}
	informer, err := seen.GetInformer(ctx, &v1alpha1.AnsibleRun{}, cache.BlockUntilSynced(false))
	if err != nil {
		return errors.Wrap(err, "cannot watch")
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    look,
		UpdateFunc: func(_, v any) { look(v) },
	}); err != nil {
		return errors.Wrap(err, "cannot watch")
	}
	go func() { cancel(seen.Start(ctx)) }()
	seen.WaitForCacheSync(ctx)
	return nil
}
