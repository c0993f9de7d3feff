package pool

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

// newApply is a job that may change something.
func newApply(uid string) executor.Job {
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
		p := newPool(1, 1, s)
		_, wake := wakes()

		enter(p, newApply("a"), wake)

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
				p := newPool(1, 1, s)

				for _, j := range []executor.Job{newApply("a"), newJob("b", common.TriggerCreated)} {
					enter(p, j, func() {})
				}

				tc.do(p)

				if !began(s) {
					t.Errorf("%s\nThe other one did not begin.", tc.reason)
				}

				got, _ := p.Report("a")
				if got.Run.Phase != common.PhaseCanceled || got.Run.Reason != executor.ReasonNotStarted || got.Run.CompletionTime == nil {
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

// TestNotNotedYet wakes an object whose job has a place and was not noted: nobody
// might look at it otherwise.
func TestNotNotedYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		p := newPool(1, 1, s)
		woken := 0

		enter(p, newApply("a"), func() { woken++ })
		time.Sleep(noteAgain)
		synctest.Wait()

		if woken == 0 {
			t.Error("The object should be woken.")
		}

		p.Noted("a", "run-of-a")

		if !began(s) {
			t.Error("The job should begin once it was noted.")
		}

		s.end <- common.PhaseSucceeded
	})
}

// TestNotedWhileStopping has a job noted in the moment when the pool is stopped: it
// does not begin any more.
func TestNotedWhileStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		p := newPool(1, 1, s)

		enter(p, newApply("a"), func() {})

		go p.Stop(t.Context())

		synctest.Wait()
		p.Noted("a", "run-of-a")

		if began(s) {
			t.Error("Nothing should begin while the pool is stopping.")
		}

		if r, _ := p.Report("a"); r.Run.Reason != executor.ReasonNotStarted {
			t.Errorf("The job should be reported as one that was not started, got %+v", r.Run)
		}
	})
}
