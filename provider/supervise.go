package main

import (
	"os"

	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
)

type superviseCommand struct {
	Args []string `arg:"" help:"Options, two dashes, and the command." optional:"" passthrough:""`
}

// Run a command under supervision. It does not return.
func (c *superviseCommand) Run() error {
	os.Exit(supervisor.Main(c.Args))

	return nil
}
