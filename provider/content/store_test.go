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
		t.Errorf("\nAll callers should share one installation, which outlives the store.\nEnsure(...): %d installations", n)
	}
}

// TestEnsureCanceled has a caller that gives up while another caller waits, which then installs the set.
func TestEnsureCanceled(t *testing.T) {
	t.Parallel()

	var running atomic.Int32

	started := make(chan struct{})
	s := newStore(t, Config{Dir: t.TempDir(), Installer: faked(func(ctx context.Context, _ supervisor.Command) error {
		if running.Add(1) > 1 {
			t.Error("There should be one installation at a time.")
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
		t.Error("The installation should end when its caller gives up.")
	}

	wantNoLeftovers(t, s)

	canceled, cancel := context.WithCancel(t.Context())
	cancel()

	if _, _, err := s.Ensure(canceled, requires(t, "x")); !errors.Is(err, context.Canceled) {
		t.Errorf("\nA caller with a canceled context should not start an installation.\nEnsure(...): %v", err)
	}
}

// newStore returns a store that executes real programs in the environment of the test, unless the config has an
// installer.
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

// faked returns an installer that calls a function instead of programs. Its error is a failure of the program.
func faked(run func(ctx context.Context, p supervisor.Command) error) galaxy.Installer {
	return galaxy.Installer{Run: func(p supervisor.Command, ctx context.Context) (code int, err error) {
		if run(ctx, p) != nil {
			code = 1
		}

		return code, nil
	}}
}

// A source serves collections with a number of files of one block each.
type source struct {
	files int
	down  bool
	// tries is the number of installations.
	tries atomic.Int32
}

// installer returns an installer that installs from the source instead of executing ansible-galaxy.
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
		t.Errorf("\nNo unfinished files should be left.\ntmp: %v", left)
	}
}

// waitFor waits for a condition of a store, which is locked during the call.
func waitFor(s *Store, so func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for !so() {
		s.mu.Unlock()
		runtime.Gosched()
		s.mu.Lock()
	}
}
