package telemetry

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// ended is a run that has ended in some way.
func ended(mode common.RunMode, trigger common.RunTrigger, phase common.RunPhase, os ...func(*common.Run)) common.Run {
	r := common.Run{ID: "1", Mode: mode, State: common.StatePresent, Trigger: trigger, Phase: phase, InputsDigest: "now", Hosts: &common.HostTotals{OK: 2}}
	for _, o := range os {
		o(&r)
	}

	return r
}

func applied(trigger common.RunTrigger, phase common.RunPhase, os ...func(*common.Run)) common.Run {
	return ended(common.ModeApply, trigger, phase, os...)
}

func checked(trigger common.RunTrigger, phase common.RunPhase, os ...func(*common.Run)) common.Run {
	return ended(common.ModeCheck, trigger, phase, os...)
}

func changing(n int64) func(*common.Run) {
	return func(r *common.Run) { r.Hosts.Changed = n }
}

func because(message string) func(*common.Run) {
	return func(r *common.Run) { r.Reason, r.Message = "TaskFailed", message }
}

// full is a run that failed because the disk of a host is full.
func full(host, path string) common.Run {
	return applied(common.TriggerRetry, common.PhaseFailed, because(host+" is full: "+path), func(r *common.Run) {
		r.Failures = []common.Failure{{Task: "Install", Host: host, Message: path}}
	})
}

// rescued is a run with a rescued failure, and another failure.
func rescued(task string) common.Run {
	return applied(common.TriggerRetry, common.PhaseFailed, because(task), func(r *common.Run) {
		r.Failures = []common.Failure{{Task: "Install", Host: "db", Rescued: true}, {Task: task, Host: "db"}}
	})
}

func notStarted(r *common.Run) { r.Reason = runs.ReasonNotStarted }

func absent(r *common.Run) { r.State = common.StateAbsent }

