package content

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A flight is an installation in progress, shared by all who wait for it.
type flight struct {
	// done is closed when the installation has ended; err is set before.
	done chan struct{}
	err  error
	// end the installation.
	end context.CancelFunc
	// waiting counts those who wait. None means that the installation is being
	// ended. Guarded by the store.
	waiting int
}

// join the installation of a set, or start it. The installation has the values
// of the context that started it, but outlives it as long as others wait. One
// that is being ended cannot be joined any more, which is reported; and so is
// whether it was started.
func (s *Store) join(ctx context.Context, digest string, req Request) (f *flight, joined, started bool) {
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

		began := s.now()
		err := s.install(ctx, digest, req)
		s.observer.Installed(Installation{Result: resultOf(ctx, err), Took: s.now().Sub(began)})

		s.mu.Lock()
		defer s.mu.Unlock()

		f.err = err
		delete(s.flights, digest)
		close(f.done)
	}()

	return f, true, true
}

// wait until the installation has ended, or the context is done. The last one
// to leave ends the installation and sees it out, so that none of its processes
// outlives those who wanted it.
func (s *Store) wait(ctx context.Context, f *flight, joined bool) error {
	select {
	case <-f.done:
		if joined {
			return f.err
		}

		return nil
	case <-ctx.Done():
	}

	if joined && s.leave(f) {
		f.end()
		<-f.done
	}

	return gaveUp(ctx)
}

// leave returns true to the last one who does.
func (s *Store) leave(f *flight) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	f.waiting--

	return f.waiting == 0
}

func gaveUp(ctx context.Context) error {
	return errors.Wrap(context.Cause(ctx), "gave up waiting for the content to be installed")
}
