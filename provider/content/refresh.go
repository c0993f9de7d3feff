package content

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

const (
	// maxRefreshes at a time: they must not take from runs what these need.
	maxRefreshes = 2
	// refreshTimeout of one, so that a server that hangs does not keep others.
	refreshTimeout = 10 * time.Minute
)

// A Resolution is what a request is known to resolve to.
type Resolution struct {
	// Set that serves. Its directory may go at any time: who needs it asks
	// Ensure for it.
	Set Set
	// Found is true when there is such a set, or when nothing is required.
	Found bool
	// Resolved is when it was last known that the request resolves to the set,
	// also when it was removed since; the zero time when that is not known.
	Resolved time.Time
	// Stale is true when the request is to be resolved again, see Refresh, and
	// until that has ended.
	Stale bool
	// Due is when it will be; the zero time when never, or when it is being
	// resolved.
	Due time.Time
	// Err is why it could not be resolved again; nil when it could, or when
	// nobody tried.
	Err error
}

// Resolution of a request. It reads nothing from the disk.
func (s *Store) Resolution(req Request) (Resolution, error) {
	digest, err := s.Digest(req)
	if err != nil || digest == "" {
		return Resolution{Found: err == nil}, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	h := s.histories[digest]
	r := Resolution{Resolved: h.resolved, Err: h.err}

	if e := s.current(digest); e != nil {
		r.Set, r.Found = e.set(), true
	}

	if s.ttl == 0 || req.Requirements.Pinned() {
		return r, nil
	}

	if _, busy := s.refreshes[digest]; busy {
		r.Stale = true

		return r, nil
	}

	r.Due = h.due(s.ttl)
	r.Stale = !s.now().Before(r.Due)

	return r, nil
}

// A refresh resolves a request again.
type refresh struct {
	// wake those who wait for its end, by who they are.
	wake map[string]func()
}

// Refresh resolves a request again in the background if it is stale. Wake is
// called when that has ended, once however often the same one asks for it.
func (s *Store) Refresh(req Request, who string, wake func()) error {
	r, err := s.Resolution(req)
	if err != nil {
		return err
	}

	digest, err := s.Digest(req)
	if err != nil {
		return err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if f, ok := s.refreshes[digest]; ok {
		f.wake[who] = wake

		return nil
	}

	if !r.Stale || s.background.Err() != nil {
		return nil
	}

	f := &refresh{wake: map[string]func(){who: wake}}
	s.refreshes[digest] = f

	s.refreshing.Go(func() { s.refresh(digest, req, f) })

	return nil
}

// refresh is what Refresh does in the background.
func (s *Store) refresh(digest string, req Request, r *refresh) {
	err := s.resolve(digest, req)

	s.mu.Lock()

	delete(s.refreshes, digest)

	stopped := s.background.Err() != nil
	if err != nil && !stopped {
		s.histories[digest] = s.histories[digest].failedAt(s.now(), err)
	}

	wake := r.wake
	s.mu.Unlock()

	if stopped {
		return
	}

	for _, fn := range wake {
		fn()
	}
}

// resolve a request once there is a free slot.
func (s *Store) resolve(digest string, req Request) error {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-s.background.Done():
		return context.Cause(s.background)
	}

	// Somebody who could not wait may have been faster.
	if !s.due(digest) {
		return nil
	}

	ctx, cancel := context.WithTimeoutCause(s.background, refreshTimeout, errors.Errorf("it took longer than %s", refreshTimeout))
	defer cancel()

	f, joined, _ := s.join(ctx, digest, req, true)

	e, err := s.wait(ctx, f, joined)
	if e != nil {
		s.drop(e)
	}

	return err
}

func (s *Store) due(digest string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	return !s.now().Before(s.histories[digest].due(s.ttl))
}
