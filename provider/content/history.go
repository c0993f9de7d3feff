package content

import "time"

// Back-off between attempts to resolve content again.
const (
	firstBackoff = 30 * time.Second
	lastBackoff  = 10 * time.Minute
)

// A history is how resolving a request has gone.
type history struct {
	// resolved last; the zero time when that is not known.
	resolved time.Time
	// failures to resolve it again since then, the last one at failed with err.
	failures int
	failed   time.Time
	err      error
}

// due is when a request that is not pinned is to be resolved again.
func (h history) due(ttl time.Duration) time.Time {
	switch {
	case h.failures > 0:
		return h.failed.Add(backoff(h.failures, ttl))
	case h.resolved.IsZero():
		return time.Time{}
	}

	return h.resolved.Add(ttl)
}

// backoff after so many failures: never more than the TTL.
func backoff(failures int, ttl time.Duration) time.Duration {
	d := firstBackoff
	for range failures - 1 {
		if d = min(2*d, lastBackoff); d == lastBackoff {
			break
		}
	}

	return min(d, ttl)
}

// failedAt is the history after another failure.
func (h history) failedAt(at time.Time, err error) history {
	h.failures++
	h.failed = at
	h.err = err

	return h
}
