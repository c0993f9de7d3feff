// Package reexec makes a supervisor of a binary that imports it, when it is
// executed as one.
//
// That happens while packages are initialised, in the order of what they import:
// a supervisor needs little, and does not wait for the clients, schemes and
// metrics of a provider. It is there in a third of the time, three times in each
// run, and takes a quarter of the memory for as long as the run lasts.
package reexec

import (
	"fmt"
	"os"

	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
)

// supervise is the first argument of a supervisor.
const supervise = "supervise"

// Self returns the argv that executes this binary as a supervisor. What follows
// it is passed to supervisor.Main.
func Self() ([]string, error) {
	path, err := binary()
	if err != nil {
		return nil, fmt.Errorf("cannot find this binary: %w", err)
	}

	return []string{path, supervise}, nil
}

func init() { //nolint:gochecknoinits // It is what this package is for.
	if len(os.Args) > 1 && os.Args[1] == supervise {
		os.Exit(supervisor.Main(os.Args[2:]))
	}
}
