package content

import (
	"context"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/quota"
)

// maxOutput of ansible-galaxy that is kept, for the reason of its failure.
const maxOutput = 64 << 10

// install what is requested. When there is no room for it, sets that nobody uses
// make some, unless what is requested only may have changed.
func (s *Store) install(ctx context.Context, digest string, req Request, again bool) (*entry, Result, error) {
	e, result, err := s.attempt(ctx, digest, req)
	if isFull(err) && !again && s.makeRoom(digest) {
		e, result, err = s.attempt(ctx, digest, req)
	}

	switch {
	case err == nil:
		return e, result, nil
	case isFull(err):
		err = &DiskFullError{Dir: s.dir, Err: err}
	}

	return nil, resultOf(ctx, err), err
}

// attempt to install what is requested into a workspace, which becomes a content
// set when all is there.
func (s *Store) attempt(ctx context.Context, digest string, req Request) (*entry, Result, error) {
	w, err := newWorkspace(s.temp(), digest)
	if err != nil {
		return nil, "", err
	}
	defer w.remove()

	if err := w.write(req.Credentials); err != nil {
		return nil, "", err
	}

	if err := s.collections(ctx, req, w); err != nil {
		return nil, "", err
	}

	if err := s.roles(ctx, req, w); err != nil {
		return nil, "", err
	}

	if err := w.sound(); err != nil {
		return nil, "", err
	}

	m, err := newManifest(w.set, req.Requirements)
	if err != nil {
		return nil, "", err
	}

	if err := writeManifest(w.set.Dir, m); err != nil {
		return nil, "", err
	}

	stamp, err := stampTree(w.set.Dir)
	if err != nil {
		return nil, "", err
	}

	return s.publish(w.set.Dir, m, stamp)
}

func (s *Store) collections(ctx context.Context, req Request, w *workspace) error {
	if len(req.Requirements.Collections) == 0 {
		return nil
	}

	text, err := req.Requirements.collectionsFile()
	if err != nil {
		return errors.Wrap(err, "cannot encode the required collections")
	}

	file := filepath.Join(w.dir, "collections.yml")

	return s.galaxy(ctx, req, w, "collections", file, text,
		"ansible-galaxy", "collection", "install", "-r", file, "-p", w.set.CollectionsPath())
}

func (s *Store) roles(ctx context.Context, req Request, w *workspace) error {
	if len(req.Requirements.Roles) == 0 {
		return nil
	}

	text, err := req.Requirements.rolesFile()
	if err != nil {
		return errors.Wrap(err, "cannot encode the required roles")
	}

	file := filepath.Join(w.dir, "roles.yml")

	return s.galaxy(ctx, req, w, "roles", file, text,
		"ansible-galaxy", "role", "install", "-r", file, "-p", w.set.RolesPath())
}

// galaxy writes a requirements file and runs ansible-galaxy with it. Nothing
// that a user says is in its arguments.
func (s *Store) galaxy(ctx context.Context, req Request, w *workspace, what, file string, text []byte, argv ...string) error {
	if err := writeNew(file, text); err != nil {
		return errors.Wrapf(err, "cannot write the required %s", what)
	}

	out := &tail{max: maxOutput}

	domain, err := s.policy.Domain(nil, []string{w.dir}, req.Grant)
	if err != nil {
		return err
	}

	ctx, done := quota.WithLimit(ctx, w.dir, s.policy.RunSize)
	defer done()

	err = s.run(ctx, Program{
		Argv: argv, Env: environment(s.environ, req.Env, req.Credentials, w), Dir: w.home, Out: out, Domain: domain,
	})
	if ctx.Err() != nil {
		return ended(what, context.Cause(ctx))
	}

	switch text := out.String(); {
	case err == nil:
		return nil
	case saysFull(text):
		return errors.Wrap(unix.ENOSPC, "ansible-galaxy failed")
	default:
		return installError(what, text, err, req)
	}
}

// ended says why ansible-galaxy did not get to its end.
func ended(what string, cause error) error {
	if e := new(quota.Error); errors.As(cause, &e) {
		return &InstallError{What: what, Reason: e.Error(), Err: e}
	}

	return cause
}

// publish a set that is complete, in use already. What serves goes on serving
// when it has the same content.
func (s *Store) publish(dir string, m manifest, stamp string) (*entry, Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	now := s.now()
	was := s.current(m.Digest)

	if was != nil && was.manifest.same(m) {
		was.uses++
		mark(was.dir, markResolved, now)
		s.histories[m.Digest] = history{resolved: now}

		return was, ResultUnchanged, nil
	}

	e := &entry{manifest: m, number: s.next(m.Digest), stamp: stamp, used: now, uses: 1}
	e.dir = filepath.Join(s.sets(), entryName(m.Digest, e.number))

	// It was not used yet, and takes the place of one that may not have been for
	// long.
	if was != nil {
		e.used = was.used
	}

	mark(dir, markResolved, now)
	mark(dir, markUsed, e.used)

	if err := s.place(dir, e.dir); err != nil {
		return nil, "", err
	}

	s.entries[e.dir] = e
	s.histories[m.Digest] = history{resolved: now}
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

func orElse(s, other string) string {
	if s == "" {
		return other
	}

	return s
}
