package pool

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// Pauses between the times at which an object is told what is new. Each update of a composed resource takes a token of
// the circuit breaker of its composite resource, which all composed resources share: 50 at once, then one every 2 s.
const (
	phasePause = 3 * time.Second
	firstPause = 10 * time.Second
	lastPause  = time.Minute
)

// News of a run, the least urgent first.
type news int

const (
	// progressed to another task.
	progressed news = iota
	// reported by the content.
	reported
	// entered a phase.
	entered
)

// newsOf returns what is new in a report of a run, compared to the last one.
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

// due is when an object is told its news: a phase when it has lasted for a moment, the first report of its content at
// once and later ones after a pause, and progress the more seldom the longer the run takes.
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

// tell the object its news when they are due, unless it is told something before. The start of a run and its end are
// told at once.
func (e *entry) tell(n news) {
	at := e.due(n)
	if !e.at.IsZero() && !at.Before(e.at) {
		return
	}

	e.at, e.reported = at, e.reported || n == reported
	e.wake(max(time.Until(at), 0))
}
