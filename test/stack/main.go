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
	Up    upCmd    `cmd:"" help:"Start what is not running yet, and wait until all of it is ready."`
	Image imageCmd `cmd:"" help:"Give the node the image of the provider."`
	Down  downCmd  `cmd:"" help:"Stop all of it, wait for its end, and remove its data."`

	Dir        string `default:".cache/stack"      help:"Directory that the stack is known by."`
	Logs       string `default:".cache/logs"       help:"Directory for logs."`
	Kubeconfig string `default:".cache/kubeconfig" help:"File for a kubeconfig."`
}

type upCmd struct {
	Node bool `help:"Start a node that runs Pods, too. It needs root."`

	ProviderFlags []string `arg:"" help:"Flags for provider-ansible, after a --." optional:""`
}

type imageCmd struct{}

type downCmd struct{}

// Run brings the stack up, on kernels that cannot confine runs, too: for a look
// at what it is.
func (u *upCmd) Run(ctx context.Context, c *cli) error {
	flags, unconfined := u.ProviderFlags, sandbox.Landlock() == 0
	if unconfined {
		flags = append([]string{"--confinement=" + string(sandbox.BestEffort)}, flags...)
	}
	up := (*controlplane.Stack).Up
	if u.Node {
		up = func(s *controlplane.Stack, ctx context.Context) error {
			if err := s.Up(ctx); err != nil {
				return err
			}
			if err := s.ImportProvider(ctx); err != nil {
				return err
			}
			return s.AllowPods(ctx, "")
		}
	}
	if err := c.locked(ctx, controlplane.Options{ProviderFlags: flags, Node: u.Node}, up); err != nil || !unconfined {
		return err
	}
	_, err := fmt.Fprintln(os.Stdout, "WARNING: The kernel has no Landlock: runs are NOT confined")
	return err
}

// Run imports the image, and prints its name.
func (i *imageCmd) Run(ctx context.Context, c *cli) error {
	if err := c.locked(ctx, controlplane.Options{}, (*controlplane.Stack).ImportProvider); err != nil {
		return err
	}
	_, err := fmt.Fprintln(os.Stdout, controlplane.ProviderImage)
	return err
}

// Run brings the stack down.
func (d *downCmd) Run(ctx context.Context, c *cli) error {
	return c.locked(ctx, controlplane.Options{}, (*controlplane.Stack).Down)
}

func (c *cli) locked(ctx context.Context, o controlplane.Options,
	do func(*controlplane.Stack, context.Context) error,
) error {
	o.Root, o.Dir, o.Logs, o.Kubeconfig, o.Out = ".", c.Dir, c.Logs, c.Kubeconfig, os.Stdout
	s, err := controlplane.New(o)
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
