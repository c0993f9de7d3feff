//go:build !race

package reexec

import "os"

// binary is the path of the binary to execute as a supervisor: this one.
func binary() (string, error) { return os.Executable() }
