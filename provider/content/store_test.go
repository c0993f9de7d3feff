package content

import (
	"context"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestEnsureOnce(t *testing.T) {
	t.Parallel()

	var wg sync.WaitGroup

	src := &source{files: 3}
	dir, req := t.TempDir(), requires(t, "x")
	s := newStore(t, Config{Dir: dir, Installer: src.installer()})

	for range 10 {
		wg.Go(func() {
			if _, _, err := s.Ensure(t.Context(), req); err != nil {
				t.Error(err)
			}
		})
	}

	wg.Wait()
	ensure(t, newStore(t, Config{Dir: dir, Installer: src.installer()}), req)

	if n := src.tries.Load(); n != 1 {
		t.Errorf("\nAll share one installation, which outlives the store.\nEnsure(...): %d installations", n)
	}
}

// TestEnsureCanceled has a caller that gives up while another one waits, which then installs the set.
func TestEnsureCanceled(t *testing.T) {
	t.Parallel()

	var running atomic.Int32

	started := make(chan struct{})
	s := newStore(t, Config{Dir: t.TempDir(), Installer: faked(func(ctx context.Context, _ supervisor.Command) error {
		if running.Add(1) > 1 {
			t.Error("There is one installation at a time.")
		}
		defer running.Add(-1)

		started <- struct{}{}
		<-ctx.Done()

		return ctx.Err()
	})})

	ensure := func() (cancel func(), result chan error) {
		ctx, cancel := context.WithCancel(t.Context())
		result = make(chan error, 1)

		go func() {
			_, _, err := s.Ensure(ctx, requires(t, "x"))
			result <- err
		}()

		return cancel, result
	}

	cancelFirst, first := ensure()
	<-started

	cancelSecond, second := ensure()

	cancelFirst()
	<-started
	cancelSecond()

	for _, c := range []chan error{first, second} {
		if err := <-c; !errors.Is(err, context.Canceled) {
			t.Errorf("Ensure(...): %v", err)
		}
	}

	if running.Load() != 0 {
		t.Error("No installation goes on for callers that have given up.")
	}

	wantNoLeftovers(t, s)

	canceled, cancel := context.WithCancel(t.Context())
	cancel()

	if _, _, err := s.Ensure(canceled, requires(t, "x")); !errors.Is(err, context.Canceled) {
		t.Errorf("\nA caller that has given up already starts nothing.\nEnsure(...): %v", err)
	}
}

// newStore runs real programs, if it is given no others, in the environment of the test.
func newStore(tb testing.TB, c Config) *Store {
	tb.Helper()

	c.Key = []byte("key")
	if c.Installer.Run == nil {
		c.Installer.Run = supervisor.Command.Run
	}

	c.Installer.Environ = append(os.Environ(), c.Installer.Environ...)

	s, err := NewStore(c)
	needs.OK(tb, err)

	return s
}

// faked has a function in place of the programs of an installation. Its error says that one has failed.
func faked(run func(ctx context.Context, p supervisor.Command) error) galaxy.Installer {
	return galaxy.Installer{Run: func(p supervisor.Command, ctx context.Context) (code int, err error) {
		if run(ctx, p) != nil {
			code = 1
		}

		return code, nil
	}}
}

// A source has a collection of a number of files, each of one block.
type source struct {
	files int
	down  bool
	// tries to install from it.
	tries atomic.Int32
}

// installer does what ansible-galaxy would.
func (s *source) installer() galaxy.Installer {
	return faked(func(_ context.Context, p supervisor.Command) error {
		s.tries.Add(1)

		if s.down {
			_, err := io.WriteString(p.Stdout, "[ERROR]: no such collection\n")

			return errors.Join(err, errors.New("exit status 1"))
		}

		return install(p.Argv, "x", s.files)
	})
}

func request(tb testing.TB, in inputs.Inputs) Request {
	tb.Helper()

	req, err := NewRequest(in)
	needs.OK(tb, err)

	return req
}

func wantNoLeftovers(t *testing.T, s *Store) {
	t.Helper()

	left, err := os.ReadDir(s.temp())
	needs.OK(t, err)

	if len(left) > 0 {
		t.Errorf("\nNothing half made is left behind.\ntmp: %v", left)
	}
}

// waitFor something that is so in a store, which is locked.
func waitFor(s *Store, so func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for !so() {
		s.mu.Unlock()
		runtime.Gosched()
		s.mu.Lock()
	}
}
