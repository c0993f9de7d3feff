package content

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxRefreshes is the largest number of refreshes at a time, so that they leave resources to runs.
	maxRefreshes = 2
	// refreshTimeout is the timeout of a refresh, so that a server that hangs does not delay others.
	refreshTimeout = 10 * time.Minute
)

// A Resolution is the known result of resolving a request.
type Resolution struct {
	// Set that runs use at present. Its directory may be removed at any time: only Ensure keeps it.
	Set Set
	// Found is true if the set is in the store, or if the request requires no content.
	Found bool
	// Stale is true once Due is over, until Refresh has tried to resolve the request.
	Stale bool
	// Due is the time at which the request must be resolved again; the zero time means never.
	Due time.Time
	// Err is the error of the last attempt to resolve the request; nil if it succeeded, or if there was none.
	Err error
}

// Resolution returns the resolution of a request. It does not read from the disk.
func (s *Store) Resolution(req Request) Resolution {
	digest := s.digest(req)
	if digest == "" {
		return Resolution{Found: true}
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	return s.resolution(digest, req)
}

// resolution returns the resolution of a request that requires content. The store is locked.
func (s *Store) resolution(digest string, req Request) Resolution {
	failures := s.failuresOf(digest)
	r := Resolution{Err: failures.err}

	var resolved time.Time // The zero time if it is not known.

	if e := s.current(digest); e != nil {
		r.Set, r.Found, resolved = e.set(), true, e.resolved
	} else if known, ok := s.resolved.Get(s.lasting(req)); ok {
		resolved = known.(time.Time) //nolint:forcetypeassert // All values are times.
	}

	if s.config.TTL > 0 && !req.Requirements.Pinned() {
		r.Due = failures.due(resolved, s.config.TTL)
		r.Stale = !s.config.now().Before(r.Due)
	}

	return r
}

// Refresh resolves a request in the background if it is stale, or if its set is not in the store. wake is called at the
// end, once for each caller, however often the caller has called Refresh.
func (s *Store) Refresh(req Request, caller types.UID, wake func()) {
	digest := s.digest(req)
	if digest == "" {
		return
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	key := "refresh " + digest
	if s.tasks[key] == nil && !s.isDue(digest, req) {
		return
	}

	s.join(key, caller, wake, func(ctx context.Context) error { return s.resolve(ctx, digest, req) })
}

// isDue is true for a request that Refresh resolves now. The store is locked.
func (s *Store) isDue(digest string, req Request) bool {
	r := s.resolution(digest, req)

	return r.Stale || !r.Found && s.failuresOf(digest).heldBack(s.config.now()) == nil
}

// Resolve resolves a request again, within its timeout, if it is stale and its set is in the store. After an error,
// runs still use the set.
func (s *Store) Resolve(ctx context.Context, req Request) error {
	if r := s.Resolution(req); !r.Found || !r.Stale {
		return nil
	}

	ctx, cancel := within(ctx, req.Timeout)
	defer cancel()

	return s.resolve(ctx, s.digest(req), req)
}

// resolve resolves a request once there is a free place for a refresh.
func (s *Store) resolve(ctx context.Context, digest string, req Request) error {
	leave, err := s.refreshPlaces.Enter(ctx, req.Tenant)
	if err != nil {
		return err
	}
	defer leave()

	unlock, err := s.lock(ctx, digest)
	if err != nil {
		return err
	}
	defer unlock()

	s.mu.Lock()
	due := s.isDue(digest, req)
	s.mu.Unlock()

	// An installation for a run may have resolved it meanwhile.
	if !due {
		return nil
	}

	ctx, cancel := within(ctx, refreshTimeout)
	defer cancel()

	e, err := s.install(ctx, digest, req, true)
	if e != nil {
		s.release(e)
	}

	return err
}
