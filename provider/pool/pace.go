package pool

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

// Pauses between the times at which progress is told: firstPause, and then longer ones up to
// lastPause. Each update of a composed resource takes a token of the circuit breaker of its
// composite resource, which all composed resources share: 50 at once, then one every 2 s.
const (
	phasePause = 3 * time.Second
	firstPause = 10 * time.Second
	lastPause  = time.Minute
	pauseGrows = 1.5
)

// News of a job, the least urgent first.
type news int

const (
	// progressed to another task.
	progressed news = iota
	// reported by the content.
	reported
	// entered a phase.
	entered
)

// newsOf returns what is new in a report of a job, compared to the last one.
func newsOf(last, now executor.Report) news {
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

// A pace spaces the news of a job. Progress is told at growing intervals. The first report of
// content is told at once, later ones after firstPause. A phase is told when it has lasted
// for phasePause. The start of a job and its end are told at once.
type pace struct {
	// last is when news were told.
	last time.Time
	// pause before the next progress is told.
	pause time.Duration
	// reported is true once a report of the content was told.
	reported bool
}

// at is when news that come now are to be told.
func (p *pace) at(now time.Time, n news) time.Time {
	at := now

	switch {
	case n == entered:
		at = p.last.Add(phasePause)
	case n == progressed:
		at = p.last.Add(p.pause)
	case n == reported && p.reported:
		at = p.last.Add(firstPause)
	}

	if at.Before(now) {
		return now
	}

	return at
}

// told notes that news were told.
func (p *pace) told(now time.Time, n news) {
	switch n {
	case progressed:
		p.pause = min(time.Duration(float64(p.pause)*pauseGrows), lastPause)
	case reported:
		p.reported = true
	case entered:
		p.pause = firstPause
	}

	p.last = now
}
