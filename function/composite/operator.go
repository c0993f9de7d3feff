package composite

import (
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// Reasons and messages of the conditions of Ansible operators. Source:
// ansible-operator-plugins, package status.
const (
	reasonRunning    = "Running"
	reasonSuccessful = "Successful"
	reasonFailed     = "Failed"

	messageRunning    = "Running reconciliation"
	messageAwaiting   = "Awaiting next reconciliation"
	messageSuccessful = "Last reconciliation succeeded"
)

// operatorConditions are those that an Ansible operator would set for what the runs do, if
// the input asks for them. Where an operator leaves a reason empty, which conditions must not
// be, it is that of the condition that is true.
func (e *evaluator) operatorConditions() []Condition {
	if !e.plan.OperatorConditions {
		return nil
	}

	var (
		failures []string
		runs     []desired.Outcome
	)

	running, done := false, true

	for _, r := range e.runs.Outcomes {
		if r.Reason != desired.Skipped && r.Reason != desired.Retained {
			runs = append(runs, r)
		}
	}

	for _, r := range runs {
		running, done = running || e.inProgress(r), done && r.Done()

		switch r.Reason {
		case desired.RunFailed, desired.ReconcileError, desired.InvalidValue, desired.ValueNotSet:
			failures = append(failures, failure(r, len(runs) > 1))
		case desired.Running:
			running = true
		}
	}

	// An operator does nothing about an object that it does not select.
	if len(runs) == 0 {
		return nil
	}

	isRunning := Condition{
		Type: plan.ConditionRunning, Status: ansiblerun.ConditionTrue, Reason: reasonRunning,
		Message: messageRunning,
	}

	switch {
	case len(failures) > 0:
		if !running {
			isRunning.Status = ansiblerun.ConditionFalse
		}

		return []Condition{
			isRunning,
			{Type: plan.ConditionSuccessful, Status: ansiblerun.ConditionFalse, Reason: reasonFailed},
			{
				Type: plan.ConditionFailure, Status: ansiblerun.ConditionTrue, Reason: reasonFailed,
				Message: strings.Join(failures, "\n"),
			},
		}
	case !done:
		// Whether the last run failed stays until this one has ended.
		return []Condition{
			isRunning,
			{Type: plan.ConditionSuccessful, Status: ansiblerun.ConditionFalse, Reason: reasonRunning},
		}
	case !running:
		isRunning.Reason, isRunning.Message = reasonSuccessful, messageAwaiting
	}

	return []Condition{
		isRunning,
		{
			Type: plan.ConditionSuccessful, Status: ansiblerun.ConditionTrue, Reason: reasonSuccessful,
			Message: messageSuccessful,
		},
		{Type: plan.ConditionFailure, Status: ansiblerun.ConditionFalse, Reason: reasonSuccessful},
	}
}

// inProgress is true while content runs.
func (e *evaluator) inProgress(r desired.Outcome) bool {
	o, ok := e.runs.Observed.Run(r.Resource)
	if !ok {
		return false
	}

	phase := common.RunPhase(manifest.NestedText(o, "status", "atProvider", "lastRun", "phase"))

	return phase != "" && !phase.Finished()
}

// failure of a run, as a message; named where there are others.
func failure(r desired.Outcome, named bool) string {
	message := strings.Join(r.Messages, "\n")
	if named {
		return r.Name + ": " + message
	}

	return message
}
