package pool

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// Pauses between status updates of an object. Each update of a composed resource takes a token of the circuit breaker
// of its XR, which all its composed resources share: a burst of 50, then one every 2 s.
const (
	phasePause = 3 * time.Second
	firstPause = 10 * time.Second
	lastPause  = time.Minute
)

// news are the types of changes in a report, the least urgent first.
type news int

const (
	// progressed means that another task runs.
	progressed news = iota
	// reported means that the content has reported values.
	reported
	// entered means that the run has entered another phase.
	entered
)

// newsOf returns the most urgent change in a report of a run since the last one.
func newsOf(last, now runs.Report) news {
	same := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }

	switch {
	case last.Run.Phase != now.Run.Phase, last.Plan != now.Plan:
		return entered
	case !maps.EqualFunc(last.Reported.Outputs, now.Reported.Outputs, same),
		!slices.Equal(last.Reported.Conditions, now.Reported.Conditions),
		!same(last.Reported.Status, now.Reported.Status):
		return reported
	}

	return progressed
}

// due returns the time at which an object is woken for news: a new phase after phasePause, the first report of the
// content at once and later reports after firstPause, and progress after a pause that grows with the duration of the
// run.
func (e *entry) due(n news) time.Time {
	switch {
	case n == entered:
		return e.told.Add(phasePause)
	case n == reported && !e.reported:
		return e.told
	case n == reported:
		return e.told.Add(firstPause)
	}

	return e.told.Add(min(max(e.told.Sub(e.begun)/2, firstPause), lastPause))
}

// tell wakes the object when news are due, unless it is woken earlier. The start and the end of a run wake it at once,
// without tell.
func (e *entry) tell(n news) {
	at := e.due(n)
	if !e.at.IsZero() && !at.Before(e.at) {
		return
	}

	e.at, e.reported = at, e.reported || n == reported
	e.wake(max(time.Until(at), 0))
}
