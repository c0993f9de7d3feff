package content

import (
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Back-off between attempts to install the same.
const (
	firstBackoff = 30 * time.Second
	lastBackoff  = 10 * time.Minute
)

// maxHistories that are remembered, those that were asked for last.
const maxHistories = 2048

// A history is how the installations of one request have ended.
type history struct {
	// resolved is when the last one succeeded; the zero time when that is not known.
	resolved time.Time
	// failures since then, of which the last one was at failed with err.
	failures int
	failed   time.Time
	err      error
}

// due is when a request that is not pinned is to be resolved again.
func (h history) due(ttl time.Duration) time.Time {
	switch {
	case h.failures > 0:
		return h.failed.Add(min(backoff(h.failures), ttl))
	case h.resolved.IsZero():
		return time.Time{}
	}

	return h.resolved.Add(ttl)
}

// heldBack returns the error for a request with a timeout while an installation that has
// failed must not be tried again; nil when it may. A clock that was set back delays a request
// by one back-off at most. An installation that was too slow for a short timeout does not
// delay a request with a longer one.
func (h history) heldBack(now time.Time, timeout time.Duration) error {
	// The status shows the time in seconds only.
	until := h.failed.Add(backoff(h.failures)).Truncate(time.Second)
	if h.failures == 0 || !now.Before(until) || until.Sub(now) > lastBackoff {
		return nil
	}

	slow := &slowError{}
	if errors.As(h.err, &slow) && (timeout == 0 || timeout > slow.after) {
		return nil
	}

	return &BackoffError{Until: until, Err: h.err}
}

// backoff after so many failures.
func backoff(failures int) time.Duration {
	return min(firstBackoff<<max(min(failures-1, 10), 0), lastBackoff)
}

// failedAt returns the history after another failure.
func (h history) failedAt(at time.Time, err error) history {
	h.failures++
	h.failed = at
	h.err = err

	return h
}

// history of a request. The store is locked.
func (s *Store) history(digest string) history {
	if h, ok := s.histories.Get(digest); ok {
		return h.(history) //nolint:forcetypeassert // There is nothing else.
	}

	// The entry knows when it was resolved, also when its history was dropped.
	if e := s.current(digest); e != nil {
		return history{resolved: e.resolved}
	}

	return history{}
}
