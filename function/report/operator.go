package report

import (
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/composite"
	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
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

// operatorConditions are those that an Ansible operator would set for what the runs of all steps do, if
// the input of one asks for them. Where an operator leaves a reason empty, which conditions must not
// be, it is that of the condition that is true.
func operatorConditions(all step) []composite.Condition {
	if !all.Operator {
		return nil
	}

	var (
		failures []string
		runs     []desired.Outcome
	)

	running, done := false, true

	for _, r := range all.Runs {
		if r.Reason != desired.Skipped && !r.Unwanted() {
			runs = append(runs, r)
		}
	}

	for _, r := range runs {
		running, done = running || r.InProgress, done && r.Done()

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

	isRunning := composite.Condition{
		Type: plan.ConditionRunning, Status: ansiblerun.ConditionTrue, Reason: reasonRunning,
		Message: messageRunning,
	}

	switch {
	case len(failures) > 0:
		if !running {
			isRunning.Status = ansiblerun.ConditionFalse
		}

		return []composite.Condition{
			isRunning,
			{Type: plan.ConditionSuccessful, Status: ansiblerun.ConditionFalse, Reason: reasonFailed},
			{
				Type: plan.ConditionFailure, Status: ansiblerun.ConditionTrue, Reason: reasonFailed,
				Message: strings.Join(failures, "\n"),
			},
		}
	case !done:
		// Whether the last run failed stays until this one has ended.
		return []composite.Condition{
			isRunning,
			{Type: plan.ConditionSuccessful, Status: ansiblerun.ConditionFalse, Reason: reasonRunning},
		}
	case !running:
		isRunning.Reason, isRunning.Message = reasonSuccessful, messageAwaiting
	}

	return []composite.Condition{
		isRunning,
		{
			Type: plan.ConditionSuccessful, Status: ansiblerun.ConditionTrue, Reason: reasonSuccessful,
			Message: messageSuccessful,
		},
		{Type: plan.ConditionFailure, Status: ansiblerun.ConditionFalse, Reason: reasonSuccessful},
	}
}

// failure of a run, as a message; named where there are others.
func failure(r desired.Outcome, named bool) string {
	message := strings.Join(r.Messages, "\n")
	if named {
		return r.Name + ": " + message
	}

	return message
}
