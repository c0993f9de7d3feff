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

// operatorConditions returns the conditions that an Ansible operator would set for the runs of all steps, if the input
// of one has operatorConditions. An operator leaves some reasons empty, which core does not allow. They are replaced by
// the reason of the condition that is True.
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

	// An XR without runs is like an object that an operator does not select, and that has no conditions.
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
		// Failure keeps its value until the run has ended.
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
