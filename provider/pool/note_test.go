package pool

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/job"
)

// newApply is a job that may change something.
func newApply(uid string) job.Job {
	j := newJob(uid, common.TriggerCreated)
	j.Mode = common.ModeApply

	return j
}

func began(s *scripted) bool {
	synctest.Wait()

	select {
	case <-s.began:
		return true
	default:
		return false
	}
}

func TestNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		p := New(1, s)
		_, wake := wakes()

		if err := p.Submit(newApply("a"), wake); err != nil {
			t.Fatal(err)
		}

		if began(s) {
			t.Error("A job should not begin before it was noted.")
		}

		r, _ := p.Report("a")
		if r.Run.StartTime == nil || r.Run.Phase != common.PhaseQueued {
			t.Errorf("What is to be noted is a job that is about to begin, got phase %s, start time %v", r.Run.Phase, r.Run.StartTime)
		}

		p.Noted("a", "another")
		p.Noted("b", "run-of-a")

		if began(s) {
			t.Error("A job should not begin when another one was noted.")
		}

		p.Noted("a", "run-of-a")
		p.Noted("a", "run-of-a")

		if !began(s) {
			t.Error("A job should begin once it was noted.")
		}

		s.end <- common.PhaseSucceeded
	})
}

func TestNotBegun(t *testing.T) {
	cases := map[string]struct {
		reason string
		do     func(p *Pool)
		want   string
	}{
		"NotNoted": {
			reason: "A job that cannot be noted should give its place to another.",
			do:     func(*Pool) { time.Sleep(noteLimit) },
			want:   errNotNoted.Error(),
		},
		"Canceled": {
			reason: "A job that is canceled before it was noted should not begin.",
			do:     func(p *Pool) { p.Cancel("a") },
			want:   "it was canceled before it began",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScripted()
				p := New(1, s)

				for _, j := range []job.Job{newApply("a"), newJob("b", common.TriggerCreated)} {
					if err := p.Submit(j, func() {}); err != nil {
						t.Fatal(err)
					}
				}

				tc.do(p)

				if !began(s) {
					t.Errorf("%s\nThe other one did not begin.", tc.reason)
				}

				got, _ := p.Report("a")
				if got.Run.Phase != common.PhaseCanceled || got.Run.Reason != job.ReasonNotStarted || got.Run.CompletionTime == nil {
					t.Errorf("%s\ngot %+v", tc.reason, got.Run)
				}

				if diff := cmp.Diff(tc.want, got.Run.Message); diff != "" {
					t.Errorf("%s\nmessage: -want, +got:\n%s", tc.reason, diff)
				}

				s.end <- common.PhaseSucceeded
			})
		})
	}
}

// TestNotedAfterWaiting wakes an object whose job had to wait for its turn: only
// then is there something to note.
func TestNotedAfterWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		p := New(1, s)
		woken := make(chan struct{}, 16)

		if err := p.Submit(newJob("a", common.TriggerCreated), func() {}); err != nil {
			t.Fatal(err)
		}

		<-s.began

		if err := p.Submit(newApply("b"), func() { woken <- struct{}{} }); err != nil {
			t.Fatal(err)
		}

		s.end <- common.PhaseSucceeded

		synctest.Wait()

		if len(woken) == 0 {
			t.Error("The object should be woken when its job is about to begin.")
		}

		p.Noted("b", "run-of-b")

		if !began(s) {
			t.Error("The job should begin once it was noted.")
		}

		s.end <- common.PhaseSucceeded
	})
}
