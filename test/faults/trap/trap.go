// Package trap stops what happens at a moment that a test wants to look at, or
// to strike at, until the test lets it go.
package trap

import (
	"context"
	"sync"
)

// What may happen.
const (
	// PlayBegan is the first task of a play.
	PlayBegan = "PlayBegan"
	// StatusWritten is a request that writes the status of an object.
	StatusWritten = "StatusWritten"
	// FinalizerRemoved is a request that lets an object go.
	FinalizerRemoved = "FinalizerRemoved"
)

// An Event is something that is about to happen.
type Event struct {
	// Kind is one of the constants.
	Kind string
	// UID of the object, and RunID of its run, as far as they are known.
	UID, RunID string
	// Mode, State and Phase of the run, as far as they are known.
	Mode, State, Phase string
}

// A Trap waits for one event. Use Set.Arm.
type Trap struct {
	match  func(Event) bool
	caught chan Event
	open   chan struct{}
	once   sync.Once
}

// Caught has the event once it has happened.
func (t *Trap) Caught() <-chan Event { return t.caught }

// Open the trap, whether it has caught anything or not: what it holds goes on.
func (t *Trap) Open() { t.once.Do(func() { close(t.open) }) }

// A Set of traps. The zero value is ready.
type Set struct {
	// Seen is called for each event, trapped or not. It may be nil.
	Seen func(Event)

	mu    sync.Mutex
	traps []*Trap
}

// Arm a trap for the next event that matches.
func (s *Set) Arm(match func(Event) bool) *Trap {
	t := &Trap{match: match, caught: make(chan Event, 1), open: make(chan struct{})}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.traps = append(s.traps, t)

	return t
}

// Disarm a trap, and let go what it has caught.
func (s *Set) Disarm(t *Trap) {
	s.take(func(o *Trap) bool { return o == t })
	t.Open()
}

// Pass an event: it is held if there is a trap for it, until that is opened or
// the context is done.
func (s *Set) Pass(ctx context.Context, e Event) {
	if s.Seen != nil {
		s.Seen(e)
	}

	t := s.take(func(t *Trap) bool { return t.match(e) })
	if t == nil {
		return
	}

	t.caught <- e

	select {
	case <-t.open:
	case <-ctx.Done():
	}
}

// take the first trap for which a function is true.
func (s *Set) take(is func(*Trap) bool) *Trap {
	s.mu.Lock()
	defer s.mu.Unlock()

	for i, t := range s.traps {
		if is(t) {
			s.traps = append(s.traps[:i:i], s.traps[i+1:]...)

			return t
		}
	}

	return nil
}
