package main

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// applied creates AnsibleRuns and returns how long it took until all were Ready.
func (b *bench) applied(ctx context.Context, runs ...*v1alpha1.AnsibleRun) (time.Duration, error) {
	ctx, stop := context.WithTimeout(ctx, 2*patience)
	defer stop()

	w, err := b.kube.Watch(ctx, &v1alpha1.AnsibleRunList{}, client.InNamespace(namespace))
	if err != nil {
		return 0, errors.Wrap(err, "cannot watch")
	}
	defer w.Stop()

	waiting, start := map[string]bool{}, time.Now()
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(creators)
	for _, r := range runs {
		waiting[r.Name] = true
		g.Go(func() error { return b.create(gctx, r) })
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	for e := range w.ResultChan() {
		r, ok := e.Object.(*v1alpha1.AnsibleRun)
		if !ok || !waiting[r.Name] {
			continue
		}
		if a := r.Status.AtProvider.LastApply; a != nil && a.Result.Finished() && a.Result != common.PhaseSucceeded {
			return 0, errors.Errorf("%s: %s", r.Name, r.Status.AtProvider.LastRun.Message)
		}
		if r.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue {
			delete(waiting, r.Name)
		}
		if len(waiting) == 0 {
			return time.Since(start), nil
		}
	}
	return 0, errors.New("not all objects were Ready in time")
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
