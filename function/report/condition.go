package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/function/composite"
	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/observed"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// TypeAnsibleRunsReady is the condition of an XR that says which of its
// AnsibleRuns are not there yet, and why.
const TypeAnsibleRunsReady = plan.TypeAnsibleRunsReady

// Reasons of the condition, beside those of runs.
const (
	// ReasonAvailable XRs have all their runs.
	ReasonAvailable = "Available"
	// ReasonInvalidInput XRs have a Composition with mistakes.
	ReasonInvalidInput = "InvalidInput"
	// ReasonTooLarge XRs have a desired state that is larger than core can receive.
	ReasonTooLarge = "TooLarge"
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

// A condition of the XR.
type condition struct {
	status  bool
	reason  string
	message string
	// warn is true if there is an event when the condition has changed.
	warn bool
}

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
	fatal(rsp, ReasonInvalidInput, "the input of function-ansible in the Composition is invalid:\n"+message,
		"invalid input:\n"+message)
}

// TooLarge reports a response, by its size in bytes, that core would not receive.
// The response must be an empty one.
func TooLarge(rsp *fnv1.RunFunctionResponse, size, limit int) {
	const mebi = 1 << 20

	message := fmt.Sprintf(
		"the desired state is %.1f MiB large, and Crossplane receives %d MiB at most: compose fewer or smaller AnsibleRuns "+
			"in one XR", float64(size)/mebi, limit/mebi)
	fatal(rsp, ReasonTooLarge, message, message)
}

// fatal reports that nothing can be applied, as a condition and a result.
func fatal(rsp *fnv1.RunFunctionResponse, reason, condition, result string) {
	response.ConditionFalse(rsp, TypeAnsibleRunsReady, reason).
		WithMessage(clip.Text(condition, maxMessage)).
		TargetCompositeAndClaim()

	rsp.Results = append(rsp.Results, &fnv1.Result{
		Severity: fnv1.Severity_SEVERITY_FATAL,
		Message:  result,
		Target:   fnv1.Target_TARGET_COMPOSITE.Enum(),
	})
}

// severity lists the reasons of runs that are not done, the most severe first.
func severity() []desired.Reason {
	return []desired.Reason{
		desired.InvalidValue, desired.ValueNotSet, desired.OutputWithheld, desired.RunFailed, desired.ReconcileError,
		desired.RemovalHeld, desired.Rejected, desired.AwaitingApproval, desired.Paused, desired.WaitingForWindow,
		desired.ValuePending, desired.Deleting, desired.Running, desired.NotReady, desired.DependencyNotReady,
		desired.Leaving,
	}
}

// bySeverity returns runs in the order in which the condition has their lines: those that are done come last.
func bySeverity(runs []desired.Outcome) []desired.Outcome {
	order := severity()
	rank := func(r desired.Outcome) int {
		if r.Done() {
			return len(order)
		}

		return slices.Index(order, r.Reason)
	}

	return slices.SortedStableFunc(slices.Values(runs), func(a, b desired.Outcome) int { return rank(a) - rank(b) })
}

// summarize returns the condition that tells what became of the runs.
func summarize(all step) condition {
	var lines []string

	c := condition{status: true, reason: ReasonAvailable}

	for _, r := range bySeverity(all.Runs) {
		if c.status && !r.Done() {
			c.status, c.reason = false, string(r.Reason)
		}

		lines = append(lines, describe(r)...)
	}

	if len(all.Problems) > 0 && c.status {
		c.reason = ReasonInvalidStatus
	}

	lines = append(lines, all.Problems...)

	switch desired.Reason(c.reason) {
	case desired.InvalidValue, desired.ValueNotSet, desired.OutputWithheld, desired.RunFailed, desired.ReconcileError,
		desired.RemovalHeld, desired.AwaitingApproval, desired.Rejected, ReasonInvalidStatus:
		c.warn = true
	}

	if count := tally(all.Runs); count != "" && !c.status {
		lines = slices.Insert(lines, 0, count)
	}

	c.message = clip.Text(strings.Join(lines, "\n"), maxMessage)

	return c
}

