// Package galaxy runs ansible-galaxy, which runs git and ssh, and git for the project of a run. A Request says what is
// to be installed, and with which files and variables of a configuration. Requests that are given the same share what
// was installed. An Installer carries one out in a Workspace. The error says why ansible-galaxy failed, and
// what to do about it. Package content decides when something is installed, and keeps it.
package galaxy

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

const (
	// maxOutput of ansible-galaxy that is kept for the reason of its failure, in bytes.
	maxOutput = 64 << 10
	// enough is the free space on a disk that is not full, in bytes, where an installation has no limit.
	enough = 1 << 30
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
	// Set is the directory of what is installed, which may be in the private one.
	Set string
}

// Home has the credentials, and is the working directory.
func (w Workspace) Home() string { return filepath.Join(w.Private, "home") }

// Temp is for temporary files.
func (w Workspace) Temp() string { return filepath.Join(w.Private, "temp") }

// Collections is where collections are installed.
func (w Workspace) Collections() string { return filepath.Join(w.Set, CollectionsDir) }

// Roles is where roles are installed.
func (w Workspace) Roles() string { return filepath.Join(w.Set, RolesDir) }

// full is true when a disk of the workspace has less room than an installation may take.
func (w Workspace) full(limit int64) bool {
	return slices.ContainsFunc([]string{w.Private, w.Set}, func(dir string) bool {
		var s unix.Statfs_t

		// Some file systems count no inodes.
		return unix.Statfs(dir, &s) == nil && (int64(s.Bavail)*s.Bsize < cmp.Or(limit, enough) || s.Files > 0 && s.Ffree == 0) //nolint:gosec // No disk has that many blocks.
	})
}

// An Installer runs ansible-galaxy.
type Installer struct {
	// Run a program to its end, and all that it starts, as supervisor.Command.Run does.
	Run func(p supervisor.Command, ctx context.Context) (code int, err error)
	// Grace is how long the processes may take to end on their own.
	Grace time.Duration
	// Lock that is held until the last of them is gone; it may be nil.
	Lock *os.File
	// Policy confines ansible-galaxy, and what it starts, to the workspace. Its RunSize
	// is what the workspace may take on disk.
	Policy sandbox.Policy
	// Environ of the provider, as name=value.
	Environ []string
}

// An installation in progress.
type installation struct {
	Installer

	req Request
	w   Workspace
}

// Install what is requested in a workspace, and return the project that was installed; nil for
// none. The error is an InstallError when ansible-galaxy or git failed, ENOSPC when the disk was full, and
// the cause of the context when that is done. Any other error is the fault of the provider or its
// machine.
func (i Installer) Install(ctx context.Context, req Request, w Workspace) (project *common.ContentItem, err error) {
	in := &installation{Installer: i, req: req, w: w}
	if err := in.writeCredentials(); err != nil {
		return nil, err
	}

	if req.Requirements.Project != nil {
		if project, err = in.project(ctx); err != nil {
			return nil, err
		}

		if err := in.writeCredentials(); err != nil {
			return nil, err
		}
	}

	var signed []string
	if v := req.Verification; v != nil && v.Keyring != "" {
		signed = []string{"--keyring", filepath.Join(w.Home(), v.Keyring), "--required-valid-signature-count", v.Signatures}
	}

	required := in.req.Requirements

	err = in.step(ctx, "collection", w.Collections(), requirements.File{Collections: required.Collections}, signed...)
	if err == nil {
		err = in.step(ctx, "role", w.Roles(), requirements.File{Roles: required.Roles})
	}

	return project, err
}

// writeCredentials into the working directory. What fetched the project may have put anything in their place.
func (in *installation) writeCredentials() error {
	for _, f := range in.req.Credentials {
		if err := workdir.WriteFile(filepath.Join(in.w.Home(), f.Name), f.Data); err != nil {
			return errors.Wrapf(err, "cannot write %s", f.Name)
		}
	}

	return nil
}

// step installs all that is required of one kind into a directory. The step before may have put anything in the place
// of its file. Of what users write the options for verification alone are arguments, which other processes can see.
func (in *installation) step(ctx context.Context, kind, dir string, required requirements.File,
	options ...string,
) error {
	if required.Empty() {
		return nil
	}

	text, _ := json.Marshal(required) //nolint:errchkjson // It has texts only.
	file := filepath.Join(in.w.Private, kind+"s.yml")

	if err := workdir.WriteFile(file, text); err != nil {
		return errors.Wrapf(err, "cannot write the required %ss", kind)
	}

	argv := append([]string{"ansible-galaxy", kind, "install", "-r", file, "-p", dir}, options...)
	_, err := in.run(ctx, kind+"s", in.w.Home(), argv...)

	return err
}

// run a program that installs something in a directory, confined to the workspace, and return its output.
func (in *installation) run(ctx context.Context, what, dir string, argv ...string) (string, error) {
	domain, err := in.Policy.Domain(nil, []string{in.w.Private, in.w.Set}, in.req.Grant)
	if err != nil {
		return "", NewInstallError(what, err)
	}

	out := &tail{max: maxOutput}
	env := environment(in.Environ, in.req, in.w)

	ctx, done := workdir.WithLimit(ctx, in.Policy.RunSize, in.w.Private, in.w.Set)
	defer done()

	code, err := in.Run(supervisor.Command{
		Argv: argv, Env: env, Dir: dir, Stdout: out, Stderr: out, Domain: domain, Grace: in.Grace, Lock: in.Lock,
	}, ctx)
	text, cause := out.String(), context.Cause(ctx)

	switch {
	case errors.As(cause, new(*workdir.SizeError)): // It is the fault of the content.
		return "", NewInstallError(what, cause)
	case cause != nil:
		return "", cause
	case errors.Is(err, unix.E2BIG):
		// Of the environment only the variables of the configuration can be that long.
		return "", NewInstallError(what, errors.New("spec.vars of the configuration are too long for an environment"))
	case errors.As(err, new(*supervisor.MemoryError)):
		return "", NewInstallError(what, errors.Wrap(err, filepath.Base(argv[0])))
	case err != nil:
		return "", errors.Wrapf(withReason(err, in.req.Redact(text, len(text))), "cannot run %s", argv[0])
	case code == 0:
		return text, nil
	case SaysFull(text) && in.w.full(in.Policy.RunSize):
		// The text alone may be that of a source: a server's, or the name of a file.
		return "", errors.Wrapf(unix.ENOSPC, "%s failed", argv[0])
	}

	failed := errors.Errorf("%s failed with exit status %d", filepath.Base(argv[0]), code)

	return "", installErrorFrom(what, text, failed, in.req)
}
