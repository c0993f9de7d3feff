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
)

// install a set. When the disk is full, sets that are not in use are removed, a little more each
// time, and the installation is tried again; not so for a refresh, which can wait.
func (s *Store) install(ctx context.Context, digest string, req Request, again bool) (*entry, Result, error) {
	given, known := req.Request, Set{}
	if !again {
		given, known = s.pinnedToKnown(digest, req)
	}

	e, result, err := s.attempt(ctx, digest, req, given, known)
	for isFull(err) && !again && s.freeSpace(digest) {
		e, result, err = s.attempt(ctx, digest, req, given, known)
	}

	switch {
	case err == nil:
		return e, result, nil
	case isFull(err):
		err = &DiskFullError{Dir: s.config.Dir, Err: err}
	}

	return nil, resultOf(ctx, err), err
}

// attempt an installation in a workspace. What is installed there becomes the content set. Given
// is the request for ansible-galaxy; if that is repeated, known is the set that it asks for.
func (s *Store) attempt(ctx context.Context, digest string, req Request, given galaxy.Request,
	known Set,
) (*entry, Result, error) {
	w, err := s.newWorkspace(digest)
	if err != nil {
		return nil, "", err
	}
	defer w.remove()

	project, err := s.config.Installer.Install(ctx, given, w.Workspace)
	if err != nil {
		return nil, "", err
	}

	if err := w.checkSet(project != nil); err != nil {
		return nil, "", installedError(ctx, err)
	}

	m, err := installed.New(ctx, w.Set(), digest, req.Requirements, req.Verification, project,
		installed.Bounds(s.config.Installer.Policy.RunSize))
	if err != nil {
		return nil, "", installedError(ctx, err)
	}

	if err := m.Write(w.Set()); err != nil {
		return nil, "", err
	}

	resolved := s.config.now()
	if given.Repeated {
		resolved = known.Resolved
	}

	e, result, err := s.publish(w.Set(), m, resolved)
	if err == nil {
		s.setOf(req, e)
	}

	return e, result, err
}

// publish a complete set in the store, with one use. A current set with the same content stays
// in its place, also one that another process has put there meanwhile. Resolved is when the request was
// resolved to the set: before now, if the versions of then were installed again.
func (s *Store) publish(dir string, m installed.Manifest, resolved time.Time) (*entry, Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	// Another process may have installed the same meanwhile.
	if s.config.Lease > 0 {
		if err := s.load(); err != nil {
			return nil, "", err
		}
	}

	for {
		was := s.current(m.Digest)

		if was != nil && was.there() && was.manifest.Same(m) {
			was.resolved = resolved
			mark(was.dir, markResolved, resolved)
			s.histories.Add(m.Digest, history{resolved: resolved})

			// A refresh alone is no use.
			if s.config.Lease > 0 {
				s.use(was)
			}

			was.uses++

			return was, ResultUnchanged, nil
		}

		number := s.next(m.Digest)
		e := newEntry(m, number, filepath.Join(s.sets(), entryName(m.Digest, number)))
		e.used, e.resolved, e.uses = s.config.now(), resolved, 1

		// A set that a refresh replaces is as recently used as the one before it.
		if was != nil && s.config.Lease == 0 {
			e.used = was.used
		}

		mark(dir, markResolved, resolved)
		mark(dir, markUsed, e.used)

		err := os.Rename(dir, e.dir)
		if errors.Is(err, fs.ErrExist) {
			// Another process was faster.
			if err = s.load(); err == nil {
				continue
			}
		}

		if err != nil {
			return nil, "", errors.Wrap(err, "cannot move a content set to its place")
		}

		s.entries[e.dir] = e
		s.histories.Add(m.Digest, history{resolved: resolved})
		s.observeSize()

		return e, ResultInstalled, nil
	}
}
