package content

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
)

// TestAwait has callers that wait for content. It is installed once, as long as a caller waits.
func TestAwait(t *testing.T) {
	t.Parallel()

	began, canceled, answer := make(chan struct{}), make(chan struct{}), make(chan error)
	s := newStore(t, Config{Dir: t.TempDir(), Installer: faked(func(ctx context.Context, p supervisor.Command) error {
		began <- struct{}{}

		select {
		case err := <-answer:
			return errors.Join(err, install(p.Argv, "x", 1))
		case <-ctx.Done():
			canceled <- struct{}{}

			return ctx.Err()
		}
	})})
	woken := make(chan types.UID, 10)
	await := func(caller types.UID, req Request) (ended bool, err error) {
		return s.Await(caller, req, func() { woken <- caller })
	}

	x := requires(t, "x")
	for _, caller := range []types.UID{"a", "b", "c"} {
		if ended, _ := await(caller, x); ended {
			t.Fatal("The set should not be installed yet.")
		}
	}

	<-began

	if ended, err := await("a", Request{}); !ended || err != nil {
		t.Errorf("A request that requires no content should not wait: %v", err)
	}

	answer <- errors.New("boom")

	if got := map[types.UID]bool{<-woken: true, <-woken: true}; !got["b"] || !got["c"] {
		t.Errorf("The waiting callers should be woken: %v", got)
	}

	failed, again := &galaxy.InstallError{}, &BackoffError{}
	if ended, err := await("b", x); !ended || !errors.As(err, &failed) || errors.As(err, &again) {
		t.Errorf("A caller that has waited should get the error: %v", err)
	}

	await("c", Request{})
	await("c", x)
	<-woken

	if _, err := await("c", x); !errors.As(err, &again) {
		t.Errorf("A new caller should get a BackoffError: %v", err)
	}

	asked := x
	asked.Asked = "now"

	await("b", asked)
	<-began
	await("b", x)
	<-canceled // No caller waits for it.
	<-woken

	await("b", asked)
	<-began

	answer <- nil

	<-woken

	for _, caller := range []types.UID{"b", "d"} {
		if ended, err := await(caller, asked); !ended || err != nil {
			t.Errorf("The set should be installed: %t, %v", ended, err)
		}
	}

	await("a", requires(t, "y"))
	<-began

	go s.Stop()

	<-canceled
	s.Stop()

	if ended, _ := await("b", requires(t, "z")); ended || len(woken) > 0 {
		t.Error("No installation should end in a stopped store.")
	}

	wantNoLeftovers(t, s)
}
