package content

import "time"

// Back-off between attempts to install the same request.
const (
	firstBackoff = 30 * time.Second
	lastBackoff  = 10 * time.Minute
)

// maxFailures is the number of requests with known failures. The least recently used ones are forgotten.
const maxFailures = 2048

// failures counts the failed installations of one request since the last success. last and err are those of the last
// one.
type failures struct {
	count int
	last  time.Time
	err   error
}

// due returns the time at which a request that is not pinned must be resolved again, given the last time.
func (f failures) due(resolved time.Time, ttl time.Duration) time.Time {
	switch {
	case f.count > 0:
		return f.last.Add(min(f.backoff(), ttl))
	case resolved.IsZero():
		return time.Time{}
	}

	return resolved.Add(ttl)
}

// heldBack returns a BackoffError while a failed installation must not be tried again, and nil otherwise. A clock that
// was set back delays a request by one back-off at most.
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

// failuresOf returns the failures of a request. The store is locked.
func (s *Store) failuresOf(digest string) failures {
	f, _ := s.failed.Get(digest)
	known, _ := f.(failures)

	return known
}
