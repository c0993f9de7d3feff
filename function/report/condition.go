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

// Reasons of the condition, beside those of runs.
const (
	// ReasonAvailable XRs have all their runs.
	ReasonAvailable = "Available"
	// ReasonInvalidStatus XRs have all their runs, but not all of the status
	// that follows from them.
	ReasonInvalidStatus = "InvalidStatus"
	// ReasonRemoved is that of events about runs that are removed.
	ReasonRemoved = "RunsRemoved"
)

// Limits, in bytes.
const (
	maxMessage = 4 << 10
	maxEvent   = 1 << 10
)

// maxUncounted is the number of runs up to which the condition does not begin with a line
// that counts them. The lines of more runs may not all fit.
const maxUncounted = 10

// Invalid reports mistakes of the Composition in one Fatal result, with a line for each: core
// shows the first Fatal result only.
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

// TooLarge reports a response, by its size in bytes, that core would not receive.
// The response must be an empty one.
func TooLarge(rsp *fnv1.RunFunctionResponse, size, limit int) {
	const mebi = 1 << 20

	message := fmt.Sprintf(
		"the desired state is %.1f MiB large, and Crossplane receives %d MiB at most: compose fewer or smaller AnsibleRuns "+
			"in one XR", float64(size)/mebi, limit/mebi)
	fatal(rsp, ansiblerun.ReasonTooLarge, message, message)
}

// fatal reports that nothing can be applied, as a condition and a result.
func fatal(rsp *fnv1.RunFunctionResponse, reason, condition, result string) {
	response.ConditionFalse(rsp, ansiblerun.TypeAnsibleRunsReady, reason).
		WithMessage(clip.Text(condition, maxMessage)).
		TargetCompositeAndClaim()

	response.Fatal(rsp, errors.New(result))
}

// severity lists the reasons of runs that are not ready, the most severe first. Of the last two no run is waited for.
func severity() []desired.Reason {
	return []desired.Reason{
		desired.InvalidValue, desired.ValueNotSet, desired.OutputWithheld, desired.RunFailed, desired.ReconcileError,
		desired.RemovalHeld, desired.Rejected, desired.AwaitingApproval, desired.Paused, desired.WaitingForWindow,
		desired.ValuePending, desired.Deleting, desired.Running, desired.NotReady, desired.DependencyNotReady,
		desired.Leaving, desired.Retained, desired.Skipped,
	}
}

// bySeverity returns runs in the order in which the condition has their lines: those that are ready come last.
func bySeverity(runs []desired.Outcome) []desired.Outcome {
	order := append(severity(), desired.Ready)
	rank := func(r desired.Outcome) int { return slices.Index(order, r.Reason) }

	return slices.SortedStableFunc(slices.Values(runs), func(a, b desired.Outcome) int { return rank(a) - rank(b) })
}

// summarize returns the reason and the message of the condition that tells what became of the runs. It is true when all
// are done. Lines of another reason than that of the condition come below one that names it, for kubectl-ansible, too.
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
		reason = ReasonInvalidStatus
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

	add(ReasonInvalidStatus, all.Problems)

	return reason, clip.Text(strings.Join(lines, "\n"), maxMessage), done
}

// warns is true for a reason that is an event, too: all that are more severe than a pause.
func warns(reason desired.Reason) bool {
	all := severity()
	return reason == ReasonInvalidStatus ||
		slices.Contains(all[:slices.Index(all, desired.Paused)], reason)
}

// tally returns a line that counts what became of the runs; "" for maxUncounted or fewer. A set counts as its members.
func tally(runs []desired.Outcome) string {
	became, sets := map[string]int{}, map[string]bool{}
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
			became[countedAs(r.Reason)]++
		}

		all++
	}

	if all <= maxUncounted {
		return ""
	}

	var counts []string

	for _, reason := range severity() {
		word := countedAs(reason)
		if became[word] > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", became[word], word))
		}

		delete(became, word)
	}

	return fmt.Sprintf("%d of %d runs are ready; %s", ready, all, strings.Join(counts, ", "))
}

// countedAs returns what follows a number of runs with a reason, as in "3 failed".
func countedAs(reason desired.Reason) string {
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

// tells is true for a message with a line about a run or a field that another one does not have. That may be the
// message of a later step, with more lines. Other counts of runs alone are no news.
func tells(message string, before []string) bool {
	return slices.ContainsFunc(strings.Split(message, "\n"), func(l string) bool {
		return strings.Contains(l, ": ") && !slices.Contains(before, l)
	})
}

// describe returns a line for each message of a run. The line about a failure stays as it was before, if it differs in
// random paths and times: these are no news.
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

// line replaces control characters and line ends in a message. A message may quote text of untrusted authors: it must
// not add a line about another run.
func line(message string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || c == '\u2028' || c == '\u2029' {
			return ' '
		}

		return c
	}, message)
}

// tellXR adds the condition to a response, and an event when there is something new to warn of. An earlier
// step of a pipeline does not know whether all is ready.
func tellXR(rsp *fnv1.RunFunctionResponse, xr map[string]any, all step) {
	before := strings.Split(observed.Reported(xr), "\n")
	reason, message, done := summarize(all, before)

	status := response.ConditionFalse
	if done {
		status = response.ConditionTrue
	}

	status(rsp, ansiblerun.TypeAnsibleRunsReady, string(reason)).WithMessage(message).TargetCompositeAndClaim()

	if warns(reason) && tells(message, before) {
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
