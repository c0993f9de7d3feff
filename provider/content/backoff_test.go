package content

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func requires(t *testing.T, name string) Request {
	t.Helper()

	return request(t, inputs.Inputs{Requirements: "collections: [{name: acme." + name + ", version: 1.0.0}]"})
}

// TestBackoff has a source that is unavailable.
func TestBackoff(t *testing.T) {
	t.Parallel()

	c, src := newClock(), &source{files: 1, down: true}
	s := newStore(t, Config{Dir: t.TempDir(), now: c.Now, Installer: src.installer()})

	tries := func(reason string, req Request, want bool) error {
		t.Helper()

		was := src.tries.Load()
		_, _, err := s.Ensure(t.Context(), req)

		if tried := src.tries.Load() > was; tried != want {
			t.Errorf("\n%s\nEnsure(...): want tried %t, got %v", reason, want, err)
		}

		return err
	}

	x := requires(t, "x")

	_ = tries("The first call should try.", x, true)
	began := c.Now()
	c.Step(20 * time.Second)

	err := tries("Further calls should return a BackoffError.", x, false)

	var again *BackoffError
	if !errors.As(err, &again) || !again.Until.Equal(began.Add(30*time.Second)) {
		t.Errorf("\nThe error should have the time of the next try.\nEnsure(...): %v", err)
	}

	want := "cannot install collections: no such collection; it is tried again at " + began.Add(30*time.Second).UTC().Format(time.RFC3339)
	if diff := cmp.Diff(want, needs.Message(err)); diff != "" || IsOwn(err) {
		t.Errorf("\nThe error should have the cause.\nEnsure(...): -want error, +got error:\n%s", diff)
	}

	_ = tries("Another request should not be held back.", requires(t, "y"), true)

	asked := x
	asked.Asked = "now"
	_ = tries("A request of a user should be tried.", asked, true)

	for _, pause := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
		c.Step(pause - time.Second)
		_ = tries(fmt.Sprintf("It should not be tried before %s have passed.", pause), x, false)
		c.Step(time.Second)
		_ = tries(fmt.Sprintf("It should be tried again after %s.", pause), x, true)
	}

	src.down = false

	if err := tries("A request of a user should succeed once the source is available.", asked, true); err != nil {
		t.Errorf("Ensure(...): %v", err)
	}

	if err := tries("An installed set should be used.", x, false); err != nil {
		t.Errorf("Ensure(...): %v", err)
	}
}

// TestMaxInstallsTimeout has an installation that waits for a place for longer than its timeout.
func TestMaxInstallsTimeout(t *testing.T) {
	t.Parallel()

	begun := 0
	first, leave := make(chan struct{}), make(chan struct{})
	s := newStore(t, Config{Dir: t.TempDir(), maxInstalls: 1, Installer: faked(func(ctx context.Context, p supervisor.Command) error {
		if begun++; begun == 1 {
			close(first)
			<-leave

			return install(p.Argv, "x", 1)
		}

		<-ctx.Done()

		return ctx.Err()
	})})

	var wg sync.WaitGroup

	wg.Go(func() {
		if _, _, err := s.Ensure(t.Context(), requires(t, "first")); err != nil {
			t.Errorf("Ensure(...): %v", err)
		}
	})

	<-first

	second := requires(t, "second")
	second.Timeout = time.Nanosecond

	wg.Go(func() {
		if _, _, err := s.Ensure(t.Context(), second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Ensure(...): want a timeout, got %v", err)
		} else if want := "cannot install content: it took longer than 1ns"; !strings.HasSuffix(err.Error(), want) || IsOwn(err) {
			t.Errorf("Ensure(...): want %q, which is not the provider's own error, got %v", want, err)
		}
	})

	waitFor(s, func() bool { return len(s.installing) == 2 })
	close(leave)
	wg.Wait()

	if begun != 2 {
		t.Error("The installation should have begun once there was a place.")
	}
}

// TestInstallMistake has an installation that panics. Only callers that wait for it get an error.
func TestInstallMistake(t *testing.T) {
	t.Parallel()

	s := newStore(t, Config{Dir: t.TempDir(), Installer: faked(func(context.Context, supervisor.Command) error { panic("hunter2") })})

	_, _, err := s.Ensure(t.Context(), requires(t, "x"))
	if diff := cmp.Diff("the provider has made a mistake; its log has a stack trace", needs.Message(err)); diff != "" || !IsOwn(err) {
		t.Errorf("Ensure(...): -want error, +got error:\n%s", diff)
	}

	wantNoLeftovers(t, s)

	if len(s.installing) > 0 {
		t.Errorf("No installation should be in progress: %v", s.installing)
	}
}
