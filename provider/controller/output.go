package controller

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// ReasonCannotKeepOutput is the reason of events when the output of a run could
// not be kept.
const ReasonCannotKeepOutput event.Reason = "CannotKeepOutput"

const (
	// keepTimeout is how long keeping the output of a run may hold up a reconcile.
	keepTimeout = 5 * time.Second
	// liveEvery is how often the output of a watched run in progress is saved.
	liveEvery = 2 * time.Second
)

// keepOutput saves the output of a run that has ended, or that goes on and is watched, or deletes what is kept when it
// is not wanted any more. A failure is an event and changes nothing else: the next reconcile tries again, as long as
// the pool knows the result.
func (e *external) keepOutput(ctx context.Context, run common.AnsibleRun) {
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()

	_, watched := watchedUntil(run, e.now())
	wanted := watched || keepsOutput(run)
	r, known := e.Pool.Report(run.GetUID())

	o := run.Observation()
	// Clients that watch find it here, and so does a later reconcile that removes it.
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

// saveLive saves what a run in progress has displayed so far, and looks again soon. The status does not show it as the
// output of the run, whose end takes its place.
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

// saveOutput of a run that has ended.
func (e *external) saveOutput(ctx context.Context, run common.AnsibleRun, r runs.Report) error {
	o := run.Observation()
	if o.KeptOutput != nil && o.KeptOutput.RunID == r.Run.ID {
		return nil
	}

	// Nothing is known of what a run has displayed, or no run has begun.
	if r.Output == "" && (r.Run.Phase == common.PhaseSucceeded || r.Run.StartTime == nil) {
		return nil
	}

	kept, err := e.Outputs.Save(ctx, run, e.kind, r)
	if err == nil {
		o.KeptOutput = kept
	}

	return err
}

// watchedUntil is when the output of an object stops being watched. It is false if it is not watched now.
func watchedUntil(run common.AnsibleRun, now time.Time) (time.Time, bool) {
	until, err := time.Parse(time.RFC3339, run.GetAnnotations()[common.AnnotationWatch])

	return until, err == nil && now.Before(until) && !until.After(now.Add(common.MaxWatch))
}

// keptFor is how long after a run its output is kept; false if it stays, or is not kept.
func keptFor(run common.AnsibleRun) (time.Duration, bool) {
	d, err := time.ParseDuration(run.GetAnnotations()[common.AnnotationKeepOutput])

	return d, err == nil && d > 0
}

func keepsOutput(run common.AnsibleRun) bool {
	_, limited := keptFor(run)

	return limited || run.GetAnnotations()[common.AnnotationKeepOutput] == "true"
}

// expires is when the output that is kept goes; the zero time if it stays, or there is none.
func expires(run common.AnsibleRun) time.Time {
	d, limited := keptFor(run)
	if kept := run.Observation().KeptOutput; limited && kept != nil && kept.CompletionTime != nil {
		return kept.CompletionTime.Add(d)
	}

	return time.Time{}
}
