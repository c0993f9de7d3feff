package supervisor

import (
	"fmt"
	"os"
)

// asSupervisor is the first argument of a supervisor.
const asSupervisor = "supervise"

// Self returns the argv that executes this binary as a supervisor. What follows it are the arguments of a supervisor.
func Self() ([]string, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find this binary: %w", err)
	}

	return []string{path, asSupervisor}, nil
}

// A binary that imports this package is a supervisor when it is executed as one. That happens while packages are
// initialised, in the order of what they import: a supervisor does not wait for the clients, schemes and metrics of a
// provider. It is there in a third of the time, and takes a quarter of the memory for as long as the run lasts.
func init() { //nolint:gochecknoinits // See above.
	if len(os.Args) > 1 && os.Args[1] == asSupervisor {
		os.Exit(run(os.Args[2:]))
	}
}
