package e2e

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
)

// A provider is the process of provider-ansible.
type provider struct {
	stack *controlplane.Stack
	piece *controlplane.Piece
}

// Start the provider, which is not running, with flags in the form --name=value
// on top of those of the stack, and wait until it is ready. When the test is over
// it is as it was.
func (p *provider) Start(t *testing.T, flags ...string) {
	t.Helper()
	p.piece = p.stack.Provider(flags...)
	if err := p.piece.Start(t.Context()); err != nil {
		t.Fatalf("cannot start the provider: %s\n%s", err, p.stack.Tail("provider-ansible", 4<<10))
	}
	if len(flags) == 0 {
		return
	}
	t.Cleanup(func() {
		if err := p.piece.Stop(context.Background()); err != nil {
			t.Fatalf("cannot stop the provider: %s", err)
		}
		p.piece = p.stack.Provider()
		if err := p.piece.Start(context.Background()); err != nil {
			t.Fatalf("cannot start the provider: %s", err)
		}
	})
}

// Stop the provider as Kubernetes does, and wait for its end.
func (p *provider) Stop(t *testing.T) {
	t.Helper()
	if err := p.piece.Stop(t.Context()); err != nil {
		t.Fatalf("cannot stop the provider: %s", err)
	}
}

// Kill the provider's own process with SIGKILL, and wait for its end. What it has
// started is left to itself.
func (p *provider) Kill(t *testing.T) {
	t.Helper()
	if err := p.piece.Kill(t.Context()); err != nil {
		t.Fatalf("cannot kill the provider: %s", err)
	}
}

// Restart the provider with other flags.
func (p *provider) Restart(t *testing.T, flags ...string) {
	t.Helper()
	p.Stop(t)
	p.Start(t, flags...)
}

// Log of the provider since the stack was started.
func (p *provider) Log(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(p.piece.Log)
	if err != nil {
		t.Fatalf("cannot read the log of the provider: %s", err)
	}
	return string(b)
}

// commands with a text in their arguments, by process.
func commands(t *testing.T, part string) map[int]string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatalf("cannot list processes: %s", err)
	}
	out := map[int]string{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(b, []byte(part)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil {
			continue
		}
		out[pid] = string(bytes.ReplaceAll(b, []byte{0}, []byte(" ")))
	}
	return out
}
