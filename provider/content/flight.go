package content

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A flight is an installation in progress, shared by all who wait for it.
type flight struct {
	// done is closed when the installation has ended. The set, of which each who
	// waits has a use, or the error are there before.
	done  chan struct{}
	entry *entry
	err   error
	// end the installation.
	end context.CancelFunc
	// waiting counts those who wait. None means that the installation is being
	// ended. Guarded by the store.
	waiting int
}

// join the installation of a set, or start it; again in order to find out
// whether there is something new. The installation has the values of the context
// that started it, but outlives it as long as others wait. One that is being
// ended cannot be joined any more, which is reported; and so is whether it was
// started.
func (s *Store) join(ctx context.Context, digest string, req Request, again bool) (f *flight, joined, started bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if f, ok := s.flights[digest]; ok {
		if f.waiting == 0 {
			return f, false, false
		}

		f.waiting++

		return f, true, false
	}

	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	f = &flight{done: make(chan struct{}), end: end, waiting: 1}
	s.flights[digest] = f

	go func() {
		defer end()

		s.fly(ctx, f, digest, req, again)
	}()

	return f, true, true
}

// fly is the installation itself.
func (s *Store) fly(ctx context.Context, f *flight, digest string, req Request, again bool) {
	began := s.now()
	e, result, err := s.install(ctx, digest, req, again)
	s.observer.Installed(Installation{Again: again, Result: result, Took: s.now().Sub(began)})

	s.mu.Lock()

	if f.entry, f.err = e, err; e != nil {
		e.uses += f.waiting - 1
	}

	delete(s.flights, digest)

	dirs := s.tidy()
	s.mu.Unlock()
	remove(dirs)
	close(f.done)
}

// wait until the installation has ended, or the context is done. The last one
// to leave ends the installation and sees it out, so that none of its processes
// outlives those who wanted it. Who has not joined gets no set.
func (s *Store) wait(ctx context.Context, f *flight, joined bool) (*entry, error) {
	select {
	case <-f.done:
		if joined {
			return f.entry, f.err
		}

		return nil, nil
	case <-ctx.Done():
	}

	if joined && s.leave(f) {
		f.end()
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
