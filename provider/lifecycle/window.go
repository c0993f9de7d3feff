package lifecycle

import (
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// inWindow holds a run back until its window opens. A requested run does not wait.
func inWindow(s Situation, d Decision) Decision {
	if d.Start == nil {
		return d
	}

	opens := opens(s, *d.Start)
	if opens.IsZero() {
		if !skipsWindow(s, *d.Start) { // The run may wait for its turn, or for its Pod, until the window closes.
			d.Until = s.Calendar.Closes(s.Now, d.Start.Trigger == common.TriggerPoll)
		}

		return d
	}

	d.Start, d.Until, d.Held = nil, opens, true

	if last := s.Recorded.LastApply; failed(last) &&
		(s.Deleted && last.State == common.StateAbsent || !s.Deleted && failedHere(s)) {
		d.Failure = errors.Wrapf(failure(s), "waits for its window, which opens at %s", opens.UTC().Format(time.RFC3339))
	}

	return d
}

// opens returns the time at which the window of a run opens; the zero time if the run may begin.
func opens(s Situation, st Start) time.Time {
	if skipsWindow(s, st) {
		return time.Time{}
	}

	return s.Calendar.Opens(s.Now, st.Trigger == common.TriggerPoll)
}

// skipsWindow is true for a run that does not wait for a window.
func skipsWindow(s Situation, st Start) bool { return askedFor(s, st) || predictsNow(s, st) }

// Closed is true if a waiting run has to wait for the next window, independently of its inputs.
func Closed(s Situation, waits common.Run) bool {
	st := Start{Mode: waits.Mode, State: waits.State, Trigger: waits.Trigger}

	return waits.Trigger != common.TriggerRequested && !opens(s, st).IsZero()
}

// predictsNow is true for a check of a change or a deletion that needs an approval: it begins before the window opens,
// so that there is time for the approval.
func predictsNow(s Situation, st Start) bool {
	return s.Approvals.Required && st.Mode == common.ModeCheck && st.Trigger != common.TriggerPoll
}

// askedFor is true for a requested run, for a preview, and for an apply that follows from a requested check. An
// approved apply waits for the window: an approval does not choose its time.
func askedFor(s Situation, st Start) bool {
	switch {
	case requested(s), st.Trigger == common.TriggerPreview:
		return true
	case st.Approved:
		return false
	}

	return st.Mode == common.ModeApply && !s.Deleted && checked(s) && differs(s) &&
		s.Recorded.LastRun.Trigger == common.TriggerRequested
}
