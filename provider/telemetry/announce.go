package telemetry

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// Reasons of events.
const (
	// ReasonRunStarted says that a run has begun, and why.
	ReasonRunStarted event.Reason = "RunStarted"
	// ReasonRunSucceeded says that a run completed without a failure.
	ReasonRunSucceeded event.Reason = "RunSucceeded"
	// ReasonDriftCorrected says that a periodic run corrected drift.
	ReasonDriftCorrected event.Reason = "DriftCorrected"
	// ReasonDriftDetected says that a check run found drift: differences from the applied state.
	ReasonDriftDetected event.Reason = "DriftDetected"
	// ReasonChangesPredicted says what an apply of new inputs would change.
	ReasonChangesPredicted event.Reason = "ChangesPredicted"
	// ReasonContentInstalled says which collections and roles runs use from now on.
	ReasonContentInstalled event.Reason = "ContentInstalled"
	// ReasonNothingRemoved says that the deletion of an object ran nothing, since its content does not use the state.
	ReasonNothingRemoved event.Reason = "NothingRemoved"
	// ReasonRunFailed says why a run failed.
	ReasonRunFailed event.Reason = "RunFailed"
	// ReasonRunTimedOut says that a run took too long.
	ReasonRunTimedOut event.Reason = "RunTimedOut"
	// ReasonRunCanceled says that a run was ended because it was not wanted any more.
	ReasonRunCanceled event.Reason = "RunCanceled"
	// ReasonRunInterrupted says that the provider ended during a run.
	ReasonRunInterrupted event.Reason = "RunInterrupted"
	// ReasonRetriesExhausted says that a run is not retried.
	ReasonRetriesExhausted event.Reason = "RetriesExhausted"
)

const (
	// maxItems is how many items an event lists.
	maxItems = 5
	// maxMessage is the length of an event's message, in bytes.
	maxMessage = 1 << 10
)

// announce returns the events of a run that has ended. A periodic run that ended like the run before has none, nor has
// a retry that failed as before.
func announce(run runs.Run, r runs.Report, took time.Duration) []event.Event {
	var es []event.Event

	if news := installed(run, r); news != "" {
		es = append(es, event.Normal(ReasonContentInstalled, clip.Text(news, maxMessage)))
	}

	if r.Run.Phase == common.PhaseSucceeded {
		return append(es, succeeded(run, r, took)...)
	}

	if !failedBefore(run, r) {
		es = append(es, failed(r, took))
	}

	if exhausted(run, r) {
		es = append(es, warning(ReasonRetriesExhausted,
			"%s run, gave up after attempt %d of %d: %s",
			kind(r.Run), r.Attempt, *run.Inputs.Parameters.RetryLimit, r.Run.Message))
	}

	return es
}

func succeeded(run runs.Run, r runs.Report, took time.Duration) []event.Event {
	changed := changes(r.Run)

	switch {
	case !news(run, r):
		return nil
	case r.Run.Reason == runs.ReasonStateIgnored:
		return []event.Event{warning(ReasonNothingRemoved, "%s run removed nothing: %s", kind(r.Run), r.Run.Message)}
	case r.Run.Mode == common.ModeCheck && changed > 0 && r.Run.InputsDigest == run.Before.Applied:
		return []event.Event{warning(ReasonDriftDetected, "%s would put right what has drifted: %s",
			count(changed), tasks(r))}
	case r.Run.Mode == common.ModeCheck && changed > 0:
		return []event.Event{normal(ReasonChangesPredicted, "%s would change something: %s", count(changed), tasks(r))}
	case (r.Run.Trigger == common.TriggerPoll || r.Run.Trigger == common.TriggerDependents) && changed > 0:
		return []event.Event{normal(ReasonDriftCorrected, "%s put right what had drifted: %s", count(changed), tasks(r))}
	}

	return []event.Event{normal(ReasonRunSucceeded, "%s run succeeded in %s: %s", kind(r.Run), duration(took),
		recap(totals(r.Run)))}
}

// news is true for a successful run that is not periodic, and for a periodic run that ended in another way than the run
// before.
func news(run runs.Run, r runs.Report) bool {
	before, changed := run.Before.Run, changes(r.Run)

	switch {
	case r.Run.Trigger != common.TriggerPoll, before == nil:
		return true
	case before.Reason == runs.ReasonNotStarted && r.Run.Mode == common.ModeApply:
		return changed > 0
	case unsuccessful(before.Phase) && before.Reason != runs.ReasonNotStarted:
		return true
	case r.Run.Mode == common.ModeCheck:
		return !sameDrift(run.Before.Drift, changed, r.Changed)
	case before.Mode == common.ModeCheck:
		return changed > 0
	}

	// Content that is not idempotent changes as much every time.
	return changed > changes(*before)
}

// sameDrift is true when a check run has found the known drift, or none if none was known.
func sameDrift(d *common.Drift, changed int64, tasks []common.DriftTask) bool {
	if d == nil || changed == 0 {
		return d == nil && changed == 0
	}

	return d.Changed == changed && slices.EqualFunc(d.Tasks, tasks, func(a, b common.DriftTask) bool {
		return a.Task == b.Task && a.Host == b.Host
	})
}

