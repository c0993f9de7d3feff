// Package main is function-ansible, a composition function that turns XRs into AnsibleRuns.
package main

import (
	"io"
	"os"

	"github.com/alecthomas/kong"
)

const (
	// exitUsage is the exit status for an invalid command line.
	exitUsage = 2
	// exitRemoval is the exit status of validate --fail-on-removal when a change may remove a run.
	exitRemoval = 3
)

// cli is the command line.
type cli struct {
	Serve    serveCommand    `cmd:"" default:"withargs" help:"Serve the function to Crossplane. This is the default."`
	Validate validateCommand `cmd:"" help:"Check Compositions and Operations without a cluster."`
	Scaffold scaffoldCommand `cmd:"" help:"Write an XRD and a Composition for a role, or for the kinds of an Ansible operator."`

	Version kong.VersionFlag `help:"Print the version."`
}

// newParser returns the parser of the command line. It calls exit when it fails, and after it has printed the help.
func newParser(in io.Reader, out io.Writer, exit func(int)) (*kong.Kong, error) {
	return kong.New(&cli{},
		kong.Name("function-ansible"),
		kong.Description("A composition function that turns XRs into AnsibleRuns."),
		kong.Vars{"version": versions()},
		kong.Exit(exit),
		kong.BindTo(in, (*io.Reader)(nil)),
		kong.BindTo(out, (*io.Writer)(nil)),
	)
}

func main() {
	parser, err := newParser(os.Stdin, os.Stdout, os.Exit)
	if err != nil {
		panic(err)
	}

	ctx, err := parser.Parse(os.Args[1:])
	if err != nil {
		parser.Errorf("%s", err)
		os.Exit(exitUsage)
	}

	ctx.FatalIfErrorf(ctx.Run())
}
