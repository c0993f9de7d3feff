package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"syscall"

	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

// confined returns an argv of this binary that enters a domain and then becomes the given
// argv. The supervisor stays outside: it must see the processes that it has to end, and they
// must not be able to end it.
func confined(self []string, d sandbox.Domain, argv ...string) ([]string, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("cannot encode what the command is confined to: %w", err)
	}

	return append(append(append([]string{}, self...), "--enter="+string(text), "--"), argv...), nil
}

// Probe whether the kernel keeps a process in a domain from paths: it enters the domain and tries to read them. The
// error says what it could read, or why that is not known.
func Probe(ctx context.Context, self []string, d sandbox.Domain, paths ...string) error {
	argv, err := confined(append(slices.Clone(self), "--probe"), d, paths...)
	if err != nil {
		return err
	}

	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("a process was to be kept from files: %w: %s", err, bytes.TrimSpace(out))
	}

	return nil
}

// probe whether paths cannot be read in a domain that a text describes. Those that are not there cannot.
func probe(text string, paths []string) int {
	if err := enterDomain(text); err != nil {
		return fail(exitFailure, err)
	}

	for _, path := range paths {
		f, err := os.Open(path)
		if err == nil {
			return fail(exitFailure, fmt.Errorf("it can read %q", f.Name()))
		}

		if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
			return fail(exitFailure, err)
		}
	}

	return 0
}

// enter the domain that a text describes, and become the command.
func enter(text string, argv []string) int {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return fail(exitNotFound, fmt.Errorf("cannot find the command: %w", err))
	}

	if err := enterDomain(text); err != nil {
		return fail(exitFailure, err)
	}

	err = syscall.Exec(path, argv, os.Environ())

	return fail(exitNotFound, fmt.Errorf("cannot start %q: %w", path, err))
}

func enterDomain(text string) error {
	var d sandbox.Domain
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return fmt.Errorf("cannot decode what the command is confined to: %w", err)
	}

	return d.Enter()
}
