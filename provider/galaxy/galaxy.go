// Package galaxy installs content: it runs ansible-galaxy for collections and roles, and git for projects. A Request
// has the requirements, and the files and variables of a configuration. Requests with the same Given share an
// installation. An Installer carries a request out in a Workspace. The error says why that failed, and how to mend the
// cause. Package content decides when to install, and stores the results.
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
	// maxOutput is how many bytes at the end of ansible-galaxy's output are searched for the reason of a failure.
	maxOutput = 64 << 10
	// minFree is the free space, in bytes, below which a disk counts as full, for an installation without a limit.
	minFree = 1 << 30
)

// Directories of an installation in which Ansible finds collections and roles.
const (
	CollectionsDir = "collections"
	RolesDir       = "roles"
)

// A Workspace has the directories of one installation. They must exist before it begins.
type Workspace struct {
	// Private directory, with the credentials and temporary files.
	Private string
	// Set is the directory of the installed content. It may be in the private directory.
	Set string
}

// Home is the working directory, with the credentials.
func (w Workspace) Home() string { return filepath.Join(w.Private, "home") }

// Temp is the directory of temporary files.
func (w Workspace) Temp() string { return filepath.Join(w.Private, "temp") }

// Collections is the directory of installed collections.
func (w Workspace) Collections() string { return filepath.Join(w.Set, CollectionsDir) }

// Roles is the directory of installed roles.
func (w Workspace) Roles() string { return filepath.Join(w.Set, RolesDir) }

// diskFull is true when a disk of the workspace has less free space than an installation may take.
func (w Workspace) diskFull(limit int64) bool {
	return slices.ContainsFunc([]string{w.Private, w.Set}, func(dir string) bool {
		var s unix.Statfs_t

		// Some file systems report no inodes.
		return unix.Statfs(dir, &s) == nil && (int64(s.Bavail)*s.Bsize < cmp.Or(limit, minFree) || s.Files > 0 && s.Ffree == 0) //nolint:gosec // No disk has that many blocks.
	})
}

// An Installer runs ansible-galaxy.
type Installer struct {
	// Run a program and its descendants to their end, as supervisor.Command.Run does.
	Run func(p supervisor.Command, ctx context.Context) (code int, err error)
	// Grace is the time between the signals TERM and KILL.
	Grace time.Duration
	// Lock is held until the last process is gone; it may be nil.
	Lock *os.File
	// Policy confines ansible-galaxy and its descendants to the workspace. Its RunSize is the largest size of the
	// workspace on disk.
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

// Install the requirements of a request in a workspace, and return the project that was installed; nil for none. The
// error is an InstallError if ansible-galaxy or git failed, ENOSPC if the disk was full, and the cause of the context
// when that is done. Any other error is the fault of the provider or its machine.
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

// writeCredentials writes the credentials into the working directory. It runs again after the project was fetched,
// since a program of the fetch may have replaced them.
func (in *installation) writeCredentials() error {
	for _, f := range in.req.Credentials {
		if err := workdir.WriteFile(filepath.Join(in.w.Home(), f.Name), f.Data); err != nil {
			return errors.Wrapf(err, "cannot write %s", f.Name)
		}
	}

	return nil
}

// step installs the requirements of one kind into a directory. It writes the file of requirements anew, since programs
// of the step before may have replaced it. Other processes can see arguments: of the users' settings, only the options
// of the verification are arguments.
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

// run a program in a directory, confined to the workspace, and return its output.
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
	case errors.As(cause, new(*workdir.SizeError)): // The content is too large.
		return "", NewInstallError(what, cause)
	case cause != nil:
		return "", cause
	case errors.Is(err, unix.E2BIG):
		// The other variables of the environment are not that long.
		return "", NewInstallError(what, errors.New("spec.vars of the configuration are too long for an environment"))
	case errors.As(err, new(*supervisor.MemoryError)):
		return "", NewInstallError(what, errors.Wrap(err, filepath.Base(argv[0])))
	case err != nil:
		return "", errors.Wrapf(withReason(err, in.req.Redact(text, len(text))), "cannot run %s", argv[0])
	case code == 0:
		return text, nil
	case SaysFull(text) && in.w.diskFull(in.Policy.RunSize):
		// The text alone is no proof: a server or the name of a file may contain it.
		return "", errors.Wrapf(unix.ENOSPC, "%s failed", argv[0])
	}

	failed := errors.Errorf("%s failed with exit status %d", filepath.Base(argv[0]), code)

	return "", installErrorFrom(what, text, failed, in.req)
}
