package content

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
)

// A task is carried out in the background, once for all callers that wait for the same.
type task struct {
	key    string
	cancel context.CancelFunc
	// waiting are the callers, with what wakes them.
	waiting map[types.UID]func()
	// ended is true once it has, with err.
	ended bool
	err   error
}

// Await has the set of a request installed in the background, see Ensure, if it is not in the store, and returns
// whether that has ended, and how. Wake is called once when it has. A caller waits for what it has awaited last, and
// for nothing if that requires nothing; an installation that no caller waits for ends. A caller that awaits the same
// again is told the same, also when the set was removed meanwhile.
func (s *Store) Await(caller types.UID, req Request, wake func()) (ended bool, err error) {
	digest := s.digest(req)
	key := "install " + digest + " " + req.Timeout.String() + " " + req.Asked // Each that is asked for is another try.

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

// join the task with a key, which begins unless it is in progress. In a store that was stopped none begins. The store
// is locked.
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

// conclude a task that has ended, and wake its callers. The next process is to do what the end of this one cut short.
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

// end a task that has ended, or that no caller waits for. The store is locked.
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
