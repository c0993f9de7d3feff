package cluster

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

	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// A Suite is the tests of a package in test, which share a stack. The stack of make up may run beside it.
type Suite struct {
	// Stack is the name of the suite's stack below .cache, and of its logs. Suites of one name share a stack, one
	// after the other.
	Stack string
	// Target of make that builds what the tests need, and runs them.
	Target string
	// Options of the stack, without its paths.
	Options controlplane.Options
	// Built says what is missing beside the programs of the stack; nil if nothing can be.
	Built func() error
	// Prepare the tests, when the stack is up.
	Prepare func(ctx context.Context, s *controlplane.Stack) error
}

// Main parses the flags, runs the tests, and ends the process.
func (s *Suite) Main(m *testing.M) {
	// What is worth knowing, a test says.
	log.SetLogger(logr.Discard())

	keep := flag.Bool("keep", false, "Use the stack that an earlier run kept, and keep it for a look or for the next run.")
	flag.Parse()

	code, err := s.run(m, *keep)
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "the tests that make %s prepares failed: %s\n", s.Target, err)
		code = 1
	}
	os.Exit(code)
}

func (s *Suite) run(m *testing.M, keep bool) (code int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	o := s.Options
	o.Root, o.Dir, o.Logs, o.Out = "../..", ".cache/"+s.Stack, ".cache/logs/"+s.Stack, os.Stderr
	o.Kubeconfig = o.Dir + ".kubeconfig"
	stack, err := controlplane.New(o)
	if err != nil {
		return 0, err
	}
	if stack.HasNode() && needs.NoneAble(controlplane.CheckNode()) {
		return 0, nil
	}
	missing := stack.Built()
	if s.Built != nil {
		missing = errors.Join(missing, s.Built())
	}
	if needs.None(missing, s.Target) {
		return 0, nil
	}
	unlock, err := stack.Lock(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, unlock()) }()

	// Last of all, since processes that end may race, too.
	defer func() { err = errors.Join(err, stack.Races()) }()

	if !keep {
		// There is one only if it was kept, or if an earlier run was killed.
		if err := stack.Down(ctx); err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, stack.Down(context.Background())) }()
	}
	if err := stack.Up(ctx); err != nil {
		return 0, err
	}
	if err := s.Prepare(ctx, stack); err != nil {
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
