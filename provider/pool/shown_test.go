package pool

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// newApply is a run that may change something.
func newApply(uid string) runs.Run {
	j := newRun(uid, common.TriggerCreated)
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

func TestShown(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		// shown is what the status shows of the run that is to be shown.
		shown func(r common.Run) *common.Run
		want  bool
	}{
		"Shown":   {"A run should begin once the status shows it.", func(r common.Run) *common.Run { return r.DeepCopy() }, true},
		"Nothing": {"It should not before.", func(common.Run) *common.Run { return nil }, false},
		"Waits": {"That it waits is not that it begins.", func(r common.Run) *common.Run {
			r.StartTime = nil

			return &r
		}, false},
		"Another": {"Another one is not this one.", func(r common.Run) *common.Run {
			r.ID = "another"

			return &r
		}, false},
		"Before": {"Nor is it with the inputs of before.", func(r common.Run) *common.Run {
			r.InputsDigest = "before"

			return &r
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScripted()
				p := newPool(1, 1, s.execute)
				j := newApply("a")

				r := wait(p, j, asleep)
				if r.Run.StartTime == nil || r.Run.Phase != common.PhaseQueued {
					t.Errorf("What is to be shown is a run that is about to begin, got %+v", r.Run)
				}

				if known, _ := p.Report("a"); !known.Waits {
					t.Errorf("It waits until then, got %+v", known.Run)
				}

				p.Want(Want{UID: "a", Run: &j, Shown: tc.shown(r.Run), Wake: asleep})

				if got := began(s); got != tc.want {
					t.Fatalf("%s\nIt has begun: %t", tc.reason, got)
				}

				if tc.want {
					s.end <- common.PhaseSucceeded
				}
			})
		})
	}
}

// TestShownLate has the API server take longer than a place is kept.
func TestShownLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		p := newPool(1, 1, s.execute)
		woken := 0
		j := newApply("a")
		r := wait(p, j, func(time.Duration) { woken++ })

		time.Sleep(reservationLimit)
		synctest.Wait()

		if woken != 1 || p.Stats()[common.PlaceProvider].Running != 0 {
			t.Errorf("The place should be free, and the object be looked at: woken %d times, %+v", woken, p.Stats())
		}

		p.Want(Want{UID: "a", Run: &j, Shown: &r.Run, Wake: asleep})

		if !began(s) {
			t.Error("The run should begin as it is shown.")
		}

		s.end <- common.PhaseSucceeded
	})
}

// TestNotBegun gives the place of a run that does not begin to another one.
func TestNotBegun(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		do     func(p *Pool)
	}{
		"NotShown": {"That cannot be shown.", func(*Pool) { time.Sleep(reservationLimit) }},
		"Nothing":  {"That is not wanted any more.", func(p *Pool) { nothing(p, "a") }},
		"Gone":     {"Of an object that is gone.", func(p *Pool) { p.Want(Want{UID: "a", Gone: true}) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScripted()
				p := newPool(1, 1, s.execute)

				wait(p, newApply("a"), asleep)
				enter(p, newRun("b", common.TriggerCreated), asleep)
				tc.do(p)

				if !began(s) {
					t.Errorf("%s\nThe other one did not begin.", tc.reason)
				}

				s.end <- common.PhaseSucceeded
			})
		})
	}
}

// TestNotLeading has another provider lead by the time when a run could begin. It begins once this one leads again.
func TestNotLeading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, leads := newScripted(), &atomic.Bool{}
		p := New(map[common.Place]Place{common.PlaceProvider: {Execute: s.execute, Runs: 1, PerTenant: 1}}, leads.Load, silent{})

		if enter(p, newApply("a"), asleep); began(s) {
			t.Error("A run should not begin while another provider may lead.")
		}

		leads.Store(true)

		time.Sleep(2 * reservationLimit)

		if !began(s) {
			t.Error("It should begin after that.")
		}

		s.end <- common.PhaseSucceeded
	})
}
