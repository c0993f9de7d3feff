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
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestEnsureOnce(t *testing.T) {
	t.Parallel()

	var (
		runs atomic.Int32
		wg   sync.WaitGroup
	)

	dir, req := t.TempDir(), requires(t, "x")
	s := newStore(t, dir, installing(&runs, 3))

	for range 10 {
		wg.Go(func() {
			if _, _, err := s.Ensure(t.Context(), req); err != nil {
				t.Error(err)
			}
		})
	}

	wg.Wait()
	ensure(t, newStore(t, dir, installing(&runs, 3)), req)

	if n := runs.Load(); n != 1 {
		t.Errorf("\nAll share one installation, which outlives the store.\nEnsure(...): %d installations", n)
	}
}

// TestEnsureCanceled has callers that give up while others go on waiting.
func TestEnsureCanceled(t *testing.T) {
	t.Parallel()

	started, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	s := newStore(t, t.TempDir(), withCommand(func(ctx context.Context, _, _ []string, _ string, _ io.Writer) error {
		started <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}

		return ctx.Err()
	}))
	req := request(t, inputs.Inputs{Requirements: "collections: [a.b]"})

	ensure := func(ctx context.Context) chan error {
		c := make(chan error, 1)

		go func() {
			_, _, err := s.Ensure(ctx, req)
			c <- err
		}()

		return c
	}

	firstCtx, cancelFirst := context.WithCancel(t.Context())
	first := ensure(firstCtx)
	<-started

	secondCtx, cancelSecond := context.WithCancel(t.Context())
	second := ensure(secondCtx)
	waitFor(s, func() bool { return s.flights[s.Digest(req)].waiting == 2 })

	cancelFirst()

	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("\nWho gives up stops waiting.\nEnsure(...): %v", err)
	}

	select {
	case <-ended:
		t.Errorf("\nThe installation goes on for those who wait.\nEnsure(...): ended")
	default:
	}

	cancelSecond()

	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("\nSo does the last one.\nEnsure(...): %v", err)
	}

	select {
	case <-ended:
	default:
		t.Errorf("\nThe last one to give up sees the installation end.\nEnsure(...): still running")
	}

	wantNoLeftovers(t, s)

	if _, _, err := s.Ensure(firstCtx, req); !errors.Is(err, context.Canceled) {
		t.Errorf("\nWho has given up already starts nothing.\nEnsure(...): %v", err)
	}
}

func newStore(tb testing.TB, dir string, o ...option) *Store {
	tb.Helper()

	c := Config{
		Dir: dir, Installer: galaxy.Installer{Command: galaxy.Exec, Environ: os.Environ()}, Key: []byte("key"),
	}
	for _, fn := range o {
		fn(&c)
	}

	s, err := NewStore(c)
	needs.OK(tb, err)

	return s
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
