// Command provider-ansible carries out AnsibleRuns.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/alecthomas/kong"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/machine"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/worker"
)

// cli is the command line.
type cli struct {
	Version versionFlag `help:"Print the versions of the provider and of Ansible, and exit."`

	Start startCommand  `cmd:"" default:"withargs" help:"Start the controllers. This is the default."`
	Run   runCommand    `cmd:""                    help:"Carry out one AnsibleRun manifest, or content of a directory, on this machine, without a cluster."`
	Work  worker.Worker `cmd:"" hidden:""          help:"Carry out the run of a Pod that the provider has made."`
}

func main() {
	if err := sandbox.Self(); err != nil {
		fmt.Fprintln(os.Stderr, "provider-ansible: "+err.Error())
		os.Exit(1)
	}

	ctx := kong.Parse(&cli{},
		kong.Name("provider-ansible"),
		kong.Description("Carries out AnsibleRuns with ansible-galaxy and ansible-runner."),
		kong.Vars{"state_dir": machine.StateDir()},
		// The first signal ends the context, and the second one ends the process at once.
		kong.BindTo(ctrl.SetupSignalHandler(), (*context.Context)(nil)),
	)

	err := ctx.Run()
	if errors.As(err, new(*worker.DisplayedError)) {
		os.Exit(1)
	}

	ctx.FatalIfErrorf(err)
}
