package runner

import (
	"fmt"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// errTimedOut is the cause of the end of a run after its timeout.
var errTimedOut = errors.New("timed out")

// An ending is the state of a run after the end of its processes.
type ending struct {
	// summary of the events.
	summary events.Summary
	// code is the exit status.
	code int
	// cause is why the processes were ended; nil if they ended by themselves.
	cause error
	// text and warnings that the run wrote outside of events.
	text, warnings string
}

// noHosts is Ansible's error when a limit leaves no host of an inventory. Ansible then ends before the first play.
// Source: CLI.get_host_list of ansible-core.
const noHosts = "Specified inventory, host pattern and/or --limit leaves us with no hosts to target"

// unmatched is the message of a run without hosts.
const unmatched = "no host matched, so that nothing was done"

// deadWorker is Ansible's error when the process of a task was killed.
const deadWorker = "A worker was found in a dead state"

// verdict returns the result of an ending. A run that has completed all plays has succeeded, even if its processes were
// ended right after that.
func verdict(run Spec, e ending) Result {
	s := e.summary

	if e.code == 0 && s.Finished {
		r := accomplished(run, e)
		r.Summary = s

		return r
	}

	r := Result{Phase: common.PhaseFailed, Summary: s}

	switch {
	case len(run.Only) > 0 && e.code == 0 && e.cause == nil:
		r.Phase = common.PhaseSucceeded

		return r
	case errors.Is(e.cause, errTimedOut):
		r.Phase, r.Reason, r.Message = common.PhaseTimedOut, ReasonTimedOut, "timed out after "+run.Limit()+during(s)
	case errors.As(e.cause, new(*workdir.SizeError)):
		r.Reason, r.Message = ReasonRunTooLarge, e.cause.Error()+","+during(s)
	case isOutOfMemory(e.cause):
		r.Reason, r.Message = ReasonOutOfMemory, e.cause.Error()+","+during(s)
	case e.cause != nil:
		r.Phase, r.Reason, r.Message = common.PhaseCanceled, ReasonCanceled, "canceled"+during(s)
	case failed(s).Cause() != "":
		r.Reason, r.Message = failed(s).Reason, failed(s).Cause()
	case s.Totals.Failed > 0:
		r.Reason, r.Message = ReasonTaskFailed, "a task failed, with a result too large to be read"
	case s.Totals.Unreachable > 0:
		r.Reason, r.Message = common.ReasonHostUnreachable, "a host could not be reached, with a result too large to be read"
	case !s.Started && strings.HasPrefix(e.text, noHosts):
		r.Reason, r.Message = ReasonNoHostsMatched, unmatched+suffix(e.warnings)
	case strings.HasPrefix(e.text, deadWorker):
		r.Reason, r.Message = ReasonPlaybookError, "a process of the play was ended"+during(
			s)+"; it may have taken more memory than a process may have"
	default:
		r.Reason, r.Message = ReasonPlaybookError, e.text
	}

	if r.Reason == ReasonPlaybookError {
		r.Message = withoutPaths(run.Inputs.Parameters, withExplanation(run.Inputs, r.Message, e.warnings))
	}

	if r.Message == "" {
		r.Message = fmt.Sprintf("ansible-runner ended with exit status %d without saying why", e.code)
	}

	return r
}

// untouched is true when no task of a run has begun, so that it has changed nothing. The last events are lost if the
// run was ended, or if it ended with exit status 0 and without statistics: then the result is false.
func untouched(e ending) bool {
	return !e.summary.Started && e.cause == nil && (e.code != 0 || e.summary.Finished)
}

// tagged is true for a run with tags or skipTags.
func tagged(run Spec) bool {
	return len(run.Inputs.Parameters.Tags)+len(run.Inputs.Parameters.SkipTags) > 0
}

// idle is true if no host matched. In a play without tasks, too, Ansible counts no hosts, but does not report that none
// matched.
func idle(s events.Summary) bool { return s.Processed == 0 && (s.Unmatched || s.Play == "") }

// accomplished returns the result of a run that succeeded according to Ansible, also if no host or no task matched.
func accomplished(run Spec, e ending) Result {
	s := e.summary

	switch {
	case idle(s) && tagged(run):
		return failing(ReasonNoHostsMatched, "no host matched, or no task has the tags"+suffix(e.warnings))
	case idle(s):
		return failing(ReasonNoHostsMatched, unmatched+suffix(e.warnings))
	case s.Tasks == 0 && tagged(run):
		return failing(ReasonNoTasksMatched, "no task has the tags, so that nothing was done")
	case s.OutputsSize > events.MaxOutputs && publishes(run):
		return failing(ReasonOutputsTooLarge, fmt.Sprintf(
			"the content published %d bytes of outputs; at most %d can be kept", s.OutputsSize, events.MaxOutputs))
	case s.InvalidOutput != "" && publishes(run):
		return failing(ReasonInvalidOutputs, s.InvalidOutput)
	case s.ExcessDetails:
		return failing(ReasonInvalidConnectionDetails, fmt.Sprintf(
			"the content published a connection detail of %d characters or more, more than %d bytes of connection details, "+
				"or too many values, counting each change; nothing is shown of the run since then",
			events.MaxDetail, events.MaxDetails))
	case s.Report.Excess:
		return failing(ReasonTooManyConditions, fmt.Sprintf(
			"the content reported more than %d types of conditions, which cannot be kept", events.MaxConditions))
	case !publishes(run):
		return Result{Phase: common.PhaseSucceeded}
	}

	details, err := connectionDetails(s.ConnectionDetails)
	if err != nil {
		return failing(ReasonInvalidConnectionDetails, err.Error())
	}

	return Result{Phase: common.PhaseSucceeded, ConnectionDetails: details}
}

// failing returns the result of a failed run.
func failing(reason, message string) Result {
	return Result{Phase: common.PhaseFailed, Reason: reason, Message: message}
}

// publishes is true for a run if its outputs and connection details are kept.
func publishes(run Spec) bool {
	return run.Mode != common.ModeCheck && run.State != common.StateAbsent
}

// failed returns a failed run with the failures of a summary.
func failed(s events.Summary) *common.Run {
	r := &common.Run{Reason: ReasonTaskFailed, Hosts: &s.Totals, Failures: s.Failures}
	if s.Totals.Failed == 0 {
		r.Reason = common.ReasonHostUnreachable
	}

	return r
}

// ranFull is true for a run that ended because the disk was full, without an event about it.
func ranFull(e ending) bool {
	return e.code != 0 && e.cause == nil && len(e.summary.Failures) == 0 && galaxy.SaysFull(e.text+e.warnings)
}

// withLeft adds to a message that processes are left, if err is supervisor.ErrLeft.
func withLeft(message string, err error) string {
	if !errors.Is(err, supervisor.ErrLeft) {
		return message
	}

	return message + "; " + supervisor.ErrLeft.Error()
}

func isOutOfMemory(err error) bool {
	return errors.As(err, new(*supervisor.MemoryError))
}
