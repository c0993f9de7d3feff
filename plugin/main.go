// Package main is kubectl-ansible, a plugin of kubectl for the operation of Ansible in a cluster: it shows the runs
// of XRs, claims and AnsibleRuns, says why they wait, and asks for runs.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Exit statuses.
const (
	exitError  = 1
	exitFailed = 2
	exitTime   = 3
)

// What was built, stamped by the build.
var (
	version = "dev"
	commit  = "unknown" //nolint:gochecknoglobals // The linter knows of version only.
)

// errFailed is the end of runs that did not all succeed.
var errFailed = errors.New("not all runs have succeeded")

// errTime is the end of a wait with a time limit.
var errTime = errors.New("the time is over, and the runs go on")

func main() {
	os.Exit(run(arguments(os.Args), os.Stdout, os.Stderr))
}

// completer is what the name of the program begins with that kubectl asks for completions. It is a link to the
// plugin, and gets the arguments alone.
const completer = "kubectl_complete-"

// arguments of the plugin, which was called by a name.
func arguments(called []string) []string {
	name, args := called[0], called[1:]
	if strings.HasPrefix(filepath.Base(name), completer) {
		return append([]string{cobra.ShellCompRequestCmd}, args...)
	}

	return args
}

// run the plugin, and return its exit status.
func run(args []string, out, errs io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	c := newPlugin(out, errs).root()
	c.SetArgs(args)

	err := c.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(errs, "error:", err) //nolint:errcheck // There is no way to report it.
	}

	switch {
	case err == nil:
		return 0
	case errors.Is(err, errFailed):
		return exitFailed
	case errors.Is(err, errTime):
		return exitTime
	}

	return exitError
}
