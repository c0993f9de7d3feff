// Package install tests that Crossplane's own package manager installs the
// function and the provider, and that they work with the rights that it gives
// them, from the file systems of their images.
package install

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/test/container"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// The control plane, and the node that runs its Pods.
var (
	cp   *cluster
	host *node
)

func TestMain(m *testing.M) {
	container.Init()
	var code int
	var err error
	if container.Isolated() {
		code, err = run(m)
	} else {
		code, err = container.Isolate()
	}
	if errors.Is(err, container.ErrUnsupported) && os.Getenv("CI") == "" {
		fmt.Printf("SKIP: nothing is installed for real on this machine: %s\ntesting: warning: no tests to run\n", err)
		return
	}
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "cannot run the tests of installation, which make test-install prepares: %s\n", err)
		code = 1
	}
	os.Exit(code)
}

// run the tests on a stack of their own, in namespaces of their own.
func run(m *testing.M) (code int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	dir, err := os.MkdirTemp("", "install-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return 0, err
	}
	names := filepath.Join(dir, "hosts")
	if err := os.WriteFile(names, []byte("127.0.0.1 localhost\n"), 0o644); err != nil {
		return 0, err
	}
	if err := container.Settle(names); err != nil {
		return 0, err
	}

	s, err := controlplane.New(controlplane.Options{
		Root:       "../..",
		Dir:        ".cache/install",
		Logs:       ".cache/logs/install",
		Kubeconfig: ".cache/install.kubeconfig",
		Packages:   true,
		Out:        os.Stderr,
	})
	if err != nil {
		return 0, err
	}
	if needs.None(s.Built(), "test-install") {
		return 0, nil
	}
	unlock, err := s.Lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if err := s.Down(ctx); err != nil {
		return 0, err
	}
	defer s.Down(context.Background())
	if err := s.Up(ctx); err != nil {
		return 0, err
	}

	if cp, err = newCluster(s); err != nil {
		return 0, err
	}
	if host, err = newNode(cp, dir, names); err != nil {
		return 0, err
	}
	host.Start(ctx)
	defer host.Stop()

	done := make(chan int, 1)
	go func() { done <- m.Run() }()
	select {
	case code := <-done:
		return code, nil
	case <-ctx.Done():
		return 0, errors.New("interrupted")
	}
}
