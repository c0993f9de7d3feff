package content

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/manifest"
)

// install what is requested. When there is no room for it, sets that nobody uses
// make some, a little more each time, unless what is requested only may have changed.
func (s *Store) install(ctx context.Context, digest string, req Request, again bool) (*entry, Result, error) {
	given, known := req.Request, Set{}
	if !again {
		given, known = s.exactly(digest, req)
	}

	e, result, err := s.attempt(ctx, digest, req, given, known)
	for isFull(err) && !again && s.makeRoom(digest) {
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

// attempt to install what is requested into a workspace, which becomes a content
// set when all is there. Given is what ansible-galaxy gets of the request.
func (s *Store) attempt(ctx context.Context, digest string, req Request, given galaxy.Request, known Set) (*entry, Result, error) {
	w, err := newWorkspace(s.temp(), digest)
	if err != nil {
		return nil, "", err
	}
	defer w.remove()

	if err := s.config.Installer.Install(ctx, given, w.Workspace); err != nil {
		return nil, "", err
	}

	if err := w.sound(); err != nil {
		return nil, "", unfit(ctx, err)
	}

	m, err := manifest.New(ctx, w.Set(), digest, req.Requirements, manifest.Bounds(s.config.Installer.Policy.RunSize))
	if err != nil {
		return nil, "", unfit(ctx, err)
	}

	if err := m.Verify(req.Verification); err != nil {
		return nil, "", unfit(ctx, err)
	}

	if err := m.Write(w.Set()); err != nil {
		return nil, "", err
	}

	stamp, err := manifest.Stamp(ctx, w.Set())
	if err != nil {
		return nil, "", err
	}

	resolved := s.config.now()
	if given.Repeated {
		resolved = known.Resolved
	}

	e, result, err := s.publish(w.Set(), m, stamp, resolved)
	if err == nil {
		s.setOf(req, e)
	}

	return e, result, err
}

// publish a set that is complete, in use already. What serves goes on serving
// when it has the same content. Resolved is when it was known that it is what is
// required: not now, where it is only what was required before.
func (s *Store) publish(dir string, m manifest.Manifest, stamp string, resolved time.Time) (*entry, Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	now := s.config.now()
	was := s.current(m.Digest)

	if was != nil && was.manifest.Same(m) {
		was.uses++
		was.resolved = resolved
		mark(was.dir, markResolved, resolved)
		s.histories.Add(m.Digest, history{resolved: resolved})

		return was, ResultUnchanged, nil
	}

	number := s.next(m.Digest)
	e := newEntry(m, number, filepath.Join(s.sets(), entryName(m.Digest, number)))
	e.stamp, e.used, e.resolved, e.uses = stamp, now, resolved, 1

	// It was not used yet, and takes the place of one that may not have been for
	// long.
	if was != nil {
		e.used = was.used
	}

	mark(dir, markResolved, resolved)
	mark(dir, markUsed, e.used)

	if err := s.place(dir, e.dir); err != nil {
		return nil, "", err
	}

	s.entries[e.dir] = e
	s.histories.Add(m.Digest, history{resolved: resolved})
	s.tell()

	return e, ResultInstalled, nil
}

// place a set where it is to be. What is there is no set of this store: it could
// not be removed.
func (s *Store) place(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return errors.Wrap(err, "cannot remove a damaged content set")
	}

	return errors.Wrap(os.Rename(from, to), "cannot move a content set to its place")
}
