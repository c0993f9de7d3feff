//go:build race

package reexec

import "os"

// binary is the path of the binary to execute as a supervisor. A build with the
// race detector, which only tests make, takes the build without it that the
// environment may name: the detector needs longer to start and to end than what
// a supervisor does.
func binary() (string, error) {
	if path := os.Getenv("SUPERVISOR"); path != "" {
		return path, nil
	}

	return os.Executable()
}
