package supervisor

import "os"

// asSupervisor is the first argument of a supervisor.
const asSupervisor = "supervise"

// A binary that imports this package is a supervisor when it is executed as one. That happens while packages are
// initialised, in the order of what they import: a supervisor does not wait for the clients, schemes and metrics of a
// provider. It is there in a third of the time, and takes a quarter of the memory for as long as the run lasts.
func init() { //nolint:gochecknoinits // See above.
	if len(os.Args) > 1 && os.Args[1] == asSupervisor {
		os.Exit(run(os.Args[2:]))
	}
}
