package pool

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

// Progress is told after firstPause, and then after longer pauses up to lastPause. Each
// update of a composed resource takes a token of the circuit breaker of its composite
// resource, which all composed resources share: a burst of 50, then one every 2 s.
const (
	phasePause = 3 * time.Second
	firstPause = 10 * time.Second
	lastPause  = time.Minute
	pauseGrows = 1.5
)

// News of a job, the most patient first.
type news int

const (
	// progressed to another task.
	progressed news = iota
	// reported by the content.
	reported
	// entered a phase.
	entered
)

// newsOf a job that was known by its last report.
func newsOf(last, now executor.Report) news {
	same := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }

	switch {
	case last.Run.Phase != now.Run.Phase:
		return entered
	case !maps.EqualFunc(last.Reported.Outputs, now.Reported.Outputs, same),
		!slices.Equal(last.Reported.Conditions, now.Reported.Conditions):
		return reported
	}

	return progressed
}

// A pace spaces the news of a job: progress is told at growing intervals, what
// content reports the first time at once and then after the first interval, and
// a phase when it lasts. The start of a job and its end are told at once.
type pace struct {
	last  time.Time
	pause time.Duration
	heard bool
}

// at is when news are told.
func (p *pace) at(now time.Time, n news) time.Time {
	at := now

	switch {
	case n == entered:
		at = p.last.Add(phasePause)
	case n == progressed:
		at = p.last.Add(p.pause)
	case n == reported && p.heard:
		at = p.last.Add(firstPause)
	}

	if at.Before(now) {
		return now
	}

	return at
}

// told the news.
func (p *pace) told(now time.Time, n news) {
	switch n {
	case progressed:
		p.pause = min(time.Duration(float64(p.pause)*pauseGrows), lastPause)
	case reported:
		p.heard = true
	case entered:
		p.pause = firstPause
	}

	p.last = now
}
