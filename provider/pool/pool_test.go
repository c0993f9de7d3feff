package pool

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane/crossplane-runtime/v2/pkg/test"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/job"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// scripted carries out jobs as the test tells it to.
type scripted struct {
	began chan job.Job
	end   chan common.RunPhase
}

func newScripted() *scripted {
	return &scripted{began: make(chan job.Job), end: make(chan common.RunPhase)}
}

func (s *scripted) Execute(ctx context.Context, j job.Job, w job.Watch) job.Report {
	r := job.NewReport(j)
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

func newJob(uid string, trigger common.RunTrigger) job.Job {
	return job.Job{
		ID:      "run-of-" + uid,
		Trigger: trigger,
		Object:  runner.Object{UID: types.UID(uid)},
		Digest:  func(content.Set) string { return "" },
	}
}

// await the wake-up that reports a phase.
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

func wakes() (chan struct{}, func()) {
	c := make(chan struct{}, 16)
	return c, func() { c <- struct{}{} }
}

func TestOneJobOfAnObject(t *testing.T) {
	s := newScripted()
	p := New(2, s)
	woken, wake := wakes()

	if err := p.Submit(newJob("a", common.TriggerCreated), wake); err != nil {
		t.Fatal(err)
	}

	<-s.began

	if diff := cmp.Diff(ErrBusy, p.Submit(newJob("a", common.TriggerChanged), wake), test.EquateErrors()); diff != "" {
		t.Errorf("A second job of an object should be refused while the first runs: -want, +got:\n%s", diff)
	}

	p.Forget("a", "run-of-a")

	if _, known := p.Report("a"); !known {
		t.Error("A job that runs should not be forgotten.")
	}

	s.end <- common.PhaseSucceeded

	await(t, p, "a", woken, common.PhaseSucceeded)

	if diff := cmp.Diff(ErrBusy, p.Submit(newJob("a", common.TriggerChanged), wake), test.EquateErrors()); diff != "" {
		t.Errorf("A second job should be refused until the result of the first was taken: -want, +got:\n%s", diff)
	}

	p.Forget("a", "another")

	if _, known := p.Report("a"); !known {
		t.Error("A result should be kept until its own run is named.")
	}

	p.Forget("a", "run-of-a")

	if _, known := p.Report("a"); known {
		t.Error("A result should be forgotten when it was taken.")
	}
}

func TestOrder(t *testing.T) {
	s := newScripted()
	p := New(1, s)

	submit := func(uid string, trigger common.RunTrigger) {
		t.Helper()

		if err := p.Submit(newJob(uid, trigger), func() {}); err != nil {
			t.Fatal(err)
		}
	}

	submit("first", common.TriggerCreated)
	submit("drift1", common.TriggerDrift)
	submit("drift2", common.TriggerDrift)

	for _, uid := range []string{"u1", "u2", "u3", "u4", "u5"} {
		submit(uid, common.TriggerDeleted)
	}

	var got []types.UID

	for range 8 {
		j := <-s.began
		got = append(got, j.UID())
		s.end <- common.PhaseSucceeded
	}

	// The job that was free to begin, then urgent ones; every fourth is a
	// periodic one, so that they do not wait for ever.
	want := []types.UID{"first", "u1", "u2", "drift1", "u3", "u4", "u5", "drift2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want order, +got order:\n%s", diff)
	}
}

func TestBounded(t *testing.T) {
	s := newScripted()
	p := New(2, s)

	for _, uid := range []string{"a", "b", "c"} {
		if err := p.Submit(newJob(uid, common.TriggerCreated), func() {}); err != nil {
			t.Fatal(err)
		}
	}

	<-s.began
	<-s.began

	if r, _ := p.Report("c"); r.Run.Phase != common.PhaseQueued {
		t.Errorf("A job beyond the limit should be queued, not %s.", r.Run.Phase)
	}

	s.end <- common.PhaseSucceeded

	if j := <-s.began; j.UID() != "c" {
		t.Errorf("The queued job should begin when a place is free, not %q.", j.UID())
	}
}

