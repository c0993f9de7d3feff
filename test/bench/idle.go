package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
)

// maxResident memory of the provider with all the objects, in bytes.
const maxResident = 120 << 20

// idle measures what objects cost that nothing happens to.
func (b *bench) idle(ctx context.Context, c *cli) error {
	if err := b.provider.Stop(ctx); err != nil {
		return err
	}
	if err := b.settled(ctx, c.Objects); err != nil {
		return err
	}
	if err := b.restart(ctx, "--poll-interval="+c.Poll.String()); err != nil {
		return err
	}

	// All objects are looked at once at the start.
	if err := sleep(ctx, c.Poll); err != nil {
		return err
	}
	looked, err := b.reconciles(ctx)
	if err != nil {
		return err
	}
	before, err := b.provider.Usage()
	if err != nil {
		return err
	}
	start := time.Now()
	if err := sleep(ctx, time.Duration(c.Polls)*c.Poll); err != nil {
		return err
	}
	after, err := b.provider.Usage()
	if err != nil {
		return err
	}
	wall := time.Since(start)
	reconciles, err := b.reconciles(ctx)
	if err != nil {
		return err
	}
	reconciles -= looked

	runs, err := b.ran(ctx)
	if err != nil {
		return err
	}
	cpu := after.CPU - before.CPU
	t := newTable(b.out, fmt.Sprintf("%d unchanged objects under RunOnChange, over %d polls every %s", c.Objects,
		c.Polls, c.Poll),
		"reconciles", "CPU", "of one core", "CPU for one reconcile", "resident", "at most so far", "runs",
		"CPU of processes started")
	t.row(reconciles, seconds(cpu), fmt.Sprintf("%.1f %%", 100*cpu.Seconds()/wall.Seconds()),
		fmt.Sprintf("%.2f ms", 1000*cpu.Seconds()/float64(reconciles)),
		mebibytes(after.Resident), mebibytes(after.Peak), runs, seconds(after.Children-before.Children))
	t.flush()
	_, _ = fmt.Fprintf(b.out, "At most %s resident: %s. No process started: %s.\n", mebibytes(maxResident),
		verdict(after.Peak <= maxResident), verdict(runs == 0 && after.Children == before.Children))

	return b.removed(ctx)
}

// reconciles of AnsibleRuns since the provider was started.
func (b *bench) reconciles(ctx context.Context) (int, error) {
	n, err := b.metric(ctx, `controller_runtime_reconcile_total{controller="managed/ansiblerun`)
	return int(n), err
}

// metric of the provider: the sum of all with a name and labels that begin with the prefix.
func (b *bench) metric(ctx context.Context, prefix string) (float64, error) {
	v, found, err := sum(ctx, b.stack.ProviderMetrics(), prefix)
	if err == nil && !found {
		err = errors.Errorf("there is no metric %s", prefix)
	}
	return v, err
}

// sum of all metrics that are served somewhere and begin in some way, if there are any.
func sum(ctx context.Context, url, prefix string) (total float64, found bool, err error) {
	all, err := controlplane.Metrics(ctx, url)
	for name, v := range all {
		if strings.HasPrefix(name, prefix) {
			total, found = total+v, true
		}
	}
	return total, found, err
}

// settled makes objects as a provider leaves them that applied them: one that had
// another key for its digests, so that they count as applied.
func (b *bench) settled(ctx context.Context, n int) error {
	now := metav1.Now()
	for i := range n {
		r := ansibleRun(fmt.Sprintf("idle-%d", i), work{playbook: playbook})
		if err := b.create(ctx, r); err != nil {
			return err
		}
		run := client.MergeFrom(r.DeepCopy())
		r.SetConditions(xpv2.Available().WithObservedGeneration(r.Generation),
			xpv2.ReconcileSuccess().WithObservedGeneration(r.Generation))
		r.Status.AtProvider = common.AnsibleRunObservation{
			AppliedDigest: "v1.00000000.00",
			LastApply: &common.Apply{
				ID: "settled", Result: common.PhaseSucceeded, State: common.StatePresent,
				InputsDigest: "v1.00000000.00", Attempts: 1, CompletionTime: &now,
			},
		}
		if err := b.kube.Status().Patch(ctx, r, run); err != nil {
			return errors.Wrap(err, "cannot write a status")
		}
	}
	return nil
}

// ran counts objects that were run.
func (b *bench) ran(ctx context.Context) (int, error) {
	l := &v1alpha1.AnsibleRunList{}
	if err := b.kube.List(ctx, l, client.InNamespace(namespace)); err != nil {
		return 0, errors.Wrap(err, "cannot list")
	}
	n := 0
	for _, r := range l.Items {
		if r.Status.AtProvider.LastRun != nil {
			n++
		}
	}
	return n, nil
}

func mebibytes(n uint64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return errors.Wrap(ctx.Err(), "interrupted")
	case <-time.After(d):
		return nil
	}
}
