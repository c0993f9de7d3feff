// Command stack brings the stack of package controlplane up and down for make.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
)

type cli struct {
	Up   upCmd   `cmd:"" help:"Start what is not running yet, and wait until all of it is ready."`
	Down downCmd `cmd:"" help:"Stop all of it, wait for its end, and remove its data."`

	Dir        string `default:".cache/stack"      help:"Directory that the stack is known by."`
	Logs       string `default:".cache/logs"       help:"Directory for logs."`
	Kubeconfig string `default:".cache/kubeconfig" help:"File for a kubeconfig."`
}

type upCmd struct {
	ProviderFlags []string `arg:"" help:"Flags for provider-ansible, after a --." optional:""`
}

type downCmd struct{}

// Run brings the stack up, on kernels that cannot confine runs, too: for a look
// at what it is.
func (u *upCmd) Run(ctx context.Context, c *cli) error {
	const mode = sandbox.BestEffort
	flags := append([]string{"--confinement=" + string(mode)}, u.ProviderFlags...)
	if err := c.locked(ctx, flags, (*controlplane.Stack).Up); err != nil {
		return err
	}
	warning, err := mode.Check(sandbox.Kernel(), sandbox.Filters())
	if err != nil || warning == "" {
		return err
	}
	_, err = fmt.Fprintln(os.Stdout, "WARNING: "+warning)
	return err
}

// Run brings the stack down.
func (d *downCmd) Run(ctx context.Context, c *cli) error {
	return c.locked(ctx, nil, (*controlplane.Stack).Down)
}

func (c *cli) locked(ctx context.Context, flags []string, do func(*controlplane.Stack, context.Context) error) error {
	s, err := controlplane.New(controlplane.Options{
		Root:          ".",
		Dir:           c.Dir,
		Logs:          c.Logs,
		Kubeconfig:    c.Kubeconfig,
		ProviderFlags: flags,
		Out:           os.Stdout,
	})
	if err != nil {
		return err
	}
	unlock, err := s.Lock(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(s, ctx), unlock())
}

func main() {
	// What is worth knowing is printed.
	log.SetLogger(logr.Discard())

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	c := &cli{}
	k := kong.Parse(c, kong.Description("Run Crossplane with function-ansible and provider-ansible on this machine."))
	k.BindTo(ctx, (*context.Context)(nil))
	k.FatalIfErrorf(k.Run(c))
}
