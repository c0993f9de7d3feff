package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// settling is the time in which all objects must converge after the faults.
const settling = 6 * time.Minute

// recovery waits until all objects have converged after the faults, removes them, and searches for leftovers.
func (d *drive) recovery(ctx context.Context) {
	d.heal()

	asked := map[types.UID]string{}
	d.settle(ctx, asked, d.unlikeWanted)

	if ctx.Err() != nil {
		return
	}

	for _, o := range d.population.live() {
		_ = d.population.delete(ctx, o)
	}

	d.settle(ctx, asked, func(_ *object, run common.AnsibleRun) string {
		return fmt.Sprintf("is still there: %s", summary(run))
	})

	var left []string

	// The provider sweeps Pods every minute, from their third minute on.
	d.eventually(ctx, either(15*time.Second, 5*time.Minute), func() bool {
		left = append(d.left(), d.leftOfPods(ctx)...)

		return len(left) == 0
	})

	for _, l := range left {
		d.book.Breach("", "there are no leftovers", l)
	}

	d.lost()
}

// settle waits until each object has converged once, and reports the others. Periodic runs continue, and on a slow
// machine nearly every object always has one in progress. Planned retries are requested at once.
func (d *drive) settle(ctx context.Context, asked map[types.UID]string,
	why func(*object, common.AnsibleRun) string,
) {
	wrong, right := map[*object]string{}, map[*object]bool{}

	d.eventually(ctx, settling, func() bool {
		if d.population.look(ctx) != nil {
			return false
		}

		runs, err := d.population.list(ctx)
		if err != nil {
			return false
		}

		clear(wrong)

		for _, o := range d.population.there() {
			run, ok := runs[o.uid]
			if !ok || right[o] {
				continue
			}

			w := why(o, run)
			if right[o] = w == ""; !right[o] {
				wrong[o] = w
				d.hurry(ctx, o, run, asked)
			}
		}

		return len(wrong) == 0
	})

	for o, why := range wrong {
		if ctx.Err() == nil {
			d.book.Breach(string(o.uid), "after the faults stop everything converges", o.String()+": "+why)
		}
	}
}

// hurry requests a run once per attempt, if the next attempt is not soon, or if the deletion has no retries left.
func (d *drive) hurry(ctx context.Context, o *object, run common.AnsibleRun, asked map[types.UID]string) {
	a := run.Observation().LastApply
	if o.way.hopeless && !o.deleted { // It gives up by itself.
		return
	}

	if a == nil || !a.Result.Finished() || a.Result == common.PhaseSucceeded || asked[o.uid] == a.ID {
		return
	}

	switch next := a.NextRetryTime; {
	case next == nil && !o.deleted:
		return
	case next != nil && (time.Until(next.Time) < 5*time.Second || time.Until(next.Time) > time.Hour):
		return
	}

	asked[o.uid] = a.ID
	_ = d.population.request(ctx, o)
}

// unlikeWanted is the difference between an object and its wanted state; empty for none.
func (d *drive) unlikeWanted(o *object, run common.AnsibleRun) string {
	ready, synced := run.GetCondition(xpv2.TypeReady), run.GetCondition(xpv2.TypeSynced)
	apply := run.Observation().LastApply
	noted := d.book.Object(string(o.uid))
	token, _ := meta.GetReconcileRequest(run)

	switch {
	case o.deleted:
		return "is still there: " + summary(run)
	case ready.ObservedGeneration != run.GetGeneration():
		return "its conditions are of an earlier generation: " + summary(run)
	case forgotten(apply, noted.LastApply, d.book.Run):
		return fmt.Sprintf("its last apply was %s, of which the status does not know: %s", noted.LastApply.ID, summary(run))
	case o.way.hopeless:
		if ready.Status == corev1.ConditionTrue || apply == nil || !apply.Result.Finished() ||
			apply.Result == common.PhaseSucceeded || apply.NextRetryTime != nil {
			return "it can only fail, but does not say that it gave up: " + summary(run)
		}

		return ""
	case ready.Status != corev1.ConditionTrue || synced.Status != corev1.ConditionTrue:
		return "is not ready: " + summary(run)
	case token != "" && run.Observation().HandledRequest != token:
		return fmt.Sprintf("request %s was not answered: %s", token, summary(run))
	case noted.Target == "drifted" && o.policy == common.RunOnChange:
		return ""
	case noted.Target != o.value:
		return fmt.Sprintf("its target is %q, not %q: %s", noted.Target, o.value, summary(run))
	}

	return ""
}

// summary of an object.
func summary(run common.AnsibleRun) string {
	b := &strings.Builder{}
	o := run.Observation()

	if r := o.LastRun; r != nil {
		_, _ = fmt.Fprintf(b, "lastRun %s %s %s %s %s %q; ", r.ID, r.Mode, r.State, r.Trigger, r.Phase, r.Message)
	}

	if a := o.LastApply; a != nil {
		_, _ = fmt.Fprintf(b, "lastApply %s %s %s attempt %d, next %v; ", a.ID, a.State, a.Result, a.Attempts,
			a.NextRetryTime)
	}

	for _, c := range *run.Conditions() {
		_, _ = fmt.Fprintf(b, "%s=%s %s %q; ", c.Type, c.Status, c.Reason, c.Message)
	}

	return b.String()
}

// left are processes, private data directories, temporary files, and locks of runs that have ended.
func (d *drive) left() []string {
	var out []string

	for _, r := range d.replicas {
		for _, p := range d.processesOf(r) {
			pid, _, _ := strings.Cut(p, " ")
			cwd, _ := os.Readlink(filepath.Join("/proc", pid, "cwd"))

			// The process that runs fork from lives as long as the provider. Its forks have other directories.
			if !strings.Contains(p, "/warm.py") || strings.HasPrefix(cwd, filepath.Join(r.state, "runs")) {
				out = append(out, "process "+p)
			}
		}

		for _, dir := range []string{filepath.Join(r.state, "runs"), r.temp} {
			names, _ := os.ReadDir(dir)
			for _, n := range names {
				out = append(out, "file "+filepath.Join(dir, n.Name()))
			}
		}
	}

	return out
}
