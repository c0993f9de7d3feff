// Package galaxy runs ansible-galaxy, which runs git and ssh, and git for the project of a run. A Request says what is
// to be installed, and with which files and variables of a configuration. The Recipe of a request is
// all that ansible-galaxy is given: requests with the same recipe share what was installed. An
// Installer carries a recipe out in a Workspace. The error says why ansible-galaxy failed, and
// what to do about it. Package content decides when something is installed, and keeps it.
package galaxy

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// maxOutput of ansible-galaxy that is kept for the reason of its failure, in bytes.
const maxOutput = 64 << 10

// A disk with fewer than minFree bytes may have been full. It is looked at each watchInterval.
const (
	minFree       = 64 << 20
	watchInterval = 20 * time.Millisecond
)

// Directories of a set: Ansible finds collections and roles there.
const (
	CollectionsDir = "collections"
	RolesDir       = "roles"
)

// A Workspace is where one installation works. Its directories must be there before that begins.
type Workspace struct {
	// Private directory, with the credentials and temporary files.
	Private string
	// Target is the directory of what is installed.
	Target string
}

// Home has the credentials, and is the working directory.
func (w Workspace) Home() string { return w.path("home") }

// Temp is for temporary files.
func (w Workspace) Temp() string { return w.path("temp") }

// Set is the directory of what is installed.
func (w Workspace) Set() string { return w.Target }

// Collections is where collections are installed.
func (w Workspace) Collections() string { return filepath.Join(w.Set(), CollectionsDir) }

// Roles is where roles are installed.
func (w Workspace) Roles() string { return filepath.Join(w.Set(), RolesDir) }

// withLimit returns a context that is done when a directory takes more on disk, as that of
// workdir.WithLimit.
func (w Workspace) withLimit(ctx context.Context, limit int64) (context.Context, context.CancelFunc) {
	ctx, done := workdir.WithLimit(ctx, w.Private, limit)

	// The target may be in the private directory.
	if strings.HasPrefix(w.Target, w.Private+string(filepath.Separator)) {
		return ctx, done
	}

	ctx, doneToo := workdir.WithLimit(ctx, w.Target, limit)

	return ctx, func() { doneToo(); done() }
}

// full is true when next to nothing can be written to a disk of the workspace.
func (w Workspace) full() bool {
	return slices.ContainsFunc([]string{w.Private, w.Target}, func(dir string) bool {
		var s unix.Statfs_t

		// Some file systems count no inodes.
		return unix.Statfs(dir, &s) == nil && (int64(s.Bavail)*s.Bsize < minFree || s.Files > 0 && s.Ffree == 0) //nolint:gosec // No disk has that many blocks.
	})
}

// watch the disks of the workspace, until the returned function says whether one was full meanwhile: programs remove
// what they have written when they fail.
func (w Workspace) watch() (wasFull func() bool) {
	ended, full := make(chan struct{}), make(chan bool, 1)

	go func() {
		for !w.full() {
			select {
			case <-ended:
				full <- w.full()

				return
			case <-time.After(watchInterval):
			}
		}

		full <- true
	}()

	return func() bool { close(ended); return <-full }
}

func (w Workspace) path(name string) string { return filepath.Join(w.Private, name) }

// An Installer runs ansible-galaxy.
type Installer struct {
	// Command runs programs.
	Command Command
	// Policy confines ansible-galaxy, and what it starts, to the workspace. Its RunSize
	// is what the workspace may take on disk.
	Policy sandbox.Policy
	// Environ of the provider, as name=value. Recipes have the variables that
	// ansible-galaxy needs.
	Environ []string
}

// Install what is requested in a workspace, and return the project that was installed; nil for
// none. The error is an InstallError when ansible-galaxy or git failed, ENOSPC when the disk was full, and
// the cause of the context when that is done. Any other error is the fault of the provider or its
// machine.
func (i Installer) Install(ctx context.Context, req Request, w Workspace) (project *common.ContentItem, err error) {
	r := req.recipe(i.Environ, w)
	if err := r.write(w); err != nil {
		return nil, err
	}

	if req.Requirements.Project != nil {
		if req, project, err = i.project(ctx, req, w, r); err != nil {
			return nil, err
		}

		r = req.recipe(i.Environ, w)
		if err := r.write(w); err != nil {
			return nil, err
		}
	}

	for _, s := range r.Steps {
		if err := i.step(ctx, req, w, r, s); err != nil {
			return nil, err
		}
	}

	return project, nil
}

// write the files of a recipe. What fetched the project may have put anything in their place.
func (r Recipe) write(w Workspace) error {
	for name, data := range r.Files {
		if err := workdir.WriteFile(filepath.Join(w.Home(), name), data); err != nil {
			return errors.Wrapf(err, "cannot write %s", name)
		}
	}

	return nil
}

// step carries out a step of a recipe. The step before may have put anything in the place of
// its file, so it is written anew.
func (i Installer) step(ctx context.Context, req Request, w Workspace, r Recipe, s Step) error {
	if err := workdir.WriteFile(s.File, s.Text); err != nil {
		return errors.Wrapf(err, "cannot write the required %s", s.What)
	}

	out := &tail{max: maxOutput}

	return i.run(ctx, req, w, r, s.What, Program{Argv: s.Argv, Env: r.Env, Dir: w.Home(), Out: out}, out)
}

// run a program of a recipe, which installs something, confined to the workspace. Its output is that of the program.
func (i Installer) run(ctx context.Context, req Request, w Workspace, r Recipe, what string, p Program,
	out *tail,
) error {
	var err error
	if p.Domain, err = i.Policy.Domain(nil, []string{w.Private, w.Target}, r.Grant); err != nil {
		return NewInstallError(what, err)
	}

	ctx, done := w.withLimit(ctx, i.Policy.RunSize)
	defer done()

	wasFull := w.watch()
	err = i.Command(ctx, p)
	full := wasFull()

	if ctx.Err() != nil {
		return stopError(what, context.Cause(ctx))
	}

	switch text := out.String(); {
	case err == nil:
		return nil
	case full && SaysFull(text):
		// The text alone may be that of a source: a server's, or the name of a file.
		return errors.Wrapf(unix.ENOSPC, "%s failed", p.Argv[0])
	case errors.Is(err, unix.E2BIG):
		// Of the environment only the variables of the configuration can be that long.
		return NewInstallError(what, errors.New("spec.vars of the configuration are too long for an environment"))
	case errors.As(err, new(*supervisor.MemoryError)):
		return NewInstallError(what, err)
	case errors.As(err, new(*StartError)):
		return errors.Wrapf(withReason(err, req.Redact(text, len(text))), "cannot run %s", p.Argv[0])
	default:
		return installErrorFrom(what, text, err, req)
	}
}

// stopError returns the error of an installation after its context is done: an InstallError when
// the workspace got too large, which is the fault of the content.
func stopError(what string, cause error) error {
	if e := new(workdir.SizeError); errors.As(cause, &e) {
		return NewInstallError(what, e)
	}

	return cause
}
