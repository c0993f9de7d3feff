// Package main is kubectl-ansible, a kubectl plugin for Ansible in a cluster: it shows the runs
// of XRs, claims and AnsibleRuns, shows why they wait, and requests runs.
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

// version and commit are set by the build.
var (
	version = "dev"
	commit  = "unknown" //nolint:gochecknoglobals // The linter only knows version.
)

// errFailed is the error if a run has not succeeded.
var errFailed = errors.New("not all runs have succeeded")

// errTime is the error at the end of the time limit.
var errTime = errors.New("the time is over, and the runs go on")

func main() {
	os.Exit(run(arguments(os.Args), os.Stdout, os.Stderr))
}

// completer is the prefix of the name of the program that kubectl calls for completions. The program is a link to the
// plugin, and gets only the arguments to complete.
const completer = "kubectl_complete-"

// arguments returns the arguments of the plugin, given its argv.
func arguments(called []string) []string {
	name, args := called[0], called[1:]
	if strings.HasPrefix(filepath.Base(name), completer) {
		return append([]string{cobra.ShellCompRequestCmd}, args...)
	}

	return args
}

// run runs the plugin, and returns its exit status.
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
