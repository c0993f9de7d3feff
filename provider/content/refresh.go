package content

import (
	"time"
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
	// Stale is true from when the request is to be resolved again, see Refresh, until that
	// has ended.
	Stale bool
	// Due is when the request is to be resolved again; the zero time when never, or while
	// it is being resolved.
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

	r := s.resolution(digest, req)
	if _, busy := s.refreshes[digest]; busy {
		r.Stale, r.Due = true, time.Time{}
	}

	return r
}

// resolution of a request that requires something, as if it was not being resolved again now. The store is locked.
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
func (s *Store) Refresh(req Request, caller string, wake func()) {
	digest := s.digest(req)
	if digest == "" {
		return
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if waiting, ok := s.refreshes[digest]; ok {
		waiting[caller] = wake

		return
	}

	if !s.isDue(digest, req) || s.background.Err() != nil {
		return
	}

	s.refreshes[digest] = map[string]func(){caller: wake}

	s.refreshing.Go(func() { s.refresh(digest, req) })
}

// isDue is true for a request that Refresh resolves now. The store is locked.
func (s *Store) isDue(digest string, req Request) bool {
	r := s.resolution(digest, req)

	return r.Stale || !r.Found && s.failuresOf(digest).heldBack(s.config.now()) == nil
}

// refresh is what Refresh does in the background.
func (s *Store) refresh(digest string, req Request) {
	s.resolve(digest, req)

	s.mu.Lock()

	waiting := s.refreshes[digest]
	delete(s.refreshes, digest)
	s.mu.Unlock()

	if s.background.Err() != nil {
		return
	}

	for _, wake := range waiting {
		wake()
	}
}

// resolve a request once there is a place for a refresh.
func (s *Store) resolve(digest string, req Request) {
	leave, err := s.refreshPlaces.Enter(s.background, req.Tenant)
	if err != nil {
		return
	}
	defer leave()

	unlock, err := s.lock(s.background, digest)
	if err != nil {
		return
	}
	defer unlock()

	s.mu.Lock()
	due := s.isDue(digest, req)
	s.mu.Unlock()

	// An installation for a run may have resolved it meanwhile.
	if !due {
		return
	}

	ctx, cancel := within(s.background, refreshTimeout)
	defer cancel()

	if e, _ := s.install(ctx, digest, req, true); e != nil {
		s.release(e)
	}
}
