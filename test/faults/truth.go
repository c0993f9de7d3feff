package main

import (
	"fmt"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/ledger"
)

const truthful = "the status tells the truth about the last run"

// hearsay is how long the ledger may take to hear what a status says, on a busy
// machine.
const hearsay = 15 * time.Second

// truth of what a status says, as far as it can be told at any moment.
func (s *stage) truth(run common.AnsibleRun) {
	// The ledger hears of the end of a process a moment later.
	for deadline := time.Now().Add(hearsay); ; time.Sleep(50 * time.Millisecond) {
		lie := lie(run.Observation(), s.book.Run)
		if lie == "" {
			return
		}

		if time.Now().After(deadline) {
			s.book.Breach(string(run.GetUID()), truthful, lie)

			return
		}
	}
}

// lie that a status tells about runs; empty when there is none. What the ledger
// has not heard of never began to work.
func lie(o *common.AnsibleRunObservation, find func(id string) *ledger.Run) string {
	if r := o.LastRun; r != nil {
		was := find(r.ID)
		done := was != nil && was.Outcome == ledger.Done
		working := was != nil && was.Outcome == ledger.Working

		switch {
		case r.Phase == common.PhaseSucceeded && !done,
			r.Phase == common.PhaseFailed && r.Reason == runner.ReasonTaskFailed && (was == nil || done),
			r.Phase.Finished() && working:
			return fmt.Sprintf("lastRun %s is %s (%s), but the ledger says %s", r.ID, r.Phase, r.Reason, told(was))
		}
	}

	if a := o.LastApply; a != nil && a.Result == common.PhaseSucceeded {
		if was := find(a.ID); was == nil || was.Outcome != ledger.Done {
			return fmt.Sprintf("lastApply %s is %s, but the ledger says %s", a.ID, a.Result, told(was))
		}
	}

	return ""
}

func told(r *ledger.Run) string {
	switch {
	case r == nil:
		return "that it never began"
	case r.Outcome == ledger.Working:
		return "that it is in progress"
	}

	return "that it is " + string(r.Outcome)
}
