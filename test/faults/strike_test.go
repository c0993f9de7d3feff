package faults

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/ledger"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/proxy"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/trap"
)

// leads is the time in which a replica must lead after the leader is gone. If a disturbance keeps the leader from
// releasing its lease, the lease must expire first.
const leads = 90 * time.Second

// A phase of a run at which a fault can strike the provider.
type phase struct {
	name string
	// provoke the phase.
	provoke func(context.Context) error
	// match the event that marks the phase.
	match func(trap.Event) bool
}

// phases of runs, in their order.
func (d *drive) phases() []phase {
	ask := func(ctx context.Context) error {
		return d.population.request(ctx, d.population.pick(d.population.live()))
	}
	play := func(mode, state string) func(trap.Event) bool {
		return func(e trap.Event) bool { return e.Kind == trap.PlayBegan && e.Mode == mode && e.State == state }
	}
	ends := func(state string) func(trap.Event) bool {
		return func(e trap.Event) bool {
			return e.Kind == trap.StatusWritten && e.Mode == ledger.ModeApply &&
				common.RunPhase(e.Phase) == common.PhaseSucceeded && e.State == state && !d.wrote(e)
		}
	}

	return []phase{
		{"before the start is noted", ask, func(e trap.Event) bool {
			return e.Kind == trap.StatusWritten && common.RunPhase(e.Phase) == common.PhaseQueued
		}},
		{"running", ask, play(ledger.ModeApply, ledger.StatePresent)},
		{"checking", d.drift, play(ledger.ModeCheck, ledger.StatePresent)},
		{"between end and status", ask, ends(ledger.StatePresent)},
		{"deleting", d.remove, play(ledger.ModeApply, ledger.StateAbsent)},
		{"between absent run and status", d.remove, ends(ledger.StateAbsent)},
		{"letting go", d.remove, func(e trap.Event) bool { return e.Kind == trap.FinalizerRemoved }},
	}
}

// wrote is true if the status has the result of a run already.
func (d *drive) wrote(e trap.Event) bool {
	for _, o := range d.population.there() {
		if string(o.uid) != e.UID {
			continue
		}

		run := o.blank()
		if err := d.kube.Get(context.Background(), client.ObjectKeyFromObject(run), run); err != nil {
			return true
		}

		last := run.Observation().LastRun

		return last != nil && last.ID == e.RunID && last.Phase.Finished()
	}

	return true
}

// remove an object.
func (d *drive) remove(ctx context.Context) error {
	return d.population.delete(ctx, d.population.pick(d.population.live()))
}

// drift edits an object whose policy checks, so that the provider checks it.
func (d *drive) drift(ctx context.Context) error {
	for _, o := range d.population.live() {
		if o.policy == common.CheckWhenObserve {
			return d.population.edit(ctx, o)
		}
	}

	return nil
}

// strikes are faults that end processes.
func (d *drive) strikes() []fault {
	var out []fault

	for _, p := range d.phases() {
		out = append(out,
			fault{"SIGKILL " + p.name, func(ctx context.Context) (string, error) {
				return d.strike(ctx, p, func(ctx context.Context, t *trap.Trap) error {
					return d.kill(ctx, t.Open)
				})
			}},
			fault{
				"SIGTERM " + p.name, func(ctx context.Context) (string, error) { return d.strike(ctx, p, d.terminate) },
			})
	}

	out = append(out,
		fault{
			"SIGKILL at any time",
			func(ctx context.Context) (string, error) { return "", d.kill(ctx, func() {}) },
		})

	for _, s := range []struct {
		name  string
		piece func(context.Context) (*controlplane.Piece, error)
	}{
		{"kube-apiserver", stack.APIServer},
		{"etcd", stack.Etcd},
	} {
		out = append(out, fault{s.name + " killed and started again", func(ctx context.Context) (string, error) {
			p, err := s.piece(ctx)
			if err != nil {
				return "", err
			}

			if err := p.Kill(ctx); err != nil {
				return "", err
			}

			pause(ctx, time.Duration(d.roll(2000))*time.Millisecond)

			return "", p.Start(ctx)
		}})
	}

	return out
}

// strike the provider in a phase. The event that marks the phase is held during the strike.
func (d *drive) strike(ctx context.Context, p phase, how func(context.Context, *trap.Trap) error) (string, error) {
	t := d.traps.Arm(p.match)
	defer t.Open()

	deadline := time.After(maxWait)

	for {
		if err := p.provoke(ctx); err != nil {
			return "", err
		}

		select {
		case e := <-t.Caught:
			d.book.Note(e.UID, "STRIKE", p.name, e.RunID)

			return e.RunID, how(ctx, t)
		case <-time.After(maxWait / 4):
		case <-deadline:
			return "", errMissed
		case <-ctx.Done():
			return "", errMissed
		}
	}
}

// kill the provider that leads, do something while it is dead, and start it again.
func (d *drive) kill(ctx context.Context, then func()) error {
	r := d.leader(ctx)

	if err := r.piece.Kill(ctx); err != nil {
		return err
	}

	then()

	if r.elects && (len(d.running()) == 1 || d.roll(4) > 0) {
		if err := d.yield(ctx, r); err != nil {
			return err
		}
	}

	pause(ctx, time.Duration(d.roll(1500))*time.Millisecond)

	return d.run(ctx, r)
}

