package main

import (
	"fmt"
	"runtime"
)

// What was built, stamped by the build.
var (
	version = "dev"
	commit  = "unknown" //nolint:gochecknoglobals // The linter knows of version only.
)

// versions of what the plugin is made of, a line each.
func versions() string {
	return fmt.Sprintf("kubectl-ansible %s\ncommit %s\n%s", version, commit, runtime.Version())
}
