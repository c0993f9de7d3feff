package pool

import (
	"context"
	"encoding/json"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// leading is always true: no other provider may lead.
func leading() bool { return true }

// silent is an Observer that does nothing.
type silent struct{}

func (silent) Started(runs.Run)                           {}
func (silent) Ended(runs.Run, runs.Report, time.Duration) {}

// scripted is a backend that the test controls.
type scripted struct {
	began chan runs.Run
	end   chan common.RunPhase
}

func newScripted() *scripted {
	return &scripted{began: make(chan runs.Run), end: make(chan common.RunPhase)}
}

func (s *scripted) execute(ctx context.Context, j runs.Run, w runs.Watch) runs.Report {
	r := j.Report()
	r.Run.Phase = common.PhaseRunning
	w.Progress(r)

	s.began <- j

	select {
	case r.Run.Phase = <-s.end:
	case <-ctx.Done():
		r.Run.Phase = common.PhaseCanceled
	}

	return r
}

func newRun(uid string, trigger common.RunTrigger) runs.Run {
	return runs.Run{
		Spec: runner.Spec{ID: "run-of-" + uid, Trigger: trigger, Object: runner.Object{UID: types.UID(uid)}},
	}
}

// enter wants a run like a reconciler: each time when the object is woken, with the last report as the status.
func enter(p *Pool, j runs.Run, wake func(time.Duration)) {
	var woken func(time.Duration)

	woken = func(after time.Duration) {
		wake(after)

		go func() {
			if r, _ := p.Report(j.Object.UID); r.Waits {
				begin(p, j, woken)
			}
		}()
	}

	begin(p, j, woken)
}

// begin begins a run if its turn has come.
func begin(p *Pool, j runs.Run, wake func(time.Duration)) bool {
	r := wait(p, j, wake)
	if r.Run.StartTime == nil {
		return false
	}

	_, begun := p.Want(Want{UID: j.Object.UID, Run: &j, Shown: &r.Run, Wake: wake})

	return begun
}

// wait wants a run, and returns its report. It has a start time if its turn has come.
func wait(p *Pool, j runs.Run, wake func(time.Duration)) runs.Report {
	r, _ := p.Want(Want{UID: j.Object.UID, Run: &j, Wake: wake})

	return r
}

// nothing wants no run for an object with the run of the test in its status.
func nothing(p *Pool, uid string) {
	p.Want(Want{UID: types.UID(uid), Shown: &common.Run{ID: "run-of-" + uid}})
}

// end ends the run of an object.
func end(p *Pool, uid string) { p.Want(Want{UID: types.UID(uid), End: true}) }

// await waits for a wake-up with a phase in the report.
func await(t *testing.T, p *Pool, uid string, woken <-chan struct{}, want common.RunPhase) {
	t.Helper()

	for {
		select {
		case <-woken:
		case <-t.Context().Done():
			t.Fatalf("%s was never reported as %s", uid, want)
		}

		if r, _ := p.Report(types.UID(uid)); r.Run.Phase == want {
			return
		}
	}
}

func wakes() (chan struct{}, func(time.Duration)) {
	c := make(chan struct{}, 16)
	return c, func(after time.Duration) { time.AfterFunc(after, func() { c <- struct{}{} }) }
}

// asleep ignores wake-ups.
func asleep(time.Duration) {}

func TestOneJobOfAnObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		p := newPool(2, 2, s.execute)
		woken, wake := wakes()

		enter(p, newRun("a", common.TriggerCreated), wake)

		<-s.began

		another := newRun("a", common.TriggerChanged)
		another.ID = "another"

		if begin(p, another, wake); began(s) {
			t.Error("A second run of an object should not begin while the first runs.")
		}

		p.Recorded("a", "run-of-a")

		if _, known := p.Report("a"); !known {
			t.Error("A run in progress should not be forgotten.")
		}

		s.end <- common.PhaseSucceeded

		await(t, p, "a", woken, common.PhaseSucceeded)

		if begin(p, another, wake); began(s) {
			t.Error("A second run should not begin until the result of the first was recorded.")
		}

		p.Recorded("a", "another")

		if _, known := p.Report("a"); !known {
			t.Error("A result should be kept until its own run is recorded.")
		}

		p.Recorded("a", "run-of-a")

		if _, known := p.Report("a"); known {
			t.Error("A result should be forgotten when it was recorded.")
		}
	})
}

// occupied returns a pool with one place, in which the run of a has begun, and the run of b waits. The channels receive
// their wake-ups.
func occupied() (p *Pool, s *scripted, a, b chan struct{}) {
	s = newScripted()
	p = newPool(1, 1, s.execute)
	a, wakeA := wakes()
	b, wakeB := wakes()

	enter(p, newRun("a", common.TriggerCreated), wakeA)
	enter(p, newRun("b", common.TriggerCreated), wakeB)

	<-s.began

	return p, s, a, b
}

func TestEnd(t *testing.T) {
	p, _, woken, queued := occupied()

	end(p, "b")
	await(t, p, "b", queued, common.PhaseCanceled)

	if s := p.Stats()[common.PlaceProvider]; s.Urgent != 0 {
		t.Errorf("A run that was canceled in the queue should not wait any more, got %+v", s)
	}

	end(p, "a")
	await(t, p, "a", woken, common.PhaseCanceled)

	end(p, "nobody")
}

func TestGone(t *testing.T) {
	p, _, woken, _ := occupied()

	p.Want(Want{UID: "nobody", Gone: true})
	p.Want(Want{UID: "b", Gone: true})

	if _, known := p.Report("b"); known {
		t.Error("A run that did not begin should be forgotten when its object is gone.")
	}

	p.Want(Want{UID: "a", Gone: true})

	for p.Unrecorded() > 0 {
		select {
		case <-woken:
		case <-t.Context().Done():
			t.Fatal("A run in progress should be canceled and forgotten when its object is gone.")
		}
	}

	if begin(p, newRun("a", common.TriggerCreated), asleep) {
		t.Error("A reconcile that began earlier should not get a run for an object that is gone.")
	}
}

