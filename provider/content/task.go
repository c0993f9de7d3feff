package content

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
)

// A task runs in the background, once for all callers that wait for the same request.
type task struct {
	key    string
	cancel context.CancelFunc
	// waiting has the functions that wake the callers.
	waiting map[types.UID]func()
	// ended is true once the task has ended, with err.
	ended bool
	err   error
}

// Await installs the set of a request in the background, see Ensure, if it is not in the store. It returns whether the
// installation has ended, and its error. wake is called once at its end. A caller waits only for its last request, and
// an installation without a caller is canceled. If a caller repeats its last request, the result is the same, even if
// the set was removed since.
func (s *Store) Await(caller types.UID, req Request, wake func()) (ended bool, err error) {
	digest := s.digest(req)
	key := "install " + digest + " " + req.Timeout.String() + " " + req.Asked // Each request of a user is a new attempt.

	s.mu.Lock()
	defer s.mu.Unlock()

	switch t := s.awaited[caller]; {
	case t == nil:
	case t.key == key:
		return t.ended, t.err
	default:
		delete(s.awaited, caller)

		if delete(t.waiting, caller); len(t.waiting) == 0 {
			s.end(t)
		}
	}

	if digest == "" || s.current(digest) != nil {
		return true, nil
	}

	s.awaited[caller] = s.join(key, caller, wake, func(ctx context.Context) error {
		_, release, err := s.Ensure(ctx, req)
		if err == nil {
			release()
		}

		return err
	})

	return false, nil
}

// join adds a caller to the task with a key, and starts the task unless it is in progress, or the store is stopped. The
// store is locked.
func (s *Store) join(key string, caller types.UID, wake func(), do func(context.Context) error) *task {
	t := s.tasks[key]
	if t == nil {
		ctx, cancel := context.WithCancel(s.background)
		t = &task{key: key, cancel: cancel, waiting: map[types.UID]func(){}}
		s.tasks[key] = t

		if ctx.Err() == nil {
			s.working.Go(func() { s.conclude(t, do(ctx)) })
		}
	}

	t.waiting[caller] = wake

	return t
}

// conclude records the end of a task, and wakes its callers. It does nothing once the store is stopped: the canceled
// task must not count as a failure, and the next process repeats it.
func (s *Store) conclude(t *task, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.background.Err() != nil {
		return
	}

	t.ended, t.err = true, err
	s.end(t)

	for _, wake := range t.waiting {
		wake()
	}
}

// end cancels a task that has ended, or that no caller waits for. The store is locked.
func (s *Store) end(t *task) {
	t.cancel()

	if s.tasks[t.key] == t {
		delete(s.tasks, t.key)
	}
}

// Stop ends all tasks and waits for their end. Installations for callers of Ensure go on.
func (s *Store) Stop() {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()

	s.working.Wait()
}
