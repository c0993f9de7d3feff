package galaxy

import (
	"bytes"
	"context"
	"os/exec"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
)

// Version returns the version of the tools, such as "core 2.19.14", as ansible-galaxy prints it.
func Version(ctx context.Context, own []string) (string, error) {
	cmd := exec.CommandContext(ctx, "ansible-galaxy", "--version")
	// Ansible creates a directory in the home of the user.
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

// withReason wraps an error with the reason in the output of the program.
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
