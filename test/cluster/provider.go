package cluster

import (
	"context"
	"os"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// A Provider is the process of provider-ansible.
type Provider struct {
	stack *controlplane.Stack
	// Piece of the stack that it is, as it was last started.
	Piece *controlplane.Piece
}

// Start the provider, which is not running, with flags in the form --name=value
// on top of those of the stack, and wait until it is ready. When the test is over
// it is as it was.
func (p *Provider) Start(t *testing.T, flags ...string) {
	t.Helper()
	p.Piece = p.stack.Provider(flags...)
	if err := p.Piece.Start(t.Context()); err != nil {
		t.Fatalf("cannot start the provider: %s\n%s", err, p.stack.Tail("provider-ansible", 4<<10))
	}
	if len(flags) == 0 {
		return
	}
	t.Cleanup(func() {
		needs.OK(t, p.Piece.Stop(context.Background()))
		p.Piece = p.stack.Provider()
		needs.OK(t, p.Piece.Start(context.Background()))
	})
}

// Stop the provider as Kubernetes does, and wait for its end.
func (p *Provider) Stop(t *testing.T) {
	t.Helper()
	needs.OK(t, p.Piece.Stop(t.Context()))
}

// Kill the provider's own process with SIGKILL, and wait for its end. What it has
// started is left to itself.
func (p *Provider) Kill(t *testing.T) {
	t.Helper()
	needs.OK(t, p.Piece.Kill(t.Context()))
}

// Restart the provider with other flags.
func (p *Provider) Restart(t *testing.T, flags ...string) {
	t.Helper()
	p.Stop(t)
	p.Start(t, flags...)
}

// Log of the provider since the stack was started.
func (p *Provider) Log(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(p.Piece.Log)
	needs.OK(t, err)
	return string(b)
}
