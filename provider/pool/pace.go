package pool

import "time"

// How often progress is reported. Composed resources share the circuit breaker
// of their composite resource: a burst of about 50 updates, then one per 2 s.
const (
	firstPause = 10 * time.Second
	lastPause  = time.Minute
	pauseGrows = 1.5
)

// A pace spaces progress reports at growing intervals.
type pace struct {
	next  time.Time
	pause time.Duration
}

// due is true when it is time to report progress. A new phase is always
// reported, and starts over.
func (p *pace) due(now time.Time, newPhase bool) bool {
	if newPhase {
		p.pause = firstPause
		p.next = now.Add(p.pause)

		return true
	}

	if now.Before(p.next) {
		return false
	}

	p.pause = min(time.Duration(float64(p.pause)*pauseGrows), lastPause)
	p.next = now.Add(p.pause)

	return true
}
