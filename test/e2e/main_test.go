// Package e2e tests the function and the provider on a real control plane, as
// their users meet them.
package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// cp is the control plane that all tests share.
var cp *cluster.Cluster

func TestMain(m *testing.M) {
	keep := flag.Bool("keep", false, "Use the stack that an earlier run kept, and keep it for a look or for the next run.")
	flag.Parse()

	code, err := run(m, *keep)
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "the end to end tests, which make test-e2e prepares, failed: %s\n", err)
		code = 1
	}
	os.Exit(code)
}

// run the tests on a stack of their own. The stack of make up may run
// beside it.
func run(m *testing.M, keep bool) (code int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	s, err := controlplane.New(controlplane.Options{
		Root:       "../..",
		Dir:        ".cache/e2e",
		Logs:       ".cache/logs/e2e",
		Kubeconfig: ".cache/e2e.kubeconfig",
		Out:        os.Stderr,
	})
	if err != nil {
		return 0, err
	}
	if needs.None(s.Built(), "test-e2e") {
		return 0, nil
	}
	unlock, err := s.Lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()

	// Last of all, since processes that end may race, too.
	defer func() { err = errors.Join(err, s.Races()) }()

	if !keep {
		// There is one only if it was kept, or if an earlier run was killed.
		if err := s.Down(ctx); err != nil {
			return 0, err
		}
		defer s.Down(context.Background())
	}
	// Plays write to the directories of tests. They are confined, and may write to
	// this one.
	if err := errors.Join(os.MkdirAll(s.SharedDir(), 0o700), os.Setenv("TMPDIR", s.SharedDir())); err != nil {
		return 0, err
	}
	if err := s.Up(ctx); err != nil {
		return 0, err
	}
	if cp, err = cluster.New(s); err != nil {
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
