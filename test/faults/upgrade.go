package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	clusterv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/cluster/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/trap"
)

const unchanged = "an upgrade changes no condition of objects to which nothing happened"

// upgrade the provider as a Deployment does, one process after another, while
// there are many objects: most have nothing to do, a tenth of them has just been
// changed, so that some run and the others wait for a slot.
func (d *drive) upgrade(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}

	d.printf("An upgrade under load of %d objects\n", n)
	d.director.setFaultless(true)

	if err := d.start(ctx, 1); err != nil {
		return err
	}

	// How long the plays of all objects may take on a busy machine.
	enough := settling + time.Duration(n)*10*time.Second

	objects, err := d.crowd(ctx, n, enough)
	if err != nil {
		return err
	}

	conditions, err := d.replace(ctx, objects, max(n/10, 4), enough)
	if err != nil {
		return err
	}

	for _, c := range conditions {
		d.book.Breach(string(c.uid), unchanged, c.text)
	}

	for _, o := range objects {
		if err := d.population.delete(ctx, o); err != nil {
			return err
		}
	}

	if !d.eventually(ctx, enough, func() bool { return d.population.look(ctx) == nil && len(d.population.there()) == 0 }) {
		d.book.Breach("", "after the faults stop everything converges",
			fmt.Sprintf("%d objects are still there after an upgrade", len(d.population.there())))
	}

	d.printf("  %7.1fs  done\n", time.Since(d.began).Seconds())

	return ctx.Err()
}

// crowd of objects that are ready.
func (d *drive) crowd(ctx context.Context, n int, atMost time.Duration) ([]*object, error) {
	var all []*object

	for range n {
		o, err := d.population.keep(ctx)
		if err != nil {
			return nil, err
		}

		all = append(all, o)
	}

	var waiting int

	ready := d.eventually(ctx, atMost, func() bool {
		runs, err := d.population.list(ctx)
		waiting = len(
			slices.DeleteFunc(slices.Clone(all),
				func(o *object) bool { return runs[o.uid] != nil && d.unlikeWanted(o, runs[o.uid]) == "" }))

		return err == nil && waiting == 0
	})
	if !ready {
		return nil, errors.Errorf("%d of %d objects are not ready after %s", waiting, n, atMost)
	}

	return all, nil
}

// A condition that changed.
type changed struct {
	uid  types.UID
	text string
}

// replace the provider by a new process while some objects run or wait, and return
// what changed without a reason.
func (d *drive) replace(ctx context.Context, objects []*object, busy int, atMost time.Duration) ([]changed, error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()

	w, err := d.observe(watching)
	if err != nil {
		return nil, err
	}

	first := d.traps.Arm(func(e trap.Event) bool { return e.Kind == trap.PlayBegan })
	defer d.traps.Disarm(first)

	for _, o := range objects[:busy] {
		if err := d.population.edit(ctx, o); err != nil {
			return nil, err
		}
	}

	select {
	case <-first.Caught():
	case <-time.After(maxWait):
		return nil, errors.New("no play began before an upgrade")
	}

	r := d.leader(ctx)
	if err := d.terminate(ctx, first); err != nil {
		return nil, err
	}

	var not string

	settled := d.eventually(ctx, atMost, func() bool {
		runs, err := d.population.list(ctx)
		m, merr := r.gauges(ctx)

		if err != nil || merr != nil {
			return false
		}

		for _, o := range objects {
			if not = d.unlikeWanted(o, runs[o.uid]); not != "" {
				return false
			}
		}

		// The new process has to have seen all of them.
		return m["controller_runtime_reconcile_total"] >= float64(len(objects))
	})
	if !settled {
		d.book.Breach("", "after the faults stop everything converges", "after an upgrade: "+not)
	}

	stop()

	return w.wrong(objects[busy:]), nil
}

// An observation of the conditions of objects.
type observation struct {
	done chan struct{}
	seen map[types.UID][]*clusterv1alpha1.AnsibleRun
}

// observe all states of objects until the context is done.
func (s *stage) observe(ctx context.Context) (*observation, error) {
	kube, err := client.NewWithWatch(s.cfg, client.Options{Scheme: s.kube.Scheme()})
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a client")
	}

	runs := &clusterv1alpha1.AnsibleRunList{}
	if err := kube.List(ctx, runs); err != nil {
		return nil, errors.Wrap(err, "cannot list AnsibleRuns")
	}

	w := &observation{done: make(chan struct{}), seen: map[types.UID][]*clusterv1alpha1.AnsibleRun{}}
	for i := range runs.Items {
		w.seen[runs.Items[i].UID] = []*clusterv1alpha1.AnsibleRun{&runs.Items[i]}
	}

	events, err := kube.Watch(ctx, &clusterv1alpha1.AnsibleRunList{},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: runs.ResourceVersion}})
	if err != nil {
		return nil, errors.Wrap(err, "cannot watch AnsibleRuns")
	}

	go func() {
		defer close(w.done)

		for e := range events.ResultChan() {
			if run, ok := e.Object.(*clusterv1alpha1.AnsibleRun); ok {
				w.seen[run.UID] = append(w.seen[run.UID], run)
			}
		}
	}()

	context.AfterFunc(ctx, events.Stop)

	return w, nil
}

// wrong is what changed: any condition of objects that nothing happened to, and
// that an object is no more synced unless a run of it was cut off.
func (w *observation) wrong(idle []*object) []changed {
	<-w.done

	var out []changed

	quiet := map[types.UID]bool{}
	for _, o := range idle {
		quiet[o.uid] = true
	}

	for uid, states := range w.seen {
		for _, now := range states[1:] {
			last := now.Status.AtProvider.LastRun
			cut := last != nil && (last.Phase == common.PhaseInterrupted || last.Phase == common.PhaseCanceled)

			switch synced := now.GetCondition(xpv2.TypeSynced); {
			case quiet[uid] && !slices.Equal(*now.Conditions(), *states[0].Conditions()):
				out = append(out, changed{uid, fmt.Sprintf("it was %s, and became %s", summary(states[0]), summary(now))})
			case !quiet[uid] && !cut && synced.Status == corev1.ConditionFalse:
				out = append(out, changed{uid, "it is not synced: " + summary(now)})
			}
		}
	}

	return out
}