func TestNothing(t *testing.T) {
	p, s, woken, _ := occupied()

	for _, uid := range []string{"a", "b", "nobody"} {
		nothing(p, uid)
	}

	if r, known := p.Report("b"); p.Stats()[common.PlaceProvider].Urgent != 0 || !known || !r.Waits {
		t.Errorf("A withdrawn run should not wait, and be kept as long as its object may show it, got %+v", r.Run)
	}

	if r, _ := p.Report("a"); r.Run.Phase != common.PhaseRunning {
		t.Errorf("A run that has begun should not be withdrawn, got %s", r.Run.Phase)
	}

	s.end <- common.PhaseSucceeded

	await(t, p, "a", woken, common.PhaseSucceeded)

	if p.Want(Want{UID: "b"}); len(p.entries) != 1 {
		t.Errorf("A withdrawn run that its object does not show should be forgotten: %+v", p.entries)
	}

	enter(p, newRun("b", common.TriggerChanged), asleep)

	if j := <-s.began; j.Trigger != common.TriggerChanged {
		t.Errorf("The withdrawn run should not begin, got %s", j.Trigger)
	}
}

func TestStop(t *testing.T) {
	p, _, woken, queued := occupied()

	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})

	go func() {
		p.Stop(ctx)
		close(stopped)
	}()

	for !p.Stopping() {
		runtime.Gosched()
	}

	if r := wait(p, newRun("c", common.TriggerCreated), asleep); r.Run.ID != "" {
		t.Error("A stopping pool should not accept runs.")
	}

	// The grace period is over.
	cancel()
	<-stopped

	await(t, p, "a", woken, common.PhaseCanceled)

	if got := p.Unrecorded(); got != 1 {
		t.Errorf("The result of the run that had begun should be kept, got %d.", got)
	}

	if r, _ := p.Report("b"); len(queued) > 0 || r.Run.Phase != common.PhaseQueued {
		t.Errorf("An object with a run that has not begun should not be woken: it was woken %d times, got %s.", len(queued), r.Run.Phase)
	}
}

// TestNews has a run with reports at certain times, and records when its object
// is woken, and with which report.
func TestNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type told struct {
			At      time.Duration
			Phase   common.RunPhase
			Task    string
			Outputs string
		}

		task := func(name string) func(*runs.Report) { return func(r *runs.Report) { r.Run.CurrentTask = name } }
		outputs := func(name, text string) func(*runs.Report) {
			return func(r *runs.Report) {
				r.Run.CurrentTask, r.Reported.Outputs = name, map[string]json.RawMessage{"a": json.RawMessage(text)}
			}
		}
		phase := func(p common.RunPhase) func(*runs.Report) { return func(r *runs.Report) { r.Run.Phase = p } }
		start := time.Now()
		p := newPool(1, 1, func(_ context.Context, j runs.Run, w runs.Watch) runs.Report {
			r := j.Report()

			for _, step := range []struct {
				at     int
				change func(*runs.Report)
			}{
				{0, phase(common.PhaseRunning)},
				{1, task("one")},
				{2, outputs("two", "1")}, // The first report of the content is due at once.
				{3, outputs("three", "2")},
				{4, outputs("four", "3")},
				{5, task("five")},
				{65, task("six")}, // A long task, without news.
				{70, func(r *runs.Report) { r.Reported.Conditions = []xpv2.Condition{{Type: "Up"}} }},
				{76, func(r *runs.Report) { r.Reported.Status = json.RawMessage("{}") }},
				{86, phase(common.PhaseInstalling)}, // A phase is due after a short time.
				{89, task("seven")},                 // The pause of progress grows with the duration of the run.
				{133, task("eight")},                // The pause is a minute at most.
				{193, phase(common.PhaseSucceeded)},
			} {
				time.Sleep(time.Until(start.Add(time.Duration(step.at) * time.Second)))

				if step.change(&r); r.Run.Phase.Finished() {
					break
				}

				w.Progress(r)
			}

			return r
		})

		var got []told

		q := priorityqueue.New[string]("test")
		defer q.ShutDown()

		begin(p, newRun("a", common.TriggerCreated), func(after time.Duration) {
			q.AddWithOpts(priorityqueue.AddOpts{After: after}, "a")
		})

		for {
			a, _ := q.Get()
			q.Done(a)

			r, _ := p.Report("a")
			got = append(got, told{time.Since(start) / time.Second, r.Run.Phase, r.Run.CurrentTask, string(r.Reported.Outputs["a"])})

			if r.Run.Phase.Finished() {
				break
			}
		}

		want := []told{
			{2, common.PhaseRunning, "two", "1"},
			{12, common.PhaseRunning, "five", "3"},
			{65, common.PhaseRunning, "six", "3"},
			{75, common.PhaseRunning, "six", "3"},
			{85, common.PhaseRunning, "six", "3"},
			{88, common.PhaseInstalling, "six", "3"},
			{132, common.PhaseInstalling, "seven", "3"},
			{192, common.PhaseInstalling, "eight", "3"},
			{193, common.PhaseSucceeded, "eight", "3"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("The object should be woken when its news are due.\n-want, +got:\n%s", diff)
		}
	})
}

// newPool returns a pool for runs in the provider.
func newPool(limit, perTenant int, execute runs.Execute) *Pool {
	return New(map[common.Place]Place{common.PlaceProvider: {Execute: execute, Runs: limit, PerTenant: perTenant}}, leading, silent{})
}
