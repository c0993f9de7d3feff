// Package install tests that Crossplane's own package manager installs the
// function and the provider, and that they work with the rights that it gives
// them, from their images, on a node.
package install

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

const (
	root     = "../.."
	released = root + "/dist" // What make packages builds.
)

// The control plane, and the host of the registry that packages come from.
var (
	cp        *cluster
	warehouse string
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "cannot run the tests of installation, which make test-install prepares: %s\n", err)
		code = 1
	}
	os.Exit(code)
}

// run the tests on a stack of their own.
func run(m *testing.M) (code int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	s, err := controlplane.New(controlplane.Options{
		Root:       root,
		Dir:        ".cache/install",
		Logs:       ".cache/logs/install",
		Kubeconfig: ".cache/install.kubeconfig",
		Packages:   true,
		Out:        os.Stderr,
	})
	if err != nil {
		return 0, err
	}
	if err := controlplane.CheckNode(); err != nil && os.Getenv("CI") == "" {
		fmt.Printf("SKIP: nothing is installed for real on this machine: %s\ntesting: warning: no tests to run\n", err)
		return 0, nil
	}
	_, err = os.Stat(filepath.Join(released, "provider-ansible.xpkg"))
	if needs.None(errors.Join(s.Built(), err), "test-install") {
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

	r := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer r.Close()
	warehouse = strings.TrimPrefix(r.URL, "http://")
	if cp, err = newCluster(s); err != nil {
		return 0, err
	}

	done := make(chan int, 1)
	go func() { done <- m.Run() }()
	select {
	case code := <-done:
		return code, nil
	case <-ctx.Done():
		return 0, errors.New("interrupted")
	}
}
