package content

import (
	"context"
	"os"
	"path/filepath"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// maxOutput of ansible-galaxy that is kept, for the reason of its failure.
const maxOutput = 64 << 10

// install what is requested into a workspace, which becomes the content set
// when all is there.
func (s *Store) install(ctx context.Context, digest string, req Request) error {
	w, err := newWorkspace(s.temp(), digest)
	if err != nil {
		return err
	}
	defer w.remove()

	if err := w.write(req.Credentials); err != nil {
		return err
	}

	if err := s.collections(ctx, req, w); err != nil {
		return err
	}

	if err := s.roles(ctx, req, w); err != nil {
		return err
	}

	if err := complete(w.set, req.Requirements); err != nil {
		return err
	}

	return s.publish(w.set)
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
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return errors.Wrapf(err, "cannot write the required %s", what)
	}

	out := &tail{max: maxOutput}
	env := environment(s.environ, req.Env, req.Credentials, w)

	err := s.run(ctx, argv, env, w.home, out)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}

	if err != nil {
		return installError(what, out.String(), err, req)
	}

	return nil
}

// complete writes down what was installed.
func complete(set Set, required Requirements) error {
	collections, err := installedCollections(set.CollectionsPath())
	if err != nil {
		return err
	}

	roles, err := installedRoles(set.RolesPath())
	if err != nil {
		return err
	}

	return writeManifest(set.Dir, manifest{
		Digest:       set.Digest,
		Requirements: required,
		Collections:  collections,
		Roles:        roles,
	})
}

// publish the set under its digest. Another process that shares the store may
// have been faster; then the set is there already.
func (s *Store) publish(set Set) error {
	into := s.path(set.Digest)

	err := os.Rename(set.Dir, into)
	if err == nil {
		return nil
	}

	if _, merr := readManifest(into); merr == nil {
		return nil
	}

	if rerr := os.RemoveAll(into); rerr != nil {
		return errors.Wrap(rerr, "cannot remove a damaged content set")
	}

	return errors.Wrap(os.Rename(set.Dir, into), "cannot move a content set to its place")
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}

	return s
}
