package galaxy

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
)

// A Program to run.
type Program struct {
	// Argv of the program. The first is its name, or the path of its executable.
	Argv []string
	// Env of the program, and all of it.
	Env []string
	// Dir is its working directory.
	Dir string
	// Out takes its standard output and its standard error.
	Out io.Writer
	// Domain that it is confined to.
	Domain sandbox.Domain
}

// A Command runs a program to its end, with nothing on its standard input. It
// returns an error when the program fails, a StartError when it cannot be run, and
// ends all that the program started when the context is done.
type Command func(ctx context.Context, p Program) error

// Supervised returns a Command that runs programs under a supervisor, confined to their
// domains. Grace is how long the processes may take to end on their own. The lock is held until
// the last of them is gone; it may be nil.
func Supervised(grace time.Duration, lock *os.File) Command {
	return func(ctx context.Context, p Program) error {
		code, err := supervisor.Command{
			Argv: p.Argv, Env: p.Env, Dir: p.Dir, Domain: p.Domain, Grace: grace, Lock: lock,
			Stdout: p.Out, Stderr: p.Out,
		}.Run(ctx)

		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, new(*supervisor.MemoryError)):
			return errors.Wrap(err, filepath.Base(p.Argv[0]))
		case err != nil:
			return &StartError{err}
		case code != 0:
			return errors.Errorf("%s failed with exit status %d", filepath.Base(p.Argv[0]), code)
		}

		return nil
	}
}

// Version returns the version of the tools, such as "core 2.19.14", as ansible-galaxy says.
func Version(ctx context.Context, own []string) (string, error) {
	cmd := exec.CommandContext(ctx, "ansible-galaxy", "--version")
	// Ansible makes a directory in the home of the user.
	cmd.Env = append(environ.List(environ.Passed(own)), environ.List(environ.Home(own))...)

	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", errors.Wrap(withReason(err, string(out)), "cannot ask ansible-galaxy for its version")
	}

	line, _, _ := strings.Cut(string(out), "\n")

	_, version, ok := strings.Cut(line, "[")
	if !ok {
		return "", errors.Errorf("ansible-galaxy does not say its version but %q", line)
	}

	return strings.TrimSuffix(version, "]"), nil
}

// withReason wraps an error with the reason that the output of the program gives.
func withReason(err error, output string) error {
	if said := reason(output); said != "" {
		return errors.Wrap(err, said)
	}

	return err
}

// A tail keeps the last bytes that are written to it.
type tail struct {
	buf bytes.Buffer
	max int
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	t.buf.Write(p)

	if over := t.buf.Len() - t.max; over > 0 {
		t.buf.Next(over)
	}

	return n, nil
}

func (t *tail) String() string { return t.buf.String() }