// isolate the leader from the API until it gives up. It must do so before another replica may lead. That replica is
// started if it does not wait already.
func (d *drive) isolate(ctx context.Context) (string, error) {
	d.api.Lock()
	defer d.api.Unlock()

	r, alone := d.leader(ctx), len(d.running()) == 1

	next, err := d.next(ctx, r)
	if err != nil {
		return "", err
	}

	r.proxy.Set(func(*http.Request) proxy.Effect { return proxy.Effect{Cut: true} })
	r.proxy.CutWatches()

	began := time.Now()
	ended := d.eventually(ctx, 80*time.Second, func() bool {
		running, err := r.piece.Running()

		return err == nil && !running
	})

	if !ended {
		d.book.Breach("", "a leader that cannot renew its lease gives up",
			fmt.Sprintf("%s did not in %s", r.name, time.Since(began)))
	}

	took := time.Since(began)
	if !d.eventually(ctx, leads, func() bool { return next.leads(ctx) }) {
		d.book.Breach("", "another replica leads when the leader is gone",
			fmt.Sprintf("none did %s after %s was cut off", time.Since(began), r.name))
	}

	r.proxy.Set(nil)

	word := fmt.Sprintf("%s gave up after %s, another led after %s", r.name, took.Round(time.Second), time.Since(began).Round(time.Second))

	// A replica that was alone has a successor now. Others start again, and wait.
	if alone {
		r.piece = nil

		return word, nil
	}

	return word, d.run(ctx, r)
}

// next is the replica that leads next. It is started if it does not run.
func (d *drive) next(ctx context.Context, leader *replica) (*replica, error) {
	i := slices.IndexFunc(d.replicas, func(r *replica) bool { return r != leader })
	next := d.replicas[i]

	if next.piece != nil {
		return next, nil
	}

	next.elects = true
	next.piece = next.make("--leader-election=true")

	return next, d.run(ctx, next)
}

// yield removes the lease of a killed replica when all its processes have ended. Otherwise the next replica would lead
// only after the lease has expired.
func (d *drive) yield(ctx context.Context, r *replica) error {
	d.ends(ctx, r)

	return d.population.try(ctx, func() error {
		return client.IgnoreNotFound(d.kube.Delete(ctx, &coordinationv1.Lease{ObjectMeta: lease()}))
	})
}

// lease that elects a replica.
func lease() metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: controlplane.Namespace, Name: "crossplane-leader-election-provider-ansible"}
}

// terminate the leading provider as Kubernetes does, and start it again. The held event continues after a random time,
// sometimes too late.
func (d *drive) terminate(ctx context.Context, t *trap.Trap) error {
	r := d.leader(ctx)

	time.AfterFunc(time.Duration(d.roll(6000))*time.Millisecond, t.Open)

	began := time.Now()
	if err := r.piece.Stop(ctx); err != nil {
		return err
	}

	// The grace period of the runs, that of their processes, and the time to
	// write the results; the rest is for a busy machine.
	if took := time.Since(began); took > 25*time.Second {
		d.book.Breach("", "the provider stops when it is told to", fmt.Sprintf("%s took %s", r.name, took))
	}

	d.ends(ctx, r)

	return d.run(ctx, r)
}

// ends waits until all processes of a replica have ended. They end by themselves after the provider.
func (d *drive) ends(ctx context.Context, r *replica) {
	if !d.eventually(ctx, 30*time.Second, func() bool { return len(d.processesOf(r)) == 0 }) {
		d.book.Breach("", "no process is left over", fmt.Sprintf("30 s after the end of %s: %v", r.name, d.processesOf(r)))
	}
}

// leader of the replicas: the only one, or the one with the lease.
func (d *drive) leader(ctx context.Context) *replica {
	var found *replica

	running := d.running()
	if len(running) == 1 {
		return running[0]
	}

	d.eventually(ctx, 90*time.Second, func() bool {
		for _, r := range running {
			if r.leads(ctx) {
				found = r
			}
		}

		return found != nil
	})

	switch {
	case found != nil:
		return found
	case ctx.Err() == nil:
		d.book.Breach("", "there is a leader", "no replica leads after 90 s")
	}

	return running[0]
}

// leads is true for the replica that has the lease.
func (r *replica) leads(ctx context.Context) bool {
	m, err := controlplane.Metrics(ctx, r.metrics)

	return err == nil && m[`leader_election_master_status{name="`+lease().Name+`"}`] == 1
}

func (d *drive) running() []*replica {
	var out []*replica

	for _, r := range d.replicas {
		if r.piece != nil {
			out = append(out, r)
		}
	}

	return out
}

// processesOf the runs and installations of a replica.
func (d *drive) processesOf(r *replica) []string {
	var out []string

	all, _ := procfs.AllProcs()
	for _, p := range all {
		// A fork has the environment of its parent, and arguments of its own. A process that has ended has neither.
		env, _ := p.Environ()
		args, _ := p.CmdLine()

		if len(args) > 0 && strings.Contains(strings.Join(slices.Concat(env, args), " "), r.state+"/") {
			out = append(out, fmt.Sprint(p.PID, args))
		}
	}

	return out
}

// eventually waits for something, at most for some time.
func (d *drive) eventually(ctx context.Context, atMost time.Duration, is func() bool) bool {
	return wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, atMost, true,
		func(context.Context) (bool, error) { return is(), nil }) == nil
}
