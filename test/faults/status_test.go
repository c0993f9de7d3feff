package faults

import (
	"fmt"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/ledger"
)

// ledgerDelay is the longest delay of the ledger after a status, on a busy machine.
const ledgerDelay = 15 * time.Second

// checkStatus compares what a status says with the ledger.
func (s *stage) checkStatus(run common.AnsibleRun) {
	// The ledger learns of the end of a process a moment later.
	for deadline := time.Now().Add(ledgerDelay); ; time.Sleep(50 * time.Millisecond) {
		text := contradiction(run.Observation(), s.book.Run)
		if text == "" {
			return
		}

		if time.Now().After(deadline) {
			s.book.Breach(string(run.GetUID()), "the status agrees with the ledger about the last run", text)

			return
		}
	}
}

// contradiction between a status and the ledger; empty for none. A run that is not in the ledger never began to work.
func contradiction(o *common.AnsibleRunObservation, find func(id string) *ledger.Run) string {
	if r := o.LastRun; r != nil {
		was := find(r.ID)
		done := was != nil && was.Outcome == ledger.Done
		working := was != nil && was.Outcome == ledger.Working

		switch {
		case r.Phase == common.PhaseSucceeded && !done,
			r.Phase == common.PhaseFailed && r.Reason == runner.ReasonTaskFailed && (was == nil || done),
			r.Phase.Finished() && working:
			return fmt.Sprintf("lastRun %s is %s (%s), but the ledger says %s", r.ID, r.Phase, r.Reason, ledgerSays(was))
		}
	}

	if a := o.LastApply; a != nil && a.Result == common.PhaseSucceeded {
		if was := find(a.ID); was == nil || was.Outcome != ledger.Done {
			return fmt.Sprintf("lastApply %s is %s, but the ledger says %s", a.ID, a.Result, ledgerSays(was))
		}
	}

	return ""
}

// forgotten is true if a status lacks the last apply that began to work. A later apply that has not begun, or that
// failed to install its content, is not in the ledger.
func forgotten(a *common.Apply, last *ledger.Run, find func(id string) *ledger.Run) bool {
	return last != nil && (a == nil || a.ID != last.ID && find(a.ID) != nil)
}

func ledgerSays(r *ledger.Run) string {
	switch {
	case r == nil:
		return "that it never began"
	case r.Outcome == ledger.Working:
		return "that it is in progress"
	}

	return "that it is " + string(r.Outcome)
}