// failedBefore is true for a periodic run or a retry that failed like the run before: for the same reason, and either
// in the same task on the same host or with the same gist of the message. Messages often contain random paths.
func failedBefore(run runs.Run, r runs.Report) bool {
	before := run.Before.Run
	again := r.Run.Trigger == common.TriggerPoll || r.Run.Trigger == common.TriggerRetry ||
		r.Run.Trigger == common.TriggerDeleted && r.Attempt > 1

	return again && before != nil && before.Mode == r.Run.Mode && before.State == r.Run.State &&
		before.Phase == r.Run.Phase && before.Reason == r.Run.Reason &&
		(sameTask(before.Failures, r.Run.Failures) || common.Gist(before.Message) == common.Gist(r.Run.Message))
}

// sameTask is true if the same task failed on the same host in both runs.
func sameTask(before, now []common.Failure) bool {
	return slices.ContainsFunc(now, func(f common.Failure) bool {
		return !f.Rescued && slices.ContainsFunc(before, func(b common.Failure) bool {
			return !b.Rescued && b.Task == f.Task && b.Host == f.Host
		})
	})
}

func failed(r runs.Report, took time.Duration) event.Event {
	reason := ReasonRunFailed

	switch r.Run.Phase {
	case common.PhaseCanceled:
		return normal(ReasonRunCanceled, "%s run was ended after %s: %s", kind(r.Run), duration(took), r.Run.Message)
	case common.PhaseTimedOut:
		reason = ReasonRunTimedOut
	case common.PhaseInterrupted:
		reason = ReasonRunInterrupted
	case common.PhaseFailed, common.PhaseSucceeded, common.PhaseQueued, common.PhaseInstalling, common.PhaseRunning:
	}

	return warning(reason, "%s run, attempt %d: %s", kind(r.Run), r.Attempt, r.Run.Message)
}

// exhausted is true for the last attempt that the retry limit allows. A canceled or interrupted run is no attempt.
func exhausted(run runs.Run, r runs.Report) bool {
	limit := run.Inputs.Parameters.RetryLimit
	counts := r.Run.Phase == common.PhaseFailed || r.Run.Phase == common.PhaseTimedOut

	return counts && r.Run.Mode == common.ModeApply && limit != nil && *limit > 0 && r.Attempt >= int64(*limit)
}

// installed lists the collections, the roles and the project that a run used; empty if they are the same as before.
func installed(run runs.Run, r runs.Report) string {
	c := r.Content
	was := ptr.Deref(run.Before.Content, common.Content{})

	if c == nil || c.Digest == "" ||
		slices.Equal(c.Collections, was.Collections) && slices.Equal(c.Roles, was.Roles) &&
			ptr.Equal(c.Project, was.Project) {
		return ""
	}

	items := make([]string, 0, 1+len(c.Collections)+len(c.Roles))
	if c.Project != nil {
		items = append(items, c.Project.Name+" "+c.Project.Version)
	}

	for _, i := range slices.Concat(c.Collections, c.Roles) {
		items = append(items, strings.TrimSpace(i.Name+" "+i.Version))
	}

	return strings.Join(items, ", ")
}

// tasks lists the first tasks that changed something.
func tasks(r runs.Report) string {
	items := make([]string, 0, maxItems)
	for _, t := range r.Changed[:min(len(r.Changed), maxItems)] {
		items = append(items, fmt.Sprintf("%q on host %q", t.Task, t.Host))
	}

	text := strings.Join(items, ", ")
	if more := changes(r.Run) - int64(len(items)); more > 0 {
		text = fmt.Sprintf("%s, and %d more", text, more)
	}

	return text
}

// unsuccessful is true for a run that has ended without success.
func unsuccessful(p common.RunPhase) bool { return p.Finished() && p != common.PhaseSucceeded }

func changes(r common.Run) int64 { return totals(r).Changed }

func totals(r common.Run) common.HostTotals { return ptr.Deref(r.Hosts, common.HostTotals{}) }

// kind returns the kind of a run in a word: check, present or absent.
func kind(r common.Run) string {
	if r.Mode == common.ModeCheck {
		return "check"
	}

	return string(r.State)
}

func count(tasks int64) string {
	if tasks == 1 {
		return "1 task"
	}

	return fmt.Sprintf("%d tasks", tasks)
}

// recap returns the counts of a run in Ansible's words.
func recap(h common.HostTotals) string {
	return fmt.Sprintf("ok=%d changed=%d unreachable=%d failed=%d skipped=%d rescued=%d ignored=%d",
		h.OK, h.Changed, h.Unreachable, h.Failed, h.Skipped, h.Rescued, h.Ignored)
}

func duration(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }

func normal(r event.Reason, format string, args ...any) event.Event {
	return event.Normal(r, clip.Text(fmt.Sprintf(format, args...), maxMessage))
}

func warning(r event.Reason, format string, args ...any) event.Event {
	return event.Warning(r, errors.New(clip.Text(fmt.Sprintf(format, args...), maxMessage)))
}
