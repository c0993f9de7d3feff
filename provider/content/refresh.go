package content

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxRefreshes is how many run at a time, so that they leave enough to runs.
	maxRefreshes = 2
	// refreshTimeout of one, so that a server that hangs does not delay others.
	refreshTimeout = 10 * time.Minute
)

// A Resolution is what a request is known to resolve to.
type Resolution struct {
	// Set that runs get at present. Its directory may be removed at any time: only Ensure
	// keeps it.
	Set Set
	// Found is true when the set is in the store, or when nothing is required.
	Found bool
	// Stale is true from when the request is to be resolved again, see Refresh, until that was tried.
	Stale bool
	// Due is when the request is to be resolved again; the zero time when never.
	Due time.Time
	// Err is why the request could not be resolved again; nil when it could, or when that
	// was not tried.
	Err error
}

// Resolution of a request. It reads nothing from the disk.
func (s *Store) Resolution(req Request) Resolution {
	digest := s.digest(req)
	if digest == "" {
		return Resolution{Found: true}
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	return s.resolution(digest, req)
}

// resolution of a request that requires something. The store is locked.
func (s *Store) resolution(digest string, req Request) Resolution {
	failures := s.failuresOf(digest)
	r := Resolution{Err: failures.err}

	var resolved time.Time // The zero time if it is not known.

	if e := s.current(digest); e != nil {
		r.Set, r.Found, resolved = e.set(), true, e.resolved
	} else if known, ok := s.resolved.Get(s.lasting(req)); ok {
		resolved = known.(time.Time) //nolint:forcetypeassert // There is nothing else.
	}

	if s.config.TTL > 0 && !req.Requirements.Pinned() {
		r.Due = failures.due(resolved, s.config.TTL)
		r.Stale = !s.config.now().Before(r.Due)
	}

	return r
}

// Refresh resolves a request in the background if it is stale, or its set is not in the store. Wake is called when that
// has ended, once for each caller, however often Refresh was called.
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

// Resolve a request again if it is stale and its set is in the store, within its timeout. When that fails, the set goes
// on serving.
func (s *Store) Resolve(ctx context.Context, req Request) error {
	if r := s.Resolution(req); !r.Found || !r.Stale {
		return nil
	}

	ctx, cancel := within(ctx, req.Timeout)
	defer cancel()

	return s.resolve(ctx, s.digest(req), req)
}

// resolve a request once there is a place for a refresh.
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
