package controller

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// ReasonCannotKeepOutput is the reason of events about output of a run that could not be kept.
const ReasonCannotKeepOutput event.Reason = "CannotKeepOutput"

const (
	// keepTimeout is the longest delay of a reconcile by keeping output.
	keepTimeout = 5 * time.Second
	// liveEvery is the interval at which the output of a watched run in progress is saved.
	liveEvery = 2 * time.Second
)

// keepOutput saves the output of an ended run, or of a watched run in progress, and deletes output that is not wanted
// any more. An error only leads to an event: the next reconcile tries again, as long as the pool has the result.
func (e *external) keepOutput(ctx context.Context, run common.AnsibleRun) {
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()

	_, watched := watchedUntil(run, e.now())
	wanted := watched || keepsOutput(run)
	r, known := e.Pool.Report(run.GetUID())

	o := run.Observation()
	// Watching clients, and the reconcile that deletes the output, find the reference in the status.
	if watched && o.KeptOutput == nil {
		o.KeptOutput = e.Outputs.Reference(run, e.kind)
	}

	var err error

	switch {
	case !known || r.Waits || !wanted:
	case r.Run.Phase.Finished():
		err = e.saveOutput(ctx, run, r)
	case watched:
		err = e.saveLive(ctx, run, r)
	}

	at := expires(run)
	expired := !wanted || !watched && !at.IsZero() && !e.now().Before(at)

	if err == nil && expired && o.KeptOutput != nil {
		if err = e.Outputs.Delete(ctx, run, e.kind); err == nil {
			o.KeptOutput = nil
		}
	}

	if err != nil {
		e.recorder.Event(run, event.Warning(ReasonCannotKeepOutput, err))
	}
}

// saveLive saves the display of a run in progress, and requests the next reconcile after liveEvery. The status does not
// show it as the output of the run: the final output replaces it.
func (e *external) saveLive(ctx context.Context, run common.AnsibleRun, r runs.Report) (err error) {
	nextLook(ctx, liveEvery, handler.LowPriority, true)

	if r.Tail == nil {
		return nil
	}

	if r.Output = r.Tail(); r.Output != "" {
		_, err = e.Outputs.Save(ctx, run, e.kind, r)
	}

	return err
}

// saveOutput saves the output of an ended run.
func (e *external) saveOutput(ctx context.Context, run common.AnsibleRun, r runs.Report) error {
	o := run.Observation()
	if o.KeptOutput != nil && o.KeptOutput.RunID == r.Run.ID {
		return nil
	}

	// The display of the run is not known, or the run has not begun.
	if r.Output == "" && (r.Run.Phase == common.PhaseSucceeded || r.Run.StartTime == nil) {
		return nil
	}

	kept, err := e.Outputs.Save(ctx, run, e.kind, r)
	if err == nil {
		o.KeptOutput = kept
	}

	return err
}

// watchedUntil returns the time until which the output of an object is watched; false if it is not watched now.
func watchedUntil(run common.AnsibleRun, now time.Time) (time.Time, bool) {
	until, err := time.Parse(time.RFC3339, run.GetAnnotations()[common.AnnotationWatch])

	return until, err == nil && now.Before(until) && !until.After(now.Add(common.MaxWatch))
}

// keptFor returns the time for which output is kept after a run; false if it is kept for ever, or not at all.
func keptFor(run common.AnsibleRun) (time.Duration, bool) {
	d, err := time.ParseDuration(run.GetAnnotations()[common.AnnotationKeepOutput])

	return d, err == nil && d > 0
}

func keepsOutput(run common.AnsibleRun) bool {
	_, limited := keptFor(run)

	return limited || run.GetAnnotations()[common.AnnotationKeepOutput] == "true"
}

// expires returns the time at which the kept output expires; the zero time for never.
func expires(run common.AnsibleRun) time.Time {
	d, limited := keptFor(run)
	if kept := run.Observation().KeptOutput; limited && kept != nil && kept.CompletionTime != nil {
		return kept.CompletionTime.Add(d)
	}

	return time.Time{}
}
