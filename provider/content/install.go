package content

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// maxOutput of ansible-galaxy that is kept, for the reason of its failure.
const maxOutput = 64 << 10

// install what is requested. When there is no room for it, sets that nobody uses
// make some, a little more each time, unless what is requested only may have changed.
func (s *Store) install(ctx context.Context, digest string, req Request, again bool) (*entry, Result, error) {
	given, known := req, Set{}
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
		err = &DiskFullError{Dir: s.dir, Err: err}
	}

	return nil, resultOf(ctx, err), err
}

// attempt to install what is requested into a workspace, which becomes a content
// set when all is there. Given is what ansible-galaxy gets of the request.
func (s *Store) attempt(ctx context.Context, digest string, req, given Request, known Set) (*entry, Result, error) {
	w, err := newWorkspace(s.temp(), digest)
	if err != nil {
		return nil, "", err
	}
	defer w.remove()

	if err := s.galaxy(ctx, given, w); err != nil {
		return nil, "", err
	}

	if err := w.sound(); err != nil {
		return nil, "", unfit(ctx, err)
	}

	m, err := newManifest(ctx, w.set, req.Requirements, bounds(s.policy.RunSize))
	if err != nil {
		return nil, "", unfit(ctx, err)
	}

	if err := m.verify(req.Verification); err != nil {
		return nil, "", unfit(ctx, err)
	}

	if err := writeManifest(w.set.Dir, m); err != nil {
		return nil, "", err
	}

	stamp, err := stampTree(ctx, w.set.Dir)
	if err != nil {
		return nil, "", err
	}

	resolved := s.now()
	if given.exact {
		resolved = known.Resolved
	}

	e, result, err := s.publish(w.set.Dir, m, stamp, resolved)
	if err == nil {
		s.setOf(req, e)
	}

	return e, result, err
}

// galaxy runs ansible-galaxy with what the recipe of the request says, and with
// nothing else.
func (s *Store) galaxy(ctx context.Context, req Request, w *workspace) error {
	c, err := req.recipe(s.environ, w.layout)
	if err != nil {
		return err
	}

	if err := w.write(c.Files); err != nil {
		return err
	}

	for _, p := range c.Programs {
		if err := s.program(ctx, req, w, c, p); err != nil {
			return err
		}
	}

	return nil
}

func (s *Store) program(ctx context.Context, req Request, w *workspace, c recipe, p program) error {
	if err := writeNew(p.File, p.Text); err != nil {
		return errors.Wrapf(err, "cannot write the required %s", p.What)
	}

	out := &tail{max: maxOutput}

	domain, err := s.policy.Domain(nil, []string{w.dir}, c.Grant)
	if err != nil {
		return &InstallError{What: p.What, Reason: clip.Text(err.Error(), maxReason), Err: err}
	}

	ctx, done := workdir.WithLimit(ctx, w.dir, s.policy.RunSize)
	defer done()

	err = s.run(ctx, Program{Argv: p.Argv, Env: c.Env, Dir: w.home, Out: out, Domain: domain})
	if ctx.Err() != nil {
		return ended(p.What, context.Cause(ctx))
	}

	switch text := out.String(); {
	case err == nil:
		return nil
	case SaysFull(text):
		return errors.Wrap(unix.ENOSPC, "ansible-galaxy failed")
	case errors.Is(err, unix.E2BIG):
		// Only the configuration has a say in its length.
		return &InstallError{What: p.What, Reason: "spec.vars of the configuration are too long for an environment", Err: err}
	case errors.As(err, new(*supervisor.MemoryError)):
		return &InstallError{What: p.What, Reason: err.Error(), Err: err}
	case errors.As(err, new(*StartError)):
		return errors.Wrap(saying(err, req.redact(text)), "cannot run ansible-galaxy")
	default:
		return installError(p.What, text, err, req)
	}
}

// ended says why ansible-galaxy did not get to its end.
func ended(what string, cause error) error {
	if e := new(workdir.SizeError); errors.As(cause, &e) {
		return &InstallError{What: what, Reason: e.Error(), Err: e}
	}

	return cause
}

// publish a set that is complete, in use already. What serves goes on serving
// when it has the same content. Resolved is when it was known that it is what is
// required: not now, where it is only what was required before.
func (s *Store) publish(dir string, m manifest, stamp string, resolved time.Time) (*entry, Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	now := s.now()
	was := s.current(m.Digest)

	if was != nil && was.manifest.same(m) {
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