func TestCancel(t *testing.T) {
	s := newScripted()
	p := New(1, s)
	woken, wake := wakes()
	queued, wakeQueued := wakes()

	if err := p.Submit(newJob("a", common.TriggerCreated), wake); err != nil {
		t.Fatal(err)
	}

	if err := p.Submit(newJob("b", common.TriggerCreated), wakeQueued); err != nil {
		t.Fatal(err)
	}

	<-s.began

	p.Cancel("b")
	await(t, p, "b", queued, common.PhaseCanceled)

	if r, _ := p.Report("b"); r.Run.Reason != job.ReasonNotStarted || r.Run.StartTime != nil {
		t.Errorf("A job that was canceled in the queue should say that it was not started, got %+v", r.Run)
	}

	p.Cancel("a")
	await(t, p, "a", woken, common.PhaseCanceled)

	p.Cancel("nobody")
}

func TestAbandon(t *testing.T) {
	s := newScripted()
	p := New(1, s)
	woken, wake := wakes()

	for _, uid := range []string{"a", "b"} {
		if err := p.Submit(newJob(uid, common.TriggerCreated), wake); err != nil {
			t.Fatal(err)
		}
	}

	<-s.began

	p.Abandon("nobody")
	p.Abandon("b")

	if _, known := p.Report("b"); known {
		t.Error("A job that did not begin should be forgotten when its object is gone.")
	}

	p.Abandon("a")

	for p.Unrecorded() > 0 {
		select {
		case <-woken:
		case <-t.Context().Done():
			t.Fatal("A job in progress should be canceled and forgotten when its object is gone.")
		}
	}

	if diff := cmp.Diff(ErrGone, p.Submit(newJob("a", common.TriggerCreated), wake), test.EquateErrors()); diff != "" {
		t.Errorf("A reconcile that began before should get no job for an object that is gone: -want, +got:\n%s", diff)
	}
}

func TestWithdraw(t *testing.T) {
	s := newScripted()
	p := New(1, s)
	woken, wake := wakes()
	queued, wakeQueued := wakes()

	if err := p.Submit(newJob("a", common.TriggerCreated), wake); err != nil {
		t.Fatal(err)
	}

	if err := p.Submit(newJob("b", common.TriggerDrift), wakeQueued); err != nil {
		t.Fatal(err)
	}

	<-s.began

	for _, uid := range []types.UID{"a", "b", "nobody"} {
		p.Withdraw(uid)
	}

	await(t, p, "b", queued, common.PhaseCanceled)

	if r, _ := p.Report("b"); r.Run.Reason != job.ReasonNotStarted || r.Run.StartTime != nil {
		t.Errorf("A job that was withdrawn should say that it was not started, got %+v", r.Run)
	}

	if r, _ := p.Report("a"); r.Run.Phase != common.PhaseRunning {
		t.Errorf("A job that has begun should not be withdrawn, got %s", r.Run.Phase)
	}

	s.end <- common.PhaseSucceeded

	await(t, p, "a", woken, common.PhaseSucceeded)
	p.Forget("b", "run-of-b")

	if err := p.Submit(newJob("b", common.TriggerChanged), wakeQueued); err != nil {
		t.Errorf("Another job should take the place of the one that was withdrawn: %s", err)
	}

	if j := <-s.began; j.Trigger != common.TriggerChanged {
		t.Errorf("The job that was withdrawn should not begin, got %s", j.Trigger)
	}
}

func TestStop(t *testing.T) {
	s := newScripted()
	p := New(1, s)
	woken, wake := wakes()
	queued, wakeQueued := wakes()

	if err := p.Submit(newJob("a", common.TriggerCreated), wake); err != nil {
		t.Fatal(err)
	}

	if err := p.Submit(newJob("b", common.TriggerCreated), wakeQueued); err != nil {
		t.Fatal(err)
	}

	<-s.began

	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})

	go func() {
		p.Stop(ctx)
		close(stopped)
	}()

	await(t, p, "b", queued, common.PhaseCanceled)

	if diff := cmp.Diff(ErrStopped, p.Submit(newJob("c", common.TriggerCreated), func() {}), test.EquateErrors()); diff != "" {
		t.Errorf("A pool that stops should take no jobs: -want, +got:\n%s", diff)
	}

	// The grace period is over.
	cancel()
	<-stopped

	await(t, p, "a", woken, common.PhaseCanceled)

	if got := p.Unrecorded(); got != 2 {
		t.Errorf("Both results should wait to be taken, got %d.", got)
	}
}

