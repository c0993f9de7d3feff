package pool

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// newApply returns an apply.
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
		// shown returns the run in the status, given the run of the report.
		shown func(r common.Run) *common.Run
		want  bool
	}{
		"Shown":   {"A run should begin once the status shows it.", func(r common.Run) *common.Run { return r.DeepCopy() }, true},
		"Nothing": {"A run should not begin before the status shows it.", func(common.Run) *common.Run { return nil }, false},
		"Waits": {"A waiting run in the status is not enough.", func(r common.Run) *common.Run {
			r.StartTime = nil

			return &r
		}, false},
		"Another": {"Another run in the status is not enough.", func(r common.Run) *common.Run {
			r.ID = "another"

			return &r
		}, false},
		"Before": {"The run with former inputs in the status is not enough.", func(r common.Run) *common.Run {
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
					t.Errorf("The report should be that of a run that is about to begin, got %+v", r.Run)
				}

				if known, _ := p.Report("a"); !known.Waits {
					t.Errorf("The run should wait until then, got %+v", known.Run)
				}

				p.Want(Want{UID: "a", Run: &j, Shown: tc.shown(r.Run), Wake: asleep})

				if got := began(s); got != tc.want {
					t.Fatalf("%s\nThe run has begun: %t", tc.reason, got)
				}

				if tc.want {
					s.end <- common.PhaseSucceeded
				}
			})
		})
	}
}

// TestShownLate has an update of the status that takes longer than the reservation.
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
			t.Errorf("The place should be free, and the object should be woken: woken %d times, %+v", woken, p.Stats())
		}

		p.Want(Want{UID: "a", Run: &j, Shown: &r.Run, Wake: asleep})

		if !began(s) {
			t.Error("The run should begin, since the status shows it.")
		}

		s.end <- common.PhaseSucceeded
	})
}

// TestNotBegun has a run that does not begin. Another run gets its place.
func TestNotBegun(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		do     func(p *Pool)
	}{
		"NotShown": {"The run does not get into the status.", func(*Pool) { time.Sleep(reservationLimit) }},
		"Nothing":  {"The run is not wanted any more.", func(p *Pool) { nothing(p, "a") }},
		"Gone":     {"The object is gone.", func(p *Pool) { p.Want(Want{UID: "a", Gone: true}) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScripted()
				p := newPool(1, 1, s.execute)

				wait(p, newApply("a"), asleep)
				enter(p, newRun("b", common.TriggerCreated), asleep)
				tc.do(p)

				if !began(s) {
					t.Errorf("%s\nThe other run should begin.", tc.reason)
				}

				s.end <- common.PhaseSucceeded
			})
		})
	}
}

// TestNotLeading has another provider that leads when a run could begin. The run begins once this provider leads again.
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
			t.Error("The run should begin after that.")
		}

		s.end <- common.PhaseSucceeded
	})
}
