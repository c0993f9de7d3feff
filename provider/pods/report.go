package pods

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/provider/dependents"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

const (
	// maxReason is the largest length of the message of a run, in bytes.
	maxReason = 8 << 10
	// maxRun is the largest length of a run in the status, in bytes of JSON. maxReport is the largest length of all parts
	// of a report in the status. The API server accepts objects of 1.5 MiB, including the spec.
	maxRun    = 128 << 10
	maxReport = 768 << 10
	// maxItems is the largest number of collections in a report, and of roles.
	maxItems = 1000
)

// checked returns false for a report that a run cannot have sent, and cuts long texts. The image of the Pod may be
// hostile: a report must stay within the limits of runs in the provider. Otherwise, the API server would refuse every
// update of the status or of the Secret.
func checked(r *runs.Report) bool {
	n := &r.Run
	n.Message, r.Output = clip.Text(n.Message, maxReason), clip.Text(r.Output, events.MaxTail)
	r.Withheld = r.Withheld.Limited()

	switch n.Phase {
	case common.PhaseInstalling, common.PhaseRunning:
		r.Outputs, r.Withheld, r.ConnectionDetails, r.Output, r.Dependents = nil, nil, nil, "", nil
	case common.PhaseSucceeded, common.PhaseFailed, common.PhaseTimedOut, common.PhaseCanceled:
	default: // Only the cluster can tell that a run waits or was interrupted.
		return false
	}

	if len(n.Failures) > events.MaxFailures || len(r.Changed) > events.MaxChanged ||
		r.Content != nil && max(len(r.Content.Collections), len(r.Content.Roles)) > maxItems ||
		tooLong(maxRun, n) || tooLong(maxReport, n, r.Content, r.Changed, r.Behind, r.Reported, r.Outputs, r.Withheld,
		r.Dependents, r.Kinds) {
		return false
	}

	err := errors.Join(dependents.Check(r.Dependents), dependents.Check(r.Kinds), r.Reported.Check(),
		runner.CheckDetails(r.ConnectionDetails), checkTimes(*r))
	if r.Outputs != nil {
		err = errors.Join(err, events.CheckOutputs(r.Outputs.Raw))
	}

	return err == nil
}

// tooLong is true for values that need more than most bytes of JSON, or that JSON cannot represent.
func tooLong(most int, values ...any) bool {
	text, err := json.Marshal(values)

	return err != nil || len(text) > most
}

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
			return errors.Errorf("%s cannot be a time of a run", t)
		}
	}

	return nil
}
