package content

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
)

// A flight is an installation in progress, shared by all who wait for it.
type flight struct {
	// done is closed when the installation has ended. The set, of which each who
	// waits has a use, or the error are there before.
	done  chan struct{}
	entry *entry
	err   error
	// began is closed when the installation has a place.
	began chan struct{}
	// end the installation, and say why.
	end context.CancelCauseFunc
	// waiting counts those who wait. None means that the installation is being
	// ended. Guarded by the store.
	waiting int
}

// join the installation of a set, or start it. With again it is installed although it is
// there, to find out whether there is something new. The installation
// has the values of the context that started it, but outlives it as long as other calls
// wait: golang.org/x/sync/singleflight would go on for nobody. An installation that is
// being ended cannot be joined. The error is that of the same installation not long ago.
func (s *Store) join(ctx context.Context, digest string, req Request, again bool) (f *flight, joined bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if f, ok := s.flights[digest]; ok {
		if f.waiting == 0 {
			return f, false, nil
		}

		f.waiting++

		return f, true, nil
	}

	// What is resolved again has waited, see Resolution.
	if err := s.history(digest).held(s.config.now(), req.Timeout); err != nil && !req.Asked && !again {
		return nil, false, err
	}

	ctx, end := context.WithCancelCause(context.WithoutCancel(ctx))
	f = &flight{done: make(chan struct{}), began: make(chan struct{}), end: end, waiting: 1}
	s.flights[digest] = f

	go func() {
		defer end(nil)

		s.fly(ctx, f, digest, req, again)
	}()

	return f, true, nil
}

// fly is the installation itself.
func (s *Store) fly(ctx context.Context, f *flight, digest string, req Request, again bool) {
	leave, err := s.enter(ctx, req.Tenant, again)

	var e *entry

	if err == nil {
		close(f.began)

		var result Result

		began := s.config.now()
		e, result, err = s.guarded(ctx, digest, req, again)
		s.config.Observer.Installed(Installation{Again: again, Result: result, Took: s.config.now().Sub(began)})
		leave()
	}

	s.mu.Lock()

	// What nobody waits for any more has not failed, unless it was too slow.
	if err != nil && !errors.Is(err, context.Canceled) {
		s.histories.Add(digest, s.history(digest).failedAt(s.config.now(), err))
	}

	if f.entry, f.err = e, err; e != nil {
		e.uses += f.waiting - 1
	}

	delete(s.flights, digest)

	dirs := s.tidy()
	s.mu.Unlock()
	remove(dirs)
	close(f.done)
}

// guarded is install. A panic in one installation must not end the runs of others.
func (s *Store) guarded(ctx context.Context, digest string, req Request, again bool) (e *entry, result Result, err error) {
	defer func() {
		if recover() != nil {
			// Without the value of the panic, which may have a secret in it.
			debug.PrintStack()

			e, result, err = nil, ResultFailed, errors.New("the provider has made a mistake; its log has a stack trace")
		}
	}()

	return s.install(ctx, digest, req, again)
}

// enter takes a place for an installation. What is resolved again has places of its
// own.
func (s *Store) enter(ctx context.Context, tenant string, again bool) (leave func(), err error) {
	if again {
		return func() {}, nil
	}

	return s.installs.Enter(ctx, tenant)
}

// wait until the installation has ended, or the context is done, or the timeout is
// over, which begins when the installation does. The last caller to leave ends the
// installation and waits for its end, so that no process outlives those who wanted it.
// A caller that has not joined gets no set.
func (s *Store) wait(ctx context.Context, f *flight, joined bool, timeout time.Duration) (*entry, error) {
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
		if joined {
			return f.entry, f.err
		}

		return nil, nil
	case <-ctx.Done():
	}

	if joined && s.leave(f) {
		f.end(context.Cause(ctx))
		<-f.done
	}

	return nil, gaveUp(ctx)
}

// leave returns true to the last one who does.
func (s *Store) leave(f *flight) bool {
	s.mu.Lock()

	if e := f.entry; e != nil {
		s.mu.Unlock()
		s.drop(e)

		return false
	}

	defer s.mu.Unlock()

	f.waiting--

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

	return context.WithTimeoutCause(ctx, timeout, galaxy.NewInstallError("content", &slowError{after: timeout}))
}
