package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/composite"
	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
	"github.com/crossplane-ansible/crossplane-ansible/function/observed"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// Reasons of the condition AnsibleRunsReady and of events, beside those of runs.
const (
	// ReasonAvailable means that all runs are ready.
	ReasonAvailable = "Available"
	// ReasonRemoved is the reason of events about removed runs.
	ReasonRemoved = "RunsRemoved"
)

// Limits of the messages of conditions and events, in bytes.
const (
	maxMessage = 4 << 10
	maxEvent   = 1 << 10
)

// maxUncounted is the largest number of runs without a tally in the message of the condition. The lines of more runs
// may not all fit.
const maxUncounted = 10

// Invalid reports mistakes in the input as one Fatal result with a line for each, since core shows only the first Fatal
// result.
func Invalid(rsp *fnv1.RunFunctionResponse, errs field.ErrorList) {
	lines := make([]string, 0, len(errs))

	errs = slices.Clone(errs)
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })

	for _, err := range errs {
		if s := err.Error(); !slices.Contains(lines, s) {
			lines = append(lines, s)
		}
	}

	message := strings.Join(lines, "\n")
	fatal(rsp, ansiblerun.ReasonInvalidInput, "the input of function-ansible in the Composition is invalid:\n"+message,
		"invalid input:\n"+message)
}

// TooLarge reports that a response is larger than core can receive, with both sizes in bytes. rsp must be empty.
func TooLarge(rsp *fnv1.RunFunctionResponse, size, limit int) {
	const mebi = 1 << 20

	message := fmt.Sprintf(
		"the desired state is %.1f MiB large, and Crossplane receives %d MiB at most: compose fewer or smaller AnsibleRuns "+
			"in one XR", float64(size)/mebi, limit/mebi)
	fatal(rsp, ansiblerun.ReasonTooLarge, message, message)
}

// fatal adds the condition AnsibleRunsReady and a Fatal result to a response.
func fatal(rsp *fnv1.RunFunctionResponse, reason, condition, result string) {
	response.ConditionFalse(rsp, ansiblerun.TypeAnsibleRunsReady, reason).
		WithMessage(clip.Text(condition, maxMessage)).
		TargetCompositeAndClaim()

	response.Fatal(rsp, errors.New(result))
}

// severity returns the reasons of runs that are not ready, the most severe first. The last two do not keep the XR from
// being ready.
func severity() []desired.Reason {
	return []desired.Reason{
		desired.InvalidValue, desired.ValueNotSet, desired.OutputWithheld, desired.RunFailed, desired.ReconcileError,
		desired.RemovalHeld, desired.Rejected, desired.AwaitingApproval, desired.Paused, desired.WaitingForWindow,
		desired.ValuePending, desired.Deleting, desired.Running, desired.NotReady, desired.DependencyNotReady,
		desired.Leaving, desired.Retained, desired.Skipped,
	}
}

// bySeverity returns runs in the order of their lines in the condition. Ready runs are last.
func bySeverity(runs []desired.Outcome) []desired.Outcome {
	order := append(severity(), desired.Ready)
	rank := func(r desired.Outcome) int { return slices.Index(order, r.Reason) }

	return slices.SortedStableFunc(slices.Values(runs), func(a, b desired.Outcome) int { return rank(a) - rank(b) })
}

// summarize returns the reason and the message of the condition AnsibleRunsReady, and whether all runs are done. before
// has the lines of the observed message. Lines about runs with another reason than that of the condition follow a line
// with that reason, which kubectl-ansible parses.
func summarize(all step, before []string) (reason desired.Reason, message string, done bool) {
	var lines []string

	runs := bySeverity(all.Runs)
	reason, done = ReasonAvailable, len(runs) == 0 || runs[0].Done()

	switch count := tally(runs); {
	case !done && count != "":
		reason, lines = runs[0].Reason, []string{count}
	case !done:
		reason = runs[0].Reason
	case len(all.Problems) > 0:
		reason = ansiblerun.ReasonInvalidStatus
	}

	last := reason
	add := func(reason desired.Reason, texts []string) {
		if len(texts) > 0 && reason != last {
			lines, last = append(lines, string(reason)+":"), reason
		}

		lines = append(lines, texts...)
	}

	for _, r := range runs {
		add(r.Reason, describe(r, before))
	}

	add(ansiblerun.ReasonInvalidStatus, all.Problems)

	return reason, clip.Text(strings.Join(lines, "\n"), maxMessage), done
}

