// Package main is function-ansible, a composition function that turns XRs into
// AnsibleRuns.
package main

import (
	"github.com/alecthomas/kong"
)

// version of the function, stamped when it is built.
var version = "dev"

// cli is the command line.
type cli struct {
	Serve serveCommand `cmd:"" default:"withargs" help:"Serve the function to Crossplane. This is the default."`

	Version kong.VersionFlag `help:"Print the version."`
}

func main() {
	ctx := kong.Parse(&cli{},
		kong.Name("function-ansible"),
		kong.Description("A composition function that turns XRs into AnsibleRuns."),
		kong.Vars{"version": version},
	)
	ctx.FatalIfErrorf(ctx.Run())
}
