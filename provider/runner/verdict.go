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

// errTimedOut is the cause with which a run ends that took too long.
var errTimedOut = errors.New("timed out")

// An ending is what is known when the processes of a run have ended.
type ending struct {
	// summary of the events.
	summary events.Summary
	// code is the exit status.
	code int
	// cause is why the processes were ended; nil if they ended by themselves.
	cause error
	// text and warnings that were written beside the events.
	text, warnings string
}

// noHosts is what Ansible says when a limit leaves no host of an inventory. It then ends before the first play.
// Source: CLI.get_host_list of ansible-core.
const noHosts = "Specified inventory, host pattern and/or --limit leaves us with no hosts to target"

// unmatched is the message of a run that has no host.
const unmatched = "no host matched, so that nothing was done"

// deadWorker is what Ansible says when the process of a task was killed.
const deadWorker = "A worker was found in a dead state"

// verdict returns the result of an ending. A run that has carried out everything has
// succeeded, even if its processes were ended right after that.
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

// untouched is true when no task of a run has begun, so that it has changed nothing. What a run has told last is lost
// when it is ended, or when it ends with success and without its statistics: then nothing is certain.
func untouched(e ending) bool {
	return !e.summary.Started && e.cause == nil && (e.code != 0 || e.summary.Finished)
}

// tagged is true for a run of the tasks with some tags only.
func tagged(run Spec) bool {
	return len(run.Inputs.Parameters.Tags)+len(run.Inputs.Parameters.SkipTags) > 0
}

// idle is true if Ansible has processed no host, and not because the plays have no tasks: of such a play it counts no
// hosts, and does not say that none matched.
func idle(run Spec, s events.Summary) bool {
	return s.Processed == 0 && (s.Unmatched || s.Play == "" || tagged(run))
}

// accomplished judges a run that Ansible has ended as a success. Ansible does so, too, when no
// host or no task matched.
func accomplished(run Spec, e ending) Result {
	s := e.summary

	switch {
	case idle(run, s) && tagged(run):
		return failing(ReasonNoHostsMatched, "no host matched, or no task has the tags"+suffix(e.warnings))
	case idle(run, s):
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

// failing is the result of a run that has failed.
func failing(reason, message string) Result {
	return Result{Phase: common.PhaseFailed, Reason: reason, Message: message}
}

// publishes is true for runs of which the outputs and connection details are kept.
func publishes(run Spec) bool {
	return run.Mode != common.ModeCheck && run.State != common.StateAbsent
}

// failed is a run that failed with the failures of a summary.
func failed(s events.Summary) *common.Run {
	r := &common.Run{Reason: ReasonTaskFailed, Hosts: &s.Totals, Failures: s.Failures}
	if s.Totals.Failed == 0 {
		r.Reason = common.ReasonHostUnreachable
	}

	return r
}

// ranFull is true for a run that ended since the disk was full, without an event that says
// so.
func ranFull(e ending) bool {
	return e.code != 0 && e.cause == nil && len(e.summary.Failures) == 0 && galaxy.SaysFull(e.text+e.warnings)
}

// withLeft adds to a message that processes are left, if the error says so.
func withLeft(message string, err error) string {
	if !errors.Is(err, supervisor.ErrLeft) {
		return message
	}

	return message + "; " + supervisor.ErrLeft.Error()
}

func isOutOfMemory(err error) bool {
	return errors.As(err, new(*supervisor.MemoryError))
}
