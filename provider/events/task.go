package events

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// recordHost records an event of a task on a host.
func (r *Recorder) recordHost(e event, d data) {
	totals := &r.summary.Totals
	ran := e.Kind == hostOK || e.Kind == hostFailed

	switch {
	case e.Kind == hostOK:
		totals.OK++
		r.recordChange(e, d)
	case e.Kind == hostSkipped:
		totals.Skipped++
	case e.Kind == hostDark:
		totals.Unreachable++
		r.recordFailure(e, d)
	case e.Kind == hostFailed && d.IgnoreErrors:
		totals.OK++
		totals.Ignored++
		r.recordChange(e, d)
	case e.Kind == hostFailed:
		totals.Failed++
		r.recordFailure(e, d)
	default:
		r.recordPending(e, d)

		return
	}

	delete(r.items, d.Host)

	if _, known := r.left[d.Host]; known || len(r.left) < maxHosts {
		r.left[d.Host] = e.Kind == hostDark || e.Kind == hostFailed && !d.IgnoreErrors
	}

	r.summary.Started = true

	// Gathering facts and reports do not tell what would change.
	if ran && d.TaskAction != gatherFacts && d.ResolvedAction != actionStatus {
		r.summary.Ran++
	}
}

// maxHosts is the largest number of hosts that are counted.
const maxHosts = 10000

// behind says how many hosts have left the plays while others go on. It is empty if all hosts have failed: then a
// rescue is in progress.
func (r *Recorder) behind() string {
	n := 0

	for _, left := range r.left {
		if left {
			n++
		}
	}

	if n == 0 || n == len(r.left) {
		return ""
	}

	return fmt.Sprintf("%d of %d hosts left behind", n, len(r.left))
}

// maxItems is the largest number of hosts with a failed item of a loop that is kept, more than there are forks.
const maxItems = 1000

// pending is a text that belongs to the next result of a task on a host.
type pending struct {
	host, task, text string
}

// of is true if the text belongs to the task and the host of an event.
func (p pending) of(d data) bool {
	return p.text != "" && p.host == d.Host && p.task == d.TaskUUID
}

// recordPending records a text for a later result.
func (r *Recorder) recordPending(e event, d data) {
	switch e.Kind {
	case itemFailed:
		if !r.items[d.Host].of(d) && len(r.items) < maxItems {
			r.items[d.Host] = pending{host: d.Host, task: d.TaskUUID, text: r.explain(e, d)}
		}
	case fileDiff:
		r.keepDiff(e, d)
	}
}

// keepDiff keeps the display of a diff. Ansible does not display a censored diff.
func (r *Recorder) keepDiff(e event, d data) {
	diff := strings.TrimSpace(plain(e.Stdout))

	if r.diff.of(d) {
		diff = r.diff.text + "\n" + diff
	}

	r.diff = pending{host: d.Host, task: d.TaskUUID, text: r.field(diff, maxText)}
}

// changed is true when a task has changed something, and has succeeded or failed with ignore_errors.
func changed(e event, d data) bool {
	res := parseResult(d.Result)

	// A censored result does not tell whether the task changed anything, but Ansible's display does.
	if res.Censored != "" {
		return strings.HasPrefix(plain(e.Stdout), "changed: ")
	}

	return res.Changed
}

// recordChange records a task that changed something, with the diff of the preceding event.
func (r *Recorder) recordChange(e event, d data) {
	if !changed(e, d) {
		return
	}

	r.summary.Totals.Changed++

	if len(r.summary.Changed) == MaxChanged {
		return
	}

	c := common.DriftTask{Task: r.task(d), Host: r.hostname(d.Host)}
	if r.diff.of(d) {
		c.Diff = r.field(r.diff.text, maxDiff)
	}

	r.summary.Changed = append(r.summary.Changed, c)
}

// explain returns the cause of a failure, redacted and at most maxMessage long. The failure of a loop has the cause of
// the first failed item: the result of the loop is too long for an event, or does not tell the cause.
func (r *Recorder) explain(e event, d data) string {
	res := parseResult(d.Result)
	res.end = r.end

	switch failed := r.items[d.Host]; {
	case res.Censored != "" && d.ResolvedAction == actionStatus:
		return noLogMessage
	case res.Censored != "":
		return r.field(res.Censored, maxMessage)
	case e.Kind != itemFailed && failed.of(d):
		return r.field(failed.text, maxMessage)
	}

	m := res.explain()

	if m == "" {
		var shown textLog

		shown.addAll(e.Stdout)
		m = bare(shown.failure())

		if string(d.Result) == "{}" { // ansible-runner leaves it out.
			m = appended(m, ": its result is too large to be read")
		}
	}

	m = remote.ReplaceAllLiteralString(withCause(m, e.Stdout), "")

	if label := text(res.Label); label != "" && m != "" {
		m = "item " + label + ": " + m
	}

	return withHint(r.field(m, maxMessage), r.confined && res.onProvider(d.Host, m))
}

// recordFailure records a failure. When there are too many, the last failure of a host replaces its first one, which
// was rescued: a host leaves the play when a failure is not rescued.
func (r *Recorder) recordFailure(e event, d data) {
	f := common.Failure{Task: r.task(d), Host: r.hostname(d.Host), Message: r.explain(e, d)}

	if len(r.summary.Failures) == MaxFailures {
		i := slices.IndexFunc(r.summary.Failures, func(o common.Failure) bool { return o.Host == f.Host })
		if i < 0 {
			return
		}

		r.summary.Failures = slices.Delete(r.summary.Failures, i, i+1)
	}

	r.summary.Failures = append(r.summary.Failures, f)
}
