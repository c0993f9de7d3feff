package content

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/installed"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
)

// ensure returns a set that was not found in the store. It installs the set once there is a free place, unless another
// caller has installed it, or has failed to, since the call.
func (s *Store) ensure(ctx context.Context, digest string, req Request) (*entry, error) {
	asked := s.config.now()

	unlock, err := s.lock(ctx, digest)
	if err != nil {
		return nil, err
	}
	defer unlock()

	if e, err := s.find(digest); e != nil || err != nil {
		return e, err
	}

	s.mu.Lock()
	f := s.failuresOf(digest)
	s.mu.Unlock()

	if err := f.heldBack(s.config.now()); err != nil && (req.Asked == "" || f.last.After(asked)) {
		return nil, err
	}

	leave, err := s.installPlaces.Enter(ctx, req.Tenant)
	if err != nil {
		return nil, gaveUp(ctx)
	}
	defer leave()

	ctx, cancel := within(ctx, req.Timeout)
	defer cancel()

	return s.install(ctx, digest, req, false)
}

// lock locks a request, so that no other goroutine installs it. Other processes that share the store may install it.
func (s *Store) lock(ctx context.Context, digest string) (unlock func(), err error) {
	for ctx.Err() == nil {
		s.mu.Lock()

		other, busy := s.installing[digest]
		if !busy {
			done := make(chan struct{})
			s.installing[digest] = done
			s.mu.Unlock()

			return func() {
				s.mu.Lock()
				delete(s.installing, digest)
				s.mu.Unlock()
				close(done)
			}, nil
		}

		s.mu.Unlock()

		select {
		case <-other:
		case <-ctx.Done():
		}
	}

	return nil, gaveUp(ctx)
}

func gaveUp(ctx context.Context) error {
	return errors.Wrap(context.Cause(ctx), "gave up waiting for the content to be installed")
}

// within returns a context with a timeout; 0 means none.
func within(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout == 0 {
		return context.WithCancel(ctx)
	}

	return context.WithTimeoutCause(ctx, timeout, &galaxy.InstallError{
		What: "content", Reason: "it took longer than " + timeout.String(), Err: context.DeadlineExceeded,
	})
}

// install installs a set, and records its use. again is true for a refresh, which installs a set that exists to find
// out whether the request resolves to another one. The request is locked.
func (s *Store) install(ctx context.Context, digest string, req Request, again bool) (*entry, error) {
	began := s.config.now()
	e, result, err := s.tryInstall(ctx, digest, req, again)

	s.mu.Lock()
	defer s.unlock()

	switch {
	case err == nil:
	case (ctx.Err() != nil || errors.Is(err, context.Canceled)) && !errors.Is(err, context.DeadlineExceeded):
		result = resultCanceled // A timeout is a failure.
	default:
		result = resultFailed
		s.failed.Add(digest, failures{count: s.failuresOf(digest).count + 1, last: s.config.now(), err: err})
	}

	s.config.Metrics.installed(again, result, s.config.now().Sub(began))
	s.tidy()

	return e, err
}

// tryInstall installs a set. If the disk is full, it evicts all sets that are not in use and tries again, except for a
// refresh, which can wait. A panic must not end the runs of other objects.
func (s *Store) tryInstall(ctx context.Context, digest string, req Request, again bool,
) (e *entry, result string, err error) {
	defer redact.Panic(func() {
		e, err = nil, errors.New("the provider has made a mistake; its log has a stack trace")
	})

	e, result, err = s.attempt(ctx, digest, req)
	if isFull(err) && !again && s.freeSpace(digest) {
		e, result, err = s.attempt(ctx, digest, req)
	}

	if isFull(err) {
		err = errors.Wrapf(err, "cannot install content: the disk of the content store (%s) is full: "+
			"give the provider a bigger volume for its --state-dir", s.config.Dir)
	}

	return e, result, err
}

// attempt installs content in a workspace, and publishes it as a set.
func (s *Store) attempt(ctx context.Context, digest string, req Request) (*entry, string, error) {
	resolved := s.config.now()

	w, err := s.newWorkspace(digest)
	defer discard(w)

	if err != nil {
		return nil, "", err
	}

	project, err := s.config.Installer.Install(ctx, req.Request, w)
	if err != nil {
		return nil, "", err
	}

	m, err := installed.New(ctx, w.Set, digest, req.Requirements, req.Verification, project,
		installed.Bounds(s.config.Installer.Policy.RunSize))
	if err != nil {
		return nil, "", installedError(ctx, err)
	}

	if err := m.Write(w.Set); err != nil {
		return nil, "", err
	}

	return s.publish(w.Set, m, req, resolved)
}

// publish moves a complete set into the store, and records one use. If the current set, which another process may have
// published, has the same content, it is used instead. resolved is the time at which the request resolved to the set.
func (s *Store) publish(dir string, m installed.Manifest, req Request, resolved time.Time) (*entry, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	// An error is harmless: the time is not known after a restart.
	_ = os.Chtimes(filepath.Join(dir, installed.File), resolved, resolved)

	for {
		if err := s.load(m.Digest); err != nil {
			return nil, "", err
		}

		e, result := s.current(m.Digest), resultUnchanged

		if e != nil && e.manifest.Same(m) {
			_ = os.Chtimes(filepath.Join(e.dir, installed.File), resolved, resolved)
		} else {
			e, result = s.newEntry(m.Digest), resultInstalled
			e.manifest = m

			err := os.Rename(dir, e.dir)
			if errors.Is(err, fs.ErrExist) {
				continue // Another process was faster.
			}

			if err != nil {
				return nil, "", errors.Wrap(err, "cannot move a content set to its place")
			}

			s.entries[e.dir] = e
		}

		_ = s.use(e)
		e.resolved = resolved
		e.uses++
		s.failed.Remove(m.Digest)
		s.resolved.Add(s.lasting(req), resolved)

		return e, result, nil
	}
}
