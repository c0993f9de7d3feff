// Package pods tests runs in Pods, on a control plane with a node, as users meet them.
package pods

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

var (
	// cp is the control plane that all tests share.
	cp *cluster.Cluster
	// unable says why this machine, or this user, cannot run a node; nil if it can.
	unable error
)

func TestMain(m *testing.M) {
	// What is worth knowing, a test says.
	log.SetLogger(logr.Discard())

	keep := flag.Bool("keep", false, "Use the stack that an earlier run kept, and keep it for a look or for the next run.")
	flag.Parse()

	code, err := run(m, *keep)
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "the tests of runs in Pods, which make test-pods prepares, failed: %s\n", err)
		code = 1
	}
	os.Exit(code)
}

// run the tests on a stack of their own. The stack of make up may run beside it.
func run(m *testing.M, keep bool) (code int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	s, err := controlplane.New(controlplane.Options{
		Root:       "../..",
		Dir:        ".cache/pods",
		Logs:       ".cache/logs/pods",
		Kubeconfig: ".cache/pods.kubeconfig",
		Node:       true,
		Out:        os.Stderr,
	})
	if err != nil {
		return 0, err
	}
	if needs.None(s.Built(), "test-pods") {
		return 0, nil
	}
	if unable = controlplane.CheckNode(); unable != nil {
		return m.Run(), nil
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
	if err := s.Up(ctx); err != nil {
		return 0, err
	}
	if err := s.ImportProvider(ctx); err != nil {
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
