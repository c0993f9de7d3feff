package lifecycle

import (
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// inWindow holds a run back that is to begin only when its window is open. A requested run does not wait.
func inWindow(s Situation, d Decision) Decision {
	if d.Start == nil {
		return d
	}

	opens := opens(s, *d.Start)
	if opens.IsZero() {
		if !isFree(s, *d.Start) { // Until then it may wait for its turn, or for its Pod.
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

// opens is when the window opens for which a run has to wait; the zero time if it may begin.
func opens(s Situation, st Start) time.Time {
	if isFree(s, st) {
		return time.Time{}
	}

	return s.Calendar.Opens(s.Now, st.Trigger == common.TriggerPoll)
}

// isFree is true for a run that waits for no window.
func isFree(s Situation, st Start) bool { return askedFor(s, st) || predictsNow(s, st) }

// Closed is true if a run that waits, whatever its inputs are, has to wait for the next window, too.
func Closed(s Situation, waits common.Run) bool {
	st := Start{Mode: waits.Mode, State: waits.State, Trigger: waits.Trigger}

	return waits.Trigger != common.TriggerRequested && !opens(s, st).IsZero()
}

// predictsNow is true for a check of a change or a deletion that has to be approved, so that there is time for that
// before the window opens.
func predictsNow(s Situation, st Start) bool {
	return s.Approvals.Required && st.Mode == common.ModeCheck && st.Trigger != common.TriggerPoll
}

// askedFor is true for a requested run, and for an apply that follows from the check with which a request begins. An
// approved one waits: an approval says what may be applied, not when. A preview has no apply that follows.
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
