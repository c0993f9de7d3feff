package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"github.com/alecthomas/kong"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
)

// version and commit are set by the build.
var (
	version = "dev"
	commit  = "unknown" //nolint:gochecknoglobals // The linter only knows version.
)

// versionFlag prints the versions of the provider and of its tools, and ends the process.
type versionFlag bool

// BeforeReset is called before commands are parsed, so that the flag needs none.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	ctx := context.Background()

	core, err := galaxy.Version(ctx, os.Environ())
	if err != nil {
		core = "core not found"
	}

	runner, err := exec.CommandContext(ctx, "ansible-runner", "--version").Output()
	if err != nil {
		runner = []byte("not found")
	}

	_, err = fmt.Fprintf(app.Stdout, "provider-ansible %s\ncommit %s\n%s\nansible-%s\nansible-runner %s\n",
		version, commit, runtime.Version(), core, bytes.TrimSpace(runner))

	app.Exit(0)

	return err
}
