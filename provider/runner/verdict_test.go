package runner

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

func TestVerdict(t *testing.T) {
	done := events.Summary{Play: "p", Task: "t", Tasks: 1, Finished: true, Processed: 1}
	with := func(f func(*events.Summary)) events.Summary {
		s := done
		f(&s)

		return s
	}
	failures := []common.Failure{{Task: "t", Host: "h", Message: "the reason"}}

	for name, tc := range map[string]struct {
		reason  string
		timeout *metav1.Duration
		tags    []string
		mode    common.RunMode
		state   common.RunState
		ending  ending
		want    Result
	}{
		"SucceededBeforeCanceled": {
			reason: "A run that was canceled after it had completed all plays has succeeded.",
			ending: ending{summary: done, cause: context.Canceled},
			want:   Result{Phase: common.PhaseSucceeded},
		},
		"TooLarge": {
			reason: "A run that exceeds its disk space fails.",
			ending: ending{summary: events.Summary{Play: "p", Task: "t", Tasks: 1}, code: 143, cause: &workdir.SizeError{Limit: 10 << 30}},
			want:   failing(ReasonRunTooLarge, `wrote more than 10Gi below its private directory, the limit of a run, during task "t" of play "p"`),
		},
		"InvalidOutput": {
			reason: "A run with an output that a status cannot hold fails.",
			ending: ending{summary: with(func(s *events.Summary) { s.InvalidOutput = `output "x" cannot be kept: why` })},
			want:   failing(ReasonInvalidOutputs, `output "x" cannot be kept: why`),
		},
		"OutputsTooLarge": {
			reason: "A run with too many outputs fails.",
			ending: ending{summary: with(func(s *events.Summary) { s.OutputsSize = 70008 })},
			want:   failing(ReasonOutputsTooLarge, "the content published 70008 bytes of outputs; at most 65536 can be kept"),
		},
		"TooManyDetails": {
			reason: "A run with connection details that cannot be redacted elsewhere fails.",
			ending: ending{summary: with(func(s *events.Summary) { s.ExcessDetails = true })},
			want:   failing(ReasonInvalidConnectionDetails, "the content published a connection detail of 262144 characters or more, more than 4194304 bytes of connection details, "+"or too many values, counting each change; nothing is shown of the run since then"),
		},
		"TooManyConditions": {
			reason: "A run with too many conditions fails.",
			ending: ending{summary: with(func(s *events.Summary) { s.Report.Excess = true })},
			want:   failing(ReasonTooManyConditions, "the content reported more than 20 types of conditions, which cannot be kept"),
		},
		"NoPlays": {
			reason: "A run without a play fails.",
			ending: ending{summary: with(func(s *events.Summary) { s.Processed, s.Play = 0, "" }), warnings: "ignoring: nobody"},
			want:   failing(ReasonNoHostsMatched, "no host matched, so that nothing was done: ignoring: nobody"),
		},
		"NoHostsWithTags": {
			reason: "With tags, another play may have had hosts, and no task with the tags.",
			tags:   []string{"x"},
			ending: ending{summary: with(func(s *events.Summary) { s.Processed, s.Unmatched = 0, true })},
			want:   failing(ReasonNoHostsMatched, "no host matched, or no task has the tags"),
		},
		"FactsOnly": {
			reason: "Without tags, a run may gather facts only.",
			ending: ending{summary: with(func(s *events.Summary) { s.Tasks = 0 })},
			want:   Result{Phase: common.PhaseSucceeded},
		},
		"OutputsOfAbsent": {
			reason: "A deletion publishes nothing: invalid outputs, which are not kept, must not block it.",
			state:  common.StateAbsent,
			ending: ending{summary: with(func(s *events.Summary) { s.OutputsSize, s.ConnectionDetails = 70000, json.RawMessage(`"x"`) })},
			want:   Result{Phase: common.PhaseSucceeded},
		},
		"OutputsOfCheck": {
			reason: "A check publishes nothing.",
			mode:   common.ModeCheck,
			ending: ending{summary: with(func(s *events.Summary) { s.OutputsSize, s.ConnectionDetails = 70000, json.RawMessage(`"x"`) })},
			want:   Result{Phase: common.PhaseSucceeded},
		},
		"TaskFailed": {
			reason: "The message has the first failure.",
			ending: ending{code: 2, summary: with(func(s *events.Summary) {
				s.Failures, s.Totals = failures, common.HostTotals{Failed: 3}
			})},
			want: failing(ReasonTaskFailed, `task "t" failed on host "h": the reason (and 2 more)`),
		},
		"Rescued": {
			reason: "The first line names a failure that was rescued before. Equal failures of several hosts count as one.",
			ending: ending{code: 2, summary: with(func(s *events.Summary) {
				s.Totals = common.HostTotals{Failed: 4, Rescued: 1}
				s.Failures = []common.Failure{
					{Task: "Copy", Host: "a", Message: "No space left on device: '/tmp/tmpx8/a'\nmore", Rescued: true},
					{Task: "Give up", Host: "a", Message: "cannot install: /tmp/tmpx8\nmore"},
					{Task: "Give up", Host: "b", Message: "cannot install: /tmp/tmpz2"},
					{Task: "Give up", Host: "c", Message: "cannot install: /tmp/tmpy5"},
					{Task: "Give up", Host: "d", Message: "cannot remove"},
				}
			})},
			want: failing(ReasonTaskFailed, `task "Give up" failed on hosts "a", "b" and 1 more: cannot install: /tmp/tmpx8; before, `+`task "Copy" failed and was rescued: No space left on device: '/tmp/tmpx8/a' (and 1 more)`+"\nmore"),
		},
		"UnreachableHosts": {
			reason: "The message names several hosts.",
			ending: ending{code: 4, summary: with(func(s *events.Summary) {
				s.Failures = []common.Failure{{Host: "a", Message: "the reason"}, {Host: "b", Message: "the reason"}}
				s.Totals = common.HostTotals{Unreachable: 2}
			})},
			want: failing(common.ReasonHostUnreachable, `hosts "a" and "b" are unreachable: the reason`),
		},
		"DeadWorker": {
			reason: "Ansible does not report why a worker has ended. The usual cause is memory.",
			ending: ending{code: 1, text: "A worker was found in a dead state", summary: events.Summary{Play: "p", Task: "t"}},
			want:   failing(ReasonPlaybookError, `a process of the play was ended during task "t" of play "p"; it may have taken more memory than a process may have`),
		},
		"NoPlaybook": {
			reason: "Ansible's error for a missing playbook is the one for a missing file of a module.",
			ending: ending{code: 1, text: "Unable to retrieve file contents.\nCould not find or access 'acme.web.site' on the Ansible Controller.\n" +
				"If you are using a module and expect the file to exist on the remote, see the remote_src option"},
			want: failing(ReasonPlaybookError, "the playbook 'acme.web.site' was not found"),
		},
		"NoFile": {
			reason: "The error for other files than the playbook does not change.",
			ending: ending{code: 1, text: "Could not find or access 'vars.yml' on the Ansible Controller."},
			want:   failing(ReasonPlaybookError, "Could not find or access 'vars.yml' on the Ansible Controller."),
		},
		"Silent": {
			reason: "A result always has a message.",
			ending: ending{code: 137},
			want:   failing(ReasonPlaybookError, "ansible-runner ended with exit status 137 without saying why"),
		},
		"Unfinished": {
			reason: "Without final statistics, a run has failed.",
			ending: ending{summary: events.Summary{Play: "p"}, text: "some text"},
			want:   failing(ReasonPlaybookError, "some text"),
		},
		"TimedOutEarly": {
			reason:  "The message names the flag that has shortened the timeout.",
			timeout: &metav1.Duration{Duration: time.Hour},
			ending:  ending{code: 143, cause: errTimedOut},
			want: Result{
				Phase: common.PhaseTimedOut, Reason: ReasonTimedOut,
				Message: "timed out after 1m0s (the longest that the provider's --max-timeout allows) before the first task",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := Spec{
				Timeout: time.Minute, Mode: tc.mode, State: tc.state,
				Inputs: inputs.Inputs{Parameters: common.AnsibleRunParameters{Tags: tc.tags, Playbook: "acme.web.site", Timeout: tc.timeout}},
			}

			got := verdict(run, tc.ending)
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(Result{}, "Summary")); diff != "" {
				t.Errorf("%s\nverdict(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestWithLeft has results with processes that cannot be killed.
func TestWithLeft(t *testing.T) {
	left := errors.Wrap(supervisor.ErrLeft, "cannot run it")

	for err, want := range map[error]string{
		nil:                      "timed out",
		errors.New("some other"): "timed out",
		left:                     "timed out; some of its processes were killed and do not end: the machine may wait for a disk that does not answer",
	} {
		if diff := cmp.Diff(want, withLeft("timed out", err)); diff != "" {
			t.Errorf("withLeft(%v): -want, +got:\n%s", err, diff)
		}
	}
}

func TestUntouched(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		ending ending
		want   bool
	}{
		"NotLoaded": {"No task has begun.", ending{code: 4, text: "no such role"}, true},
		"Silent":    {"The run has no error text.", ending{code: 137}, true},
		"Play":      {"A play has begun, but no task.", ending{code: 1, summary: events.Summary{Play: "p"}}, true},
		"NoTasks":   {"The play has no tasks.", ending{summary: events.Summary{Play: "p", Finished: true}}, true},
		"Task":      {"A task that has begun may have changed something.", ending{code: 2, summary: events.Summary{Started: true}}, false},
		"Ended":     {"The last events of a run that was ended are lost.", ending{code: 143, cause: errTimedOut}, false},
		"Lost":      {"The statistics are missing, so that events are lost.", ending{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := untouched(tc.ending); got != tc.want {
				t.Errorf("%s\nuntouched(...): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