func TestPace(t *testing.T) {
	start := metav1.Now().Time
	p := &pace{}

	steps := []struct {
		reason string
		after  time.Duration
		news   news
		want   time.Duration
	}{
		{"A new phase should be told.", 0, entered, 0},
		{"Progress should wait for 10 s.", 4 * time.Second, progressed, 10 * time.Second},
		{"The first report should not wait.", 5 * time.Second, reported, 5 * time.Second},
		{"The second should.", 6 * time.Second, reported, 15 * time.Second},
		{"So should progress, from then on.", 6 * time.Second, progressed, 15 * time.Second},
		{"Progress should be told after 10 s.", 15 * time.Second, progressed, 15 * time.Second},
		{"The next pause should be longer.", 16 * time.Second, progressed, 30 * time.Second},
		{"But not for a report.", 16 * time.Second, reported, 25 * time.Second},
		{"A report should be told when it is time.", 27 * time.Second, reported, 27 * time.Second},
		{"A new phase should not wait.", 28 * time.Second, entered, 28 * time.Second},
		{"A new phase should start over.", 29 * time.Second, progressed, 38 * time.Second},
	}

	for _, s := range steps {
		now := start.Add(s.after)

		at := p.at(now, s.news)
		if got := at.Sub(start); got != s.want {
			t.Errorf("%s At %s: want %s, got %s", s.reason, s.after, s.want, got)
		}

		if at.Equal(now) {
			p.told(now, s.news)
		}
	}

	for range 20 {
		p.told(p.last.Add(p.pause), progressed)
	}

	if p.pause != time.Minute {
		t.Errorf("Pauses should grow to a minute, got %s", p.pause)
	}
}

// TestNews lets a job go on in a time of its own, and looks at when its object
// is woken, and for what.
func TestNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type told struct {
			At      time.Duration
			Phase   common.RunPhase
			Task    string
			Outputs string
		}

		var (
			p     *Pool
			got   []told
			start = time.Now()
		)

		ended := make(chan struct{})

		p = New(1, ExecutorFn(func(_ context.Context, j job.Job, w job.Watch) job.Report {
			r := job.NewReport(j)

			step := func(after time.Duration, phase common.RunPhase, task, outputs string) {
				time.Sleep(after)

				r.Run.Phase, r.Run.CurrentTask = phase, task
				if outputs != "" {
					r.Reported.Outputs = map[string]json.RawMessage{"a": json.RawMessage(outputs)}
				}

				w.Progress(r)
			}

			step(0, common.PhaseRunning, "", "")
			step(time.Second, common.PhaseRunning, "one", "")
			step(time.Second, common.PhaseRunning, "two", "1")
			step(time.Second, common.PhaseRunning, "three", "2")
			step(time.Second, common.PhaseRunning, "four", "3")
			step(time.Second, common.PhaseRunning, "five", "3")
			// A task that takes long, with no news.
			step(time.Minute, common.PhaseRunning, "six", "")
			time.Sleep(time.Second)

			r.Run.Phase = common.PhaseSucceeded

			return r
		}))

		woken := make(chan struct{}, 100)

		if err := p.Submit(newJob("a", common.TriggerCreated), func() { woken <- struct{}{} }); err != nil {
			t.Fatal(err)
		}

		go func() {
			defer close(ended)

			for range woken {
				r, _ := p.Report("a")
				got = append(got, told{time.Since(start), r.Run.Phase, r.Run.CurrentTask, string(r.Reported.Outputs["a"])})

				if r.Run.Phase.Finished() {
					return
				}
			}
		}()

		<-ended

		want := []told{
			{0, common.PhaseRunning, "", ""},
			{2 * time.Second, common.PhaseRunning, "two", "1"},
			{12 * time.Second, common.PhaseRunning, "five", "3"},
			{65 * time.Second, common.PhaseRunning, "six", "3"},
			{66 * time.Second, common.PhaseSucceeded, "six", "3"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("News should be told when it is time, also when nothing else happens.\n-want, +got:\n%s", diff)
		}
	})
}
