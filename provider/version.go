package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
)

// version and commit are set by the build.
var (
	version = "dev"
	commit  = "unknown" //nolint:gochecknoglobals // The linter knows of version only.
)

// versionFlag prints the versions of the provider, and of the tools that it
// finds, and ends the process.
type versionFlag bool

// BeforeReset is called before commands are looked at, so that none is needed.
func (versionFlag) BeforeReset(app *kong.Kong) error { //nolint:unparam // As kong wants it.
	_, _ = fmt.Fprintln(app.Stdout, versions(context.Background(), galaxy.Exec))

	app.Exit(0)

	return nil
}

// versions of what the provider is made of and of what it runs, a line each.
func versions(ctx context.Context, run galaxy.Command) string {
	core, err := galaxy.Version(ctx, run, os.Environ())
	if err != nil {
		core = "core not found"
	}

	out, runner := &bytes.Buffer{}, "not found"
	program := galaxy.Program{Argv: []string{"ansible-runner", "--version"}, Env: os.Environ(), Dir: ".", Out: out}

	if run(ctx, program) == nil {
		runner = strings.TrimSpace(out.String())
	}

	return fmt.Sprintf("provider-ansible %s\ncommit %s\n%s\nansible-%s\nansible-runner %s",
		version, commit, runtime.Version(), core, runner)
}
