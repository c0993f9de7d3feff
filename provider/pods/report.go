package pods

import (
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/provider/dependents"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
)

const (
	// maxReason is the length of the message of a run, in bytes.
	maxReason = 8 << 10
	// maxReport is the length of all of a report that goes to the status, in bytes of JSON. The API
	// server takes an object of a mebibyte and a half, with its spec.
	maxReport = 768 << 10
	// maxItems is how many collections a report lists, and how many roles.
	maxItems = 1000
	// maxTasks is how many tasks a report counts. A play ends fewer between two reports.
	maxTasks = 5000
)

// errInvalid is the error of a frame that no run sends.
var errInvalid = errors.New("the Pod has sent a report that no run sends")

// A frame is one that a run can have sent. Of another one only the time is kept, whether it was
// the last one, and why it was refused: the rest may take much memory.
type frame struct {
	sealed.Frame

	refused error
}

// checked is a frame that was read.
func checked(f sealed.Frame) frame {
	valid, err := validate(f)
	if err != nil {
		return frame{Frame: sealed.Frame{Time: f.Time, Final: f.Final}, refused: err}
	}

	return frame{Frame: valid}
}

// validate a frame, of which what a run can have sent is returned. The image of the Pod may be an attacker's: no
// report is to do more than tell of its own run, within the limits of runs in the provider. The API
// server would refuse the status or the Secret otherwise, again and again.
func validate(f sealed.Frame) (sealed.Frame, error) {
	r := &f.Report
	if !sends(r.Run.Phase, f.Final) || r.Content != nil &&
		max(len(r.Content.Collections), len(r.Content.Roles)) > maxItems {
		return f, errInvalid
	}

	clipReport(r)

	f.Tasks = clipTasks(f.Tasks)

	shown, err := json.Marshal([]any{
		r.Run, r.Content, r.Changed, r.Reported, r.Outputs, r.Withheld, r.Dependents, r.Kinds,
	})
	if err != nil || len(shown) > maxReport {
		return f, errInvalid
	}

	if r.Outputs != nil {
		err = events.CheckOutputs(r.Outputs.Raw)
	}

	return f, errors.Wrap(errors.Join(err, dependents.Check(r.Dependents), dependents.Check(r.Kinds), r.Reported.Check(),
		runner.CheckDetails(r.ConnectionDetails), checkTimes(*r)), errInvalid.Error())
}

// sends is true for a phase that a run reports. That it waits or was interrupted, is for the
// cluster to say.
func sends(phase common.RunPhase, final bool) bool {
	switch phase {
	case common.PhaseInstalling, common.PhaseRunning:
		return !final
	case common.PhaseSucceeded, common.PhaseFailed, common.PhaseTimedOut, common.PhaseCanceled:
		return final
	case common.PhaseQueued, common.PhaseInterrupted:
	}

	return false
}

// clipReport cuts the texts and lists of a report, and keeps nothing of what it leaves out.
func clipReport(r *runs.Report) {
	r.Before = nil

	n := &r.Run
	n.Reason, n.CurrentTask, n.Versions = name(n.Reason), name(n.CurrentTask), name(n.Versions)
	n.Message, r.Behind = clip.Text(n.Message, maxReason), name(r.Behind)
	r.Output = clip.Text(r.Output, events.MaxTail)

	r.Withheld = r.Withheld.Limited()

	if !n.Phase.Finished() {
		r.Outputs, r.Withheld, r.ConnectionDetails, r.Output, r.Dependents = nil, nil, nil, "", nil
	}

	n.Failures = slices.Clone(n.Failures[:min(len(n.Failures), events.MaxFailures)])
	for i, f := range n.Failures {
		n.Failures[i] = common.Failure{
			Task: name(f.Task), Host: name(f.Host), Message: clip.Text(f.Message, events.MaxMessage), Rescued: f.Rescued,
		}
	}

	r.Changed = slices.Clone(r.Changed[:min(len(r.Changed), events.MaxChanged)])
	for i, t := range r.Changed {
		r.Changed[i] = common.DriftTask{Task: name(t.Task), Host: name(t.Host), Diff: clip.Text(t.Diff, events.MaxDiff)}
	}
}

// clipTasks returns those tasks that can be counted, and keeps nothing of the others.
func clipTasks(all []events.TaskResult) []events.TaskResult {
	var tasks []events.TaskResult

	for _, t := range all[:min(len(all), maxTasks)] {
		if !t.Outcome.Known() {
			continue
		}

		tasks = append(tasks, events.TaskResult{
			Play: name(t.Play), Task: name(t.Task), Host: name(t.Host), Outcome: t.Outcome, Duration: t.Duration,
			Message: clip.Text(t.Message, events.MaxMessage),
		})
	}

	return tasks
}

func name(s string) string { return clip.Text(s, events.MaxName) }

// checkTimes returns an error for a time that the API server would refuse.
func checkTimes(r runs.Report) error {
	times := []*metav1.Time{r.Run.CompletionTime}
	if r.Content != nil {
		times = append(times, r.Content.Resolved)
	}

	for i := range r.Reported.Conditions {
		times = append(times, &r.Reported.Conditions[i].LastTransitionTime)
	}

	for _, t := range times {
		// Years have four digits, in any time zone.
		if t != nil && (t.Before(&metav1.Time{Time: time.Unix(0, 0)}) || t.Year() >= 9999) {
			return errors.Errorf("%s is no time of a run", t)
		}
	}

	return nil
}
