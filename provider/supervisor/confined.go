package supervisor

import (
	"encoding/json"
	"os"
	"os/exec"
	"syscall"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/confine"
)

// confined returns an argv that becomes the given one after it has entered a
// domain. The supervisor that starts it stays outside: it must see what it has
// to end, and must not be ended by that.
func confined(self []string, d confine.Domain, argv ...string) ([]string, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode what the command is confined to")
	}

	return append(append(append([]string{}, self...), "--enter="+string(text), "--"), argv...), nil
}

func enter(text string, argv []string) int {
	var d confine.Domain
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return fail(exitFailure, errors.Wrap(err, "cannot decode what the command is confined to"))
	}

	path, err := exec.LookPath(argv[0])
	if err != nil {
		return fail(exitNotFound, errors.Wrap(err, "cannot find the command"))
	}

	if err := d.Enter(); err != nil {
		return fail(exitFailure, err)
	}

	err = syscall.Exec(path, argv, os.Environ())

	return fail(exitNotFound, errors.Wrapf(err, "cannot start %q", path))
}
