package content

import "time"

// Back-off between attempts to install the same.
const (
	firstBackoff = 30 * time.Second
	lastBackoff  = 10 * time.Minute
)

// maxFailures is of how many requests they are remembered, those that were asked for last.
const maxFailures = 2048

// failures of the installations of one request since the last that succeeded. The last one was at a time, with err.
type failures struct {
	count int
	last  time.Time
	err   error
}

// due is when a request that is not pinned, and was resolved at a time, is to be resolved again.
func (f failures) due(resolved time.Time, ttl time.Duration) time.Time {
	switch {
	case f.count > 0:
		return f.last.Add(min(f.backoff(), ttl))
	case resolved.IsZero():
		return time.Time{}
	}

	return resolved.Add(ttl)
}

// heldBack returns the error while an installation that has failed must not be tried again; nil when it may. A clock
// that was set back delays a request by one back-off at most.
func (f failures) heldBack(now time.Time) error {
	// The status shows the time in seconds only.
	until := f.last.Add(f.backoff()).Truncate(time.Second)
	if f.count == 0 || !now.Before(until) || until.Sub(now) > lastBackoff {
		return nil
	}

	return &BackoffError{Until: until, Err: f.err}
}

func (f failures) backoff() time.Duration {
	return min(firstBackoff<<max(min(f.count-1, 10), 0), lastBackoff)
}

// failuresOf a request. The store is locked.
func (s *Store) failuresOf(digest string) failures {
	f, _ := s.failed.Get(digest)
	known, _ := f.(failures)

	return known
}
