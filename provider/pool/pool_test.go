package pool

import (
	"context"
	"testing"
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
		phase  bool
		want   bool
	}{
		{"A new phase should be reported.", 0, true, true},
		{"Progress should not be reported at once.", 9 * time.Second, false, false},
		{"Progress should be reported after 10 s.", 10 * time.Second, false, true},
		{"The next pause should be longer.", 24 * time.Second, false, false},
		{"The next pause should end.", 25 * time.Second, false, true},
		{"A new phase should not wait.", 26 * time.Second, true, true},
		{"A new phase should start over.", 36 * time.Second, false, true},
	}

	for _, s := range steps {
		if got := p.due(start.Add(s.after), s.phase); got != s.want {
			t.Errorf("%s At %s: want %t, got %t", s.reason, s.after, s.want, got)
		}
	}

	for range 20 {
		p.due(p.next, false)
	}

	if p.pause != time.Minute {
		t.Errorf("Pauses should grow to a minute, got %s", p.pause)
	}
}
