package supervisor

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
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

// enter the domain that a text describes, and become the command.
func enter(text string, argv []string) int {
	var d sandbox.Domain
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return fail(exitFailure, fmt.Errorf("cannot decode what the command is confined to: %w", err))
	}

	path, err := exec.LookPath(argv[0])
	if err != nil {
		return fail(exitNotFound, fmt.Errorf("cannot find the command: %w", err))
	}

	if err := d.Enter(); err != nil {
		return fail(exitFailure, err)
	}

	err = syscall.Exec(path, argv, os.Environ())

	return fail(exitNotFound, fmt.Errorf("cannot start %q: %w", path, err))
}
