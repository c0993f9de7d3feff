package content

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
)

// A flight is an installation in progress, which all callers share that wait for it.
type flight struct {
	digest string
	// done is closed when the installation has ended. Before that, entry or err is set. Each
	// caller that waits has a use of the entry.
	done  chan struct{}
	entry *entry
	err   error
	// began is closed when the installation has a place.
	began chan struct{}
	// end the installation, and say why.
	end context.CancelCauseFunc
	// waiting is the number of callers that wait. Guarded by the store.
	waiting int
}

// join the installation of a set, or start it. With again the set is installed although it is
// there, to find out whether the request resolves to another one. The installation has the
// values of the context that started it. It outlives that context while other callers wait,
// and ends with the last of them, which golang.org/x/sync/singleflight cannot do. The error is the BackoffError of
// an installation that has failed.
func (s *Store) join(ctx context.Context, digest string, req Request, again bool) (*flight, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if f, ok := s.flights[digest]; ok {
		f.waiting++

		return f, nil
	}

	// A refresh has waited for the end of the back-off, see Resolution.
	if err := s.failuresOf(digest).heldBack(s.config.now()); err != nil && !req.Asked && !again {
		return nil, err
	}

	ctx, end := context.WithCancelCause(context.WithoutCancel(ctx))
	f := &flight{digest: digest, done: make(chan struct{}), began: make(chan struct{}), end: end, waiting: 1}
	s.flights[digest] = f

	go func() {
		defer end(nil)

		s.runFlight(ctx, f, req, again)
	}()

	return f, nil
}

// runFlight waits for a place, installs the set, and gives the result to all callers that wait.
func (s *Store) runFlight(ctx context.Context, f *flight, req Request, again bool) {
	var (
		e   *entry
		err error
	)

	leave := func() {}
	if !again { // A refresh has taken a place of its own before.
		leave, err = s.installPlaces.Enter(ctx, req.Tenant)
	}

	if err == nil {
		close(f.began)

		var result Result

		began := s.config.now()
		e, result, err = s.installGuarded(ctx, f.digest, req, again)
		s.config.Observer.Installed(Installation{Again: again, Result: result, Took: s.config.now().Sub(began)})
		leave()
	}

	s.mu.Lock()

	// An installation that was canceled has not failed, unless it was too slow.
	if err != nil && !errors.Is(err, context.Canceled) {
		s.failed.Add(f.digest, failures{count: s.failuresOf(f.digest).count + 1, last: s.config.now(), err: err})
	}

	if f.entry, f.err = e, err; e != nil {
		e.uses += f.waiting - 1
	}

	if s.flights[f.digest] == f {
		delete(s.flights, f.digest)
	}

	dirs := s.tidy()
	s.mu.Unlock()
	remove(dirs)
	close(f.done)
}

// installGuarded calls install and recovers from panics, which must not end the runs of
// others.
func (s *Store) installGuarded(ctx context.Context, digest string, req Request,
	again bool,
) (e *entry, result Result, err error) {
	defer redact.Panic(func() {
		e, result, err = nil, ResultFailed, errors.New("the provider has made a mistake; its log has a stack trace")
	})

	return s.install(ctx, digest, req, again)
}

// wait until the installation has ended, the context is done, or the timeout is over, which
// begins when the installation does. The last caller to leave ends the installation and waits
// for its end, so that no process outlives the callers.
func (s *Store) wait(ctx context.Context, f *flight, timeout time.Duration) (*entry, error) {
	select {
	case <-f.began:
		var cancel context.CancelFunc

		ctx, cancel = within(ctx, timeout)
		defer cancel()
	case <-f.done:
	case <-ctx.Done():
	}

	select {
	case <-f.done:
		return f.entry, f.err
	case <-ctx.Done():
	}

	if s.leave(f) {
		f.end(context.Cause(ctx))
		<-f.done
	}

	return nil, gaveUp(ctx)
}

// leave takes a caller off the installation. It is true for the last one: then it cannot be joined any more.
func (s *Store) leave(f *flight) bool {
	s.mu.Lock()

	if e := f.entry; e != nil {
		s.mu.Unlock()
		s.drop(e)

		return false
	}

	defer s.mu.Unlock()

	if f.waiting--; f.waiting == 0 && s.flights[f.digest] == f {
		delete(s.flights, f.digest)
	}

	return f.waiting == 0
}

func gaveUp(ctx context.Context) error {
	return errors.Wrap(context.Cause(ctx), "gave up waiting for the content to be installed")
}

// within a timeout; 0 means none.
func within(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout == 0 {
		return context.WithCancel(ctx)
	}

	return context.WithTimeoutCause(ctx, timeout, &galaxy.InstallError{
		What: "content", Reason: "it took longer than " + timeout.String(), Err: context.DeadlineExceeded,
	})
}
