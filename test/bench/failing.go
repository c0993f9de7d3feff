package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
)

// What is to be kept beside objects that fail.
const (
	// atMostBeside is the ratio of the median time of a healthy object to that
	// of one that is alone.
	atMostBeside = 2.0
	// maxResidentFailing is the memory of the provider, in bytes.
	maxResidentFailing = 200 << 20
)

const (
	// namespaceFailing is apart: a wait for healthy objects sees none of those that fail.
	namespaceFailing = "failing"
	// secretMissing is what they fail for.
	secretMissing = "missing"
	// creators of objects at the same time.
	creators = 32
)

// failing measures what objects that fail cost those that are healthy. It is the
// last measurement: what fails goes with the control plane.
func (b *bench) failing(ctx context.Context, c *cli) error {
	if err := b.restart(ctx); err != nil {
		return err
	}
	// The first one warms up.
	w := little(c)
	if err := b.warmUp(ctx, w); err != nil {
		return err
	}
	alone, err := b.healthy(ctx, w)
	if err != nil {
		return err
	}
	took, err := b.fail(ctx, c.Failing)
	if err != nil {
		return err
	}
	beside, err := b.healthy(ctx, w)
	if err != nil {
		return err
	}

	t := newTable(b.out, fmt.Sprintf("One healthy object after another, %d of them, from apply to Ready", c.Repeat),
		"", "median", "at most", "median to alone", "at most to alone", "to ansible-runner", "reconciles per second",
		"CPU of the provider", "resident", "at most so far", "Go heap")
	for _, row := range []struct {
		name string
		crowd
	}{{"alone", alone}, {fmt.Sprintf("beside %d that fail", c.Failing), beside}} {
		t.row(row.name, seconds(row.median().wall), seconds(row.slowest()),
			fmt.Sprintf("%.2f", row.to(alone)), fmt.Sprintf("%.2f", row.slowest().Seconds()/alone.slowest().Seconds()),
			fmt.Sprintf("%.2f", ratio(row.samples, row.runner)), fmt.Sprintf("%.0f", row.rate), fmt.Sprintf("%.1f %%", row.cpu),
			mebibytes(row.memory.Resident), mebibytes(row.memory.Peak), mebibytes(row.heap))
	}
	t.flush()
	_, _ = fmt.Fprintf(b.out,
		"%d objects were created, and each had failed for a Secret that is missing, after %s.\nAt most %.1f times alone: "+
			"%.2f, %s. At most %s resident: %s.\n",
		c.Failing, seconds(took), atMostBeside, beside.to(alone), verdict(beside.to(alone) <= atMostBeside),
		mebibytes(maxResidentFailing), verdict(beside.memory.Peak <= maxResidentFailing))
	return nil
}

// A crowd of objects, in which one after another became Ready.
type crowd struct {
	samples
	// runner is ansible-runner with the same playbook, in turn with them: what else
	// the machine does takes its time from both.
	runner samples

	// rate of reconciles, per second, and CPU of the provider itself, in percent of
	// one core, meanwhile.
	rate, cpu float64
	// memory of the provider, and its heap in bytes, at the end.
	memory controlplane.Usage
	heap   uint64
}

// to is the ratio of medians to another crowd.
func (c crowd) to(other crowd) float64 {
	return c.median().wall.Seconds() / other.median().wall.Seconds()
}

func (c crowd) slowest() time.Duration {
	return slices.MaxFunc(c.samples, func(a, b sample) int { return int(a.wall - b.wall) }).wall
}

// healthy objects become Ready, one after another.
func (b *bench) healthy(ctx context.Context, w work) (crowd, error) {
	c := crowd{}
	start := time.Now()
	reconciles, err := b.reconciles(ctx)
	if err != nil {
		return c, err
	}
	before, err := b.provider.Usage()
	if err != nil {
		return c, err
	}
	for range w.repeat {
		r, err := b.bare(ctx, w, bareRunner)
		if err != nil {
			return c, err
		}
		s, err := b.run(ctx, w)
		if err != nil {
			return c, err
		}
		c.runner, c.samples = append(c.runner, r), append(c.samples, s)
	}
	if c.memory, err = b.provider.Usage(); err != nil {
		return c, err
	}
	wall := time.Since(start).Seconds()
	c.cpu = 100 * (c.memory.CPU - c.memory.Children - before.CPU + before.Children).Seconds() / wall

	since, err := b.reconciles(ctx)
	if err != nil {
		return c, err
	}
	c.rate = float64(since-reconciles) / wall

	heap, err := b.metric(ctx, "go_memstats_heap_alloc_bytes")
	c.heap = uint64(heap)
	return c, err
}

// fail creates objects that miss a Secret and returns how long it took until the
// reconciles of all of them had failed for it.
func (b *bench) fail(ctx context.Context, n int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	cfg := config("default")
	cfg.Namespace = namespaceFailing
	if err := b.create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceFailing}}, cfg); err != nil {
		return 0, err
	}
	start := time.Now()
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(creators)
	for i := range n {
		g.Go(func() error { return b.create(gctx, incomplete(fmt.Sprintf("failing-%d", i))) })
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	for {
		failed, err := b.failed(ctx)
		if err != nil {
			return 0, err
		}
		if failed == n {
			return time.Since(start), nil
		}
		// It takes as long to look at all of them.
		if err := sleep(ctx, time.Second); err != nil {
			return 0, errors.Wrapf(err, "%d of %d objects had not failed", n-failed, n)
		}
	}
}

// failed counts objects with reconciles that fail for the Secret that is missing.
func (b *bench) failed(ctx context.Context) (int, error) {
	l := &v1alpha1.AnsibleRunList{}
	if err := b.kube.List(ctx, l, client.InNamespace(namespaceFailing)); err != nil {
		return 0, errors.Wrap(err, "cannot list")
	}
	n := 0
	for _, r := range l.Items {
		if s := r.GetCondition(xpv2.TypeSynced); s.Status == corev1.ConditionFalse &&
			strings.Contains(s.Message, secretMissing) {
			n++
		}
	}
	return n, nil
}

// incomplete AnsibleRun: it refers to a Secret that is missing.
func incomplete(name string) *v1alpha1.AnsibleRun {
	r := ansibleRun(name, work{playbook: playbook})
	r.Namespace = namespaceFailing
	r.Spec.ForProvider.VarFiles = []common.VarFile{{
		Source:       common.VarFileSourceSecretKey,
		SecretKeyRef: &common.KeySelector{Name: secretMissing, Key: "vars.yml"},
	}}
	return r
}