func TestAnnounce(t *testing.T) {
	page := []common.DriftTask{{Task: "Write the page", Host: "web1"}}
	site := []common.ContentItem{{Name: "acme.site", Version: "1.0.0"}}
	known := &common.Content{Digest: "abc", Collections: site}

	succeeded := event.Normal(ReasonRunSucceeded, "present run succeeded in 1.5s: ok=2 changed=0 unreachable=0 failed=0 skipped=0 rescued=0 ignored=0")
	failed := func(r event.Reason, text string) event.Event {
		return event.Event{Type: event.TypeWarning, Reason: r, Message: text, Annotations: map[string]string{}}
	}
	failure := func(text string) event.Event { return failed(ReasonRunFailed, text) }

	drift := &common.Drift{Changed: 1, Tasks: page}
	good := applied(common.TriggerCreated, common.PhaseSucceeded)
	wrong := applied(common.TriggerRetry, common.PhaseFailed, because("no"))

	for name, tc := range map[string]struct {
		reason  string
		before  runs.Before
		run     common.Run
		changed []common.DriftTask
		content *common.Content
		attempt int64
		limit   int32
		want    []event.Event
	}{
		"First": {
			reason:  "The first run should be announced, with its content.",
			run:     applied(common.TriggerCreated, common.PhaseSucceeded),
			content: &common.Content{Digest: "abc", Collections: site, Roles: []common.ContentItem{{Name: "acme.base"}}},
			want:    []event.Event{event.Normal(ReasonContentInstalled, "acme.site 1.0.0, acme.base"), succeeded},
		},
		"NothingRemoved": {
			reason: "A deletion run that removed nothing, since the content does not use the state, should have a warning.",
			run: applied(common.TriggerDeleted, common.PhaseSucceeded, absent, func(r *common.Run) {
				r.Reason, r.Message = runs.ReasonStateIgnored, "nothing was run"
			}),
			want: []event.Event{failed(ReasonNothingRemoved, "absent run removed nothing: nothing was run")},
		},
		"SameContent": {
			reason: "Content that the object used before should not be announced.",
			before: runs.Before{Run: &good, Content: known}, run: applied(common.TriggerChanged, common.PhaseSucceeded),
			content: &common.Content{Digest: "other", Collections: site},
			want:    []event.Event{succeeded},
		},
		"NewVersion": {
			reason:  "A new version should be announced, also at a periodic run.",
			before:  runs.Before{Run: &good, Content: known},
			run:     applied(common.TriggerPoll, common.PhaseSucceeded),
			content: &common.Content{Digest: "abc", Collections: []common.ContentItem{{Name: "acme.site", Version: "1.0.1"}}},
			want:    []event.Event{event.Normal(ReasonContentInstalled, "acme.site 1.0.1")},
		},
		"Poll": {
			reason: "A periodic run that found everything as it was should not be announced.",
			before: runs.Before{Run: &good}, run: applied(common.TriggerPoll, common.PhaseSucceeded),
		},
		"PollNotIdempotent": {
			reason: "A periodic run that changed as much as the one before should not be announced.",
			before: runs.Before{Run: new(applied(common.TriggerPoll, common.PhaseSucceeded, changing(1)))},
			run:    applied(common.TriggerPoll, common.PhaseSucceeded, changing(1)), changed: page,
		},
		"DriftCorrected": {
			reason: "A periodic run that changed something should be announced with its tasks.",
			before: runs.Before{Run: &good}, run: applied(common.TriggerPoll, common.PhaseSucceeded, changing(3)), changed: page,
			want: []event.Event{event.Normal(ReasonDriftCorrected, `3 tasks put right what had drifted: "Write the page" on host "web1", and 2 more`)},
		},
		"DriftCorrectedAfterCheck": {
			reason: "A periodic apply after a check run should be announced, although the check predicted as many changes.",
			before: runs.Before{Run: new(checked(common.TriggerPoll, common.PhaseSucceeded, changing(1))), Drift: drift},
			run:    applied(common.TriggerPoll, common.PhaseSucceeded, changing(1)), changed: page,
			want: []event.Event{event.Normal(ReasonDriftCorrected, `1 task put right what had drifted: "Write the page" on host "web1"`)},
		},
		"DriftDetected": {
			reason: "Changes that a check run of applied inputs predicts should be announced as drift.",
			before: runs.Before{Run: &good, Applied: "now"},
			run:    checked(common.TriggerPoll, common.PhaseSucceeded, changing(1)), changed: page,
			want: []event.Event{failed(ReasonDriftDetected, `1 task would put right what has drifted: "Write the page" on host "web1"`)},
		},
		"DriftStill": {
			reason: "Known drift should not be announced again.",
			before: runs.Before{Run: new(checked(common.TriggerPoll, common.PhaseSucceeded, changing(1))), Applied: "now", Drift: drift},
			run:    checked(common.TriggerPoll, common.PhaseSucceeded, changing(1)), changed: page,
		},
		"DriftElsewhere": {
			reason: "Drift of another task should be announced.",
			before: runs.Before{Run: new(checked(common.TriggerPoll, common.PhaseSucceeded, changing(1))), Applied: "now", Drift: drift},
			run:    checked(common.TriggerPoll, common.PhaseSucceeded, changing(1)), changed: []common.DriftTask{{Task: "Write the page", Host: "web2"}},
			want: []event.Event{failed(ReasonDriftDetected, `1 task would put right what has drifted: "Write the page" on host "web2"`)},
		},
		"DriftGone": {
			reason: "Drift that has gone without a run should be announced.",
			before: runs.Before{Run: new(checked(common.TriggerPoll, common.PhaseSucceeded, changing(1))), Applied: "now", Drift: drift},
			run:    checked(common.TriggerPoll, common.PhaseSucceeded),
			want:   []event.Event{event.Normal(ReasonRunSucceeded, "check run succeeded in 1.5s: ok=2 changed=0 unreachable=0 failed=0 skipped=0 rescued=0 ignored=0")},
		},
		"NoDrift": {
			reason: "A periodic check run that finds nothing should not be announced.",
			before: runs.Before{Run: new(checked(common.TriggerPoll, common.PhaseSucceeded)), Applied: "now"},
			run:    checked(common.TriggerPoll, common.PhaseSucceeded),
		},
		"Predicted": {
			reason: "Changes that a check run of new inputs predicts are no drift.",
			before: runs.Before{Run: &good, Applied: "before"},
			run:    checked(common.TriggerChanged, common.PhaseSucceeded, changing(1)), changed: page,
			want: []event.Event{event.Normal(ReasonChangesPredicted, `1 task would change something: "Write the page" on host "web1"`)},
		},

		"FailedAgainElsewhere": {
			reason: "A failed task with another random path in its message should not be announced again.",
			before: runs.Before{Run: new(full("db", "cannot write to tmp_hx"))}, run: full("db", "cannot write to tmp_yk"), attempt: 2,
		},
		"FailedOtherwiseRescuedAlike": {
			reason: "Two failures are not the same because of an equal rescued failure.",
			before: runs.Before{Run: new(rescued("Start"))}, run: rescued("Stop"), attempt: 2,
			want: []event.Event{failure("present run, attempt 2: Stop")},
		},
		"FailedAgainInText": {
			reason: "A failure without a failed task, with another random path, should not be announced again.",
			before: runs.Before{Run: new(applied(common.TriggerRetry, common.PhaseFailed, because("disk full: '/tmp/hx'")))},
			run:    applied(common.TriggerRetry, common.PhaseFailed, because("disk full: '/tmp/yk'")), attempt: 2,
		},
		"FailedOnOtherHost": {
			reason: "The same failure on another host should be announced.",
			before: runs.Before{Run: new(full("db", "/tmp/a"))}, run: full("web", "/tmp/b"), attempt: 2,
			want: []event.Event{failure("present run, attempt 2: web is full: /tmp/b")},
		},

		"FailedOnRequest": {
			reason: "A requested run should be announced, however it ended.",
			before: runs.Before{Run: &wrong}, run: applied(common.TriggerRequested, common.PhaseFailed, because("no")), attempt: 3,
			want: []event.Event{failure("present run, attempt 3: no")},
		},
		"Exhausted": {
			reason: "The last attempt should be announced, also when it failed as before.",
			before: runs.Before{Run: &wrong}, run: wrong, attempt: 2, limit: 2,
			want: []event.Event{failed(ReasonRetriesExhausted, "present run, gave up after attempt 2 of 2: no")},
		},
		"AfterNotStarted": {
			reason: "A periodic run should not be announced because the run before did not begin.",
			before: runs.Before{Run: new(applied(common.TriggerPoll, common.PhaseCanceled, notStarted))},
			run:    applied(common.TriggerPoll, common.PhaseSucceeded),
		},
		"CheckAfterNotStarted": {
			reason: "A check run with known drift should not be announced because the run before did not begin.",
			before: runs.Before{Run: new(checked(common.TriggerPoll, common.PhaseCanceled, notStarted)), Applied: "now", Drift: drift},
			run:    checked(common.TriggerPoll, common.PhaseSucceeded, changing(1)), changed: page,
		},
		"Recovered": {
			reason: "A successful periodic run after a failed run should be announced.",
			before: runs.Before{Run: &wrong}, run: applied(common.TriggerPoll, common.PhaseSucceeded),
			want: []event.Event{succeeded},
		},
		"CheckFailed": {
			reason: "A check run that failed should be announced, and is no attempt.",
			before: runs.Before{Run: &good}, run: checked(common.TriggerPoll, common.PhaseFailed, because("no")), limit: 1,
			want: []event.Event{failure("check run, attempt 1: no")},
		},
		"DeletionFailedAgain": {
			reason: "A retried deletion should not be announced if it fails as before.",
			before: runs.Before{Run: new(applied(common.TriggerDeleted, common.PhaseFailed, because("no"), absent))},
			run:    applied(common.TriggerDeleted, common.PhaseFailed, because("no"), absent), attempt: 2,
		},
		"DeletionFailedAsPresentRun": {
			reason: "A first deletion run should be announced even if it fails as the run before.",
			before: runs.Before{Run: &wrong}, run: applied(common.TriggerDeleted, common.PhaseFailed, because("no"), absent),
			want: []event.Event{failure("absent run, attempt 1: no")},
		},
		"TimedOut": {
			reason: "A run that took too long should have a reason of its own.",
			before: runs.Before{Run: &good}, run: applied(common.TriggerPoll, common.PhaseTimedOut, because("timed out after 20m")),
			want: []event.Event{failed(ReasonRunTimedOut, "present run, attempt 1: timed out after 20m")},
		},
		"InterruptedAtLimit": {
			reason: "An interrupted run is no attempt, and so not the last one.",
			run:    applied(common.TriggerPoll, common.PhaseInterrupted, because("the provider ended")), attempt: 2, limit: 2,
			want: []event.Event{failed(ReasonRunInterrupted, "present run, attempt 2: the provider ended")},
		},
		"Canceled": {
			reason: "A canceled run should have a normal event.",
			run:    applied(common.TriggerPoll, common.PhaseCanceled, because("canceled")),
			want:   []event.Event{event.Normal(ReasonRunCanceled, "present run was ended after 1.5s: canceled")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := runs.Run{Before: tc.before}
			if tc.limit > 0 {
				j.Inputs.Parameters.RetryLimit = &tc.limit
			}

			r := runs.Report{Run: tc.run, Attempt: max(tc.attempt, 1), Content: tc.content, Changed: tc.changed}

			got := announce(j, r, 1500*time.Millisecond)
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("\n%s\nannounce(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestAnnounceBounded(t *testing.T) {
	r := runs.Report{Run: applied(common.TriggerCreated, common.PhaseFailed, because(strings.Repeat("é", maxMessage))), Attempt: 1}

	for _, e := range announce(runs.Run{}, r, time.Second) {
		if len(e.Message) > maxMessage || !strings.HasSuffix(e.Message, "é…") {
			t.Errorf("A message should be cut to %d bytes between characters, got %d: …%q", maxMessage, len(e.Message), e.Message[len(e.Message)-8:])
		}
	}
}