// warns is true for reasons that also cause an event: those more severe than Paused, and ReasonInvalidStatus.
func warns(reason desired.Reason) bool {
	all := severity()
	return reason == ansiblerun.ReasonInvalidStatus ||
		slices.Contains(all[:slices.Index(all, desired.Paused)], reason)
}

// tally returns a line with the numbers of runs by state; "" for maxUncounted or fewer runs. Members of a set count,
// but not the set itself.
func tally(runs []desired.Outcome) string {
	byState, sets := map[string]int{}, map[string]bool{}
	all, ready := 0, 0

	for _, r := range runs {
		if set, _, ok := plan.Member(r.Name); ok {
			sets[set] = true
		}
	}

	for _, r := range runs {
		switch {
		case r.Reason == desired.Skipped, r.Reason == desired.Retained, sets[r.Name]:
			continue
		case r.Reason == desired.Ready:
			ready++
		default:
			byState[stateOf(r.Reason)]++
		}

		all++
	}

	if all <= maxUncounted {
		return ""
	}

	var counts []string

	for _, reason := range severity() {
		state := stateOf(reason)
		if byState[state] > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", byState[state], state))
		}

		delete(byState, state)
	}

	return fmt.Sprintf("%d of %d runs are ready; %s", ready, all, strings.Join(counts, ", "))
}

// stateOf returns the state of runs with a reason for a tally, as in "3 failed".
func stateOf(reason desired.Reason) string {
	switch reason {
	case desired.InvalidValue, desired.ValueNotSet, desired.OutputWithheld:
		return "without a usable value"
	case desired.RunFailed:
		return "failed"
	case desired.ReconcileError:
		return "in error"
	case desired.AwaitingApproval, desired.Rejected:
		return "not approved"
	case desired.ValuePending, desired.DependencyNotReady, desired.WaitingForWindow, desired.Paused:
		return "waiting"
	case desired.Deleting, desired.Leaving, desired.RemovalHeld:
		return "leaving"
	}

	return "in progress"
}

// isNews is true for a message with a new line about a run or a field. before has the lines of the observed message,
// which may be that of a later step, with more lines. A tally has no colon, and is not news.
func isNews(message string, before []string) bool {
	return slices.ContainsFunc(strings.Split(message, "\n"), func(l string) bool {
		return strings.Contains(l, ": ") && !slices.Contains(before, l)
	})
}

// describe returns a line for each message of a run. If a failure differs from the observed line only in random paths
// and times, the observed line is kept.
func describe(r desired.Outcome, before []string) []string {
	lines := make([]string, 0, len(r.Messages))
	name := observed.Called(r.Name, r.Resource) + ": "

	for _, m := range r.Messages {
		same := slices.IndexFunc(before, func(was string) bool {
			was, ok := strings.CutPrefix(was, name)
			return ok && r.Reason == desired.RunFailed && common.Gist(was) == common.Gist(m)
		})
		if same < 0 {
			lines = append(lines, line(name+m))
		} else {
			lines = append(lines, before[same])
		}
	}

	return lines
}

// line replaces control characters and line breaks in a message by spaces. A message may quote text of untrusted
// authors, which must not add a line about another run.
func line(message string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || c == '\u2028' || c == '\u2029' {
			return ' '
		}

		return c
	}, message)
}

// setReady adds the condition AnsibleRunsReady of all steps so far to a response, and an event for a new warning. The
// condition of the last step replaces those of earlier ones.
func setReady(rsp *fnv1.RunFunctionResponse, xr map[string]any, all step) {
	before := strings.Split(observed.Reported(xr), "\n")
	reason, message, done := summarize(all, before)

	status := response.ConditionFalse
	if done {
		status = response.ConditionTrue
	}

	status(rsp, ansiblerun.TypeAnsibleRunsReady, string(reason)).WithMessage(message).TargetCompositeAndClaim()

	if warns(reason) && isNews(message, before) {
		response.Warning(rsp, errors.New(clip.Text(message, maxEvent))).TargetCompositeAndClaim().WithReason(string(reason))
	}
}

// conditions adds the conditions of the input to a response.
func conditions(rsp *fnv1.RunFunctionResponse, all []composite.Condition) {
	for _, c := range all {
		condition := response.ConditionUnknown

		switch c.Status {
		case ansiblerun.ConditionTrue:
			condition = response.ConditionTrue
		case ansiblerun.ConditionFalse:
			condition = response.ConditionFalse
		}

		condition(rsp, c.Type, c.Reason).WithMessage(clip.Text(c.Message, maxMessage)).TargetCompositeAndClaim()
	}
}
