// Package trap holds an event at a moment that a test chooses, until the test releases it.
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
	// FinalizerRemoved is a request that removes the finalizers of an object.
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

// A Trap catches one event, and holds it until it is opened.
type Trap struct {
	match func(Event) bool
	// Caught has the event once it has happened.
	Caught chan Event
	// Open releases the held event. A second call does nothing.
	Open context.CancelFunc
	open context.Context //nolint:containedctx // It is done when the trap is open.
}

// A Passage is the way of all events. It has at most one trap at a time.
type Passage struct {
	// Seen is called for each event, trapped or not.
	Seen func(Event)

	mu   sync.Mutex
	trap *Trap
}

// Arm a trap for the next event that matches. It replaces the trap before. An open trap catches no event.
func (p *Passage) Arm(match func(Event) bool) *Trap {
	open, cancel := context.WithCancel(context.Background()) //nolint:gosec // Open calls it.
	t := &Trap{match: match, Caught: make(chan Event, 1), open: open, Open: cancel}

	p.mu.Lock()
	defer p.mu.Unlock()

	p.trap = t

	return t
}

// Pass returns at once, or, if the trap matches the event, when the trap is open or the context is done.
func (p *Passage) Pass(ctx context.Context, e Event) {
	p.Seen(e)

	p.mu.Lock()
	t := p.trap

	catches := t != nil && t.open.Err() == nil && t.match(e)
	if catches {
		t.Caught <- e
		p.trap = nil
	}
	p.mu.Unlock()

	if !catches {
		return
	}

	select {
	case <-t.open.Done():
	case <-ctx.Done():
	}
}