// tallied is a text that only the line with the counts of runs has.
const tallied = " runs are ready; "

// tally returns a line that counts what became of the runs; "" for maxUncounted or fewer.
func tally(runs []desired.Outcome) string {
	became := map[string]int{}
	all, ready := 0, 0

	for _, r := range runs {
		switch r.Reason {
		case desired.Skipped, desired.Retained:
			continue
		case desired.Ready:
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

	return fmt.Sprintf("%d of %d%s%s", ready, all, tallied, strings.Join(counts, ", "))
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

// tells is true for a condition with a line that a message does not have. That may be the message of
// a later step, with more lines. Other counts of runs alone are no news.
func (c condition) tells(message string) bool {
	was := strings.Split(message, "\n")

	return slices.ContainsFunc(strings.Split(c.message, "\n"), func(l string) bool {
		return !strings.Contains(l, tallied) && !slices.Contains(was, l)
	})
}

// removed reports the runs that are removed.
func removed(rsp *fnv1.RunFunctionResponse, names []string) {
	if len(names) == 0 {
		return
	}

	reason := ReasonRemoved

	rsp.Results = append(rsp.Results, &fnv1.Result{
		Severity: fnv1.Severity_SEVERITY_NORMAL,
		Reason:   &reason,
		Message:  clip.Text("removing AnsibleRuns that are not wanted any more: "+strings.Join(names, ", "), maxEvent),
		Target:   fnv1.Target_TARGET_COMPOSITE_AND_CLAIM.Enum(),
	})
}

// describe returns a line for each message of a run.
func describe(r desired.Outcome) []string {
	lines := make([]string, 0, len(r.Messages))

	for _, m := range r.Messages {
		lines = append(lines, line(observed.Called(r.Name, r.Resource)+": "+m))
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

// report adds the condition to a response, and an event when there is something new to warn of. An earlier
// step of a pipeline does not know whether all is ready.
func (c condition) report(rsp *fnv1.RunFunctionResponse, xr map[string]any) {
	status := fnv1.Status_STATUS_CONDITION_FALSE
	if c.status {
		status = fnv1.Status_STATUS_CONDITION_TRUE
	}

	rsp.Conditions = append(rsp.Conditions, &fnv1.Condition{
		Type:    TypeAnsibleRunsReady,
		Status:  status,
		Reason:  c.reason,
		Message: &c.message,
		Target:  fnv1.Target_TARGET_COMPOSITE_AND_CLAIM.Enum(),
	})

	if !c.warn || !c.tells(Reported(xr)) {
		return
	}

	rsp.Results = append(rsp.Results, &fnv1.Result{
		Severity: fnv1.Severity_SEVERITY_WARNING,
		Reason:   &c.reason,
		Message:  clip.Text(c.message, maxEvent),
		Target:   fnv1.Target_TARGET_COMPOSITE_AND_CLAIM.Enum(),
	})
}

// Reported returns the message of the condition that the XR has.
func Reported(xr map[string]any) string {
	return manifest.Text(manifest.Condition(xr, TypeAnsibleRunsReady), "message")
}

// conditions adds the conditions of the input to a response.
func conditions(rsp *fnv1.RunFunctionResponse, all []composite.Condition) {
	status := map[string]fnv1.Status{
		"True":  fnv1.Status_STATUS_CONDITION_TRUE,
		"False": fnv1.Status_STATUS_CONDITION_FALSE,
	}

	for _, c := range all {
		is, known := status[c.Status]
		if !known {
			is = fnv1.Status_STATUS_CONDITION_UNKNOWN
		}

		message := clip.Text(c.Message, maxMessage)
		rsp.Conditions = append(rsp.Conditions, &fnv1.Condition{
			Type: c.Type, Status: is, Reason: c.Reason, Message: &message, Target: fnv1.Target_TARGET_COMPOSITE_AND_CLAIM.Enum(),
		})
	}
}
