package main

import (
	"fmt"
	"runtime"
)

// Version and commit of the source. The build sets them.
var (
	version = "dev"
	commit  = "unknown" //nolint:gochecknoglobals // The linter knows of version only.
)

// versions returns the version of the function, the commit and the version of Go, each on a line.
func versions() string {
	return fmt.Sprintf("function-ansible %s\ncommit %s\n%s", version, commit, runtime.Version())
}
