package content

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/installed"
)

// install a set. When the disk is full, all sets that are not in use are removed, and the installation is tried again;
// not so for a refresh, which can wait.
func (s *Store) install(ctx context.Context, digest string, req Request, again bool) (*entry, Result, error) {
	e, result, err := s.attempt(ctx, digest, req)
	if isFull(err) && !again && s.freeSpace(digest) {
		e, result, err = s.attempt(ctx, digest, req)
	}

	if isFull(err) {
		err = errors.Wrapf(err, "cannot install content: the disk of the content store (%s) is full: "+
			"give the provider a bigger volume for its --state-dir", s.config.Dir)
	}

	if err != nil {
		return nil, resultOf(ctx, err), err
	}

	return e, result, nil
}

// attempt an installation in a workspace. What is installed there becomes the content set.
func (s *Store) attempt(ctx context.Context, digest string, req Request) (*entry, Result, error) {
	resolved := s.config.now()

	w, err := s.newWorkspace(digest)
	if err != nil {
		return nil, "", err
	}
	defer w.remove()

	project, err := s.config.Installer.Install(ctx, req.Request, w.Workspace)
	if err != nil {
		return nil, "", err
	}

	if err := w.checkSet(project != nil); err != nil {
		return nil, "", installedError(ctx, err)
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

// publish a complete set in the store, with one use. A current set with the same content stays
// in its place, also one that another process has put there meanwhile. Resolved is when the request was
// resolved to the set.
func (s *Store) publish(dir string, m installed.Manifest, req Request, resolved time.Time) (*entry, Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	// A time that cannot be written is not known after a restart, which does no harm.
	_ = os.Chtimes(filepath.Join(dir, installed.File), resolved, resolved)

	for {
		if err := s.load(m.Digest); err != nil {
			return nil, "", err
		}

		e, result := s.current(m.Digest), ResultUnchanged

		if e != nil && e.manifest.Same(m) {
			_ = os.Chtimes(filepath.Join(e.dir, installed.File), resolved, resolved)
		} else {
			e, result = s.newEntry(m.Digest, s.next(m.Digest)), ResultInstalled
			e.manifest = m

			err := os.Rename(dir, e.dir)
			if errors.Is(err, fs.ErrExist) {
				continue // Another process was faster.
			}

			if err != nil {
				return nil, "", errors.Wrap(err, "cannot move a content set to its place")
			}

			s.entries[e.dir] = e
			s.observeSize()
		}

		_ = s.use(e)
		e.resolved = resolved
		e.uses++
		s.failed.Remove(m.Digest)
		s.resolved.Add(s.lasting(req), resolved)

		return e, result, nil
	}
}
