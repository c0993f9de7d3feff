package report

import (
	"slices"
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
	var failures []string

	runs := slices.DeleteFunc(slices.Clone(all.Runs),
		func(r desired.Outcome) bool { return r.Reason == desired.Skipped || r.Unwanted() })
	inProgress, done := false, true

	for _, r := range runs {
		inProgress, done = inProgress || r.InProgress || r.Reason == desired.Running, done && r.Done()

		switch message := strings.Join(r.Messages, "\n"); r.Reason {
		case desired.RunFailed, desired.ReconcileError, desired.InvalidValue, desired.ValueNotSet:
			if len(runs) > 1 {
				message = r.Name + ": " + message
			}

			failures = append(failures, message)
		}
	}

	// An operator does nothing about an object that it does not select.
	if !all.Operator || len(runs) == 0 {
		return nil
	}

	running := composite.Condition{
		Type: plan.ConditionRunning, Status: ansiblerun.ConditionTrue, Reason: reasonRunning, Message: messageRunning,
	}
	successful := composite.Condition{
		Type: plan.ConditionSuccessful, Status: ansiblerun.ConditionFalse, Reason: reasonRunning,
	}
	failure := composite.Condition{
		Type: plan.ConditionFailure, Status: ansiblerun.ConditionFalse, Reason: reasonSuccessful,
	}

	switch {
	case len(failures) > 0:
		successful.Reason = reasonFailed
		failure.Status, failure.Reason = ansiblerun.ConditionTrue, reasonFailed
		failure.Message = strings.Join(failures, "\n")

		if !inProgress {
			running.Status = ansiblerun.ConditionFalse
		}
	case !done:
		// Whether the last run failed stays until this one has ended.
		return []composite.Condition{running, successful}
	default:
		successful.Status, successful.Reason = ansiblerun.ConditionTrue, reasonSuccessful
		successful.Message = messageSuccessful

		if !inProgress {
			running.Reason, running.Message = reasonSuccessful, messageAwaiting
		}
	}

	return []composite.Condition{running, successful, failure}
}
