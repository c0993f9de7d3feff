// Package ledger records the work of plays. Each play reports over a connection that one of its processes holds as long
// as it works. So the kernel reports the end of a killed play.
package ledger

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// An Outcome of the work of a play.
type Outcome string

// Outcomes.
const (
	// Working is a play in progress.
	Working Outcome = ""
	// Done is a play that completed its work.
	Done Outcome = "done"
	// Failed is a play that reported a failure.
	Failed Outcome = "failed"
	// Lost is a play that ended without a report.
	Lost Outcome = "lost"
)

// Modes and states of plays.
const (
	ModeApply    = "Apply"
	ModeCheck    = "Check"
	StatePresent = "present"
	StateAbsent  = "absent"
)

// Half is the target of an object during a play, and after a lost one.
const Half = "half done"

// A Run is the work of one play.
type Run struct {
	UID, ID, Mode, State, Value string
	Outcome                     Outcome
	// Struck is true for a run whose Pod a fault has hit.
	Struck bool
}

func (r *Run) applies() bool { return r.Mode == ModeApply }

// A Breach of an invariant.
type Breach struct {
	UID, Invariant, Text string
}

// A Book has the reports of all plays, and one target for each object. Use NewBook.
type Book struct {
	out   io.Writer
	start time.Time

	mu       sync.Mutex
	runs     []*Run
	targets  map[string]string
	gone     map[string]bool
	deleted  map[string]bool
	notes    map[string][]string
	breaches []Breach
}

// NewBook returns an empty book. It writes a line for each event.
func NewBook(out io.Writer) *Book {
	return &Book{
		out: out, start: time.Now(), targets: map[string]string{}, gone: map[string]bool{}, deleted: map[string]bool{},
		notes: map[string][]string{},
	}
}

// Begin the work of a run. The result is true if the target differs from the wanted one.
func (b *Book) Begin(r Run) (differs bool) {
	b.mu.Lock()
	defer b.mu.Unlock()

	for _, o := range b.runs {
		if r.Struck = r.Struck || o.ID == r.ID && o.Struck; o.ID == r.ID && !r.Struck {
			b.breach(r.UID, "a run begins once", fmt.Sprintf("run %s began again", r.ID))
		}

		if o.UID == r.UID && o.Outcome == Working {
			b.breach(r.UID, "runs of one object never overlap",
				fmt.Sprintf("run %s began while run %s was in progress", r.ID, o.ID))
		}
	}

	if b.gone[r.UID] {
		b.breach(r.UID, "nothing is run for an object that is gone", fmt.Sprintf("run %s began", r.ID))
	}

	b.runs = append(b.runs, &r)
	b.note(r.UID, "begin", r.ID, r.Mode, r.State, "value", r.Value)

	want := r.Value
	if r.State == StateAbsent {
		want = ""
	}

	differs = b.targets[r.UID] != want
	if r.applies() {
		b.targets[r.UID] = Half
	}

	return differs
}

// End the work of a run, once.
func (b *Book) End(id string, how Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()

	i := slices.IndexFunc(b.runs, func(r *Run) bool { return r.ID == id && r.Outcome == Working })
	if i < 0 {
		return
	}

	r := b.runs[i]
	r.Outcome = how
	b.note(r.UID, "end", r.ID, string(how))

	switch {
	case !r.applies() || how != Done:
	case r.State == StateAbsent:
		delete(b.targets, r.UID)
	default:
		b.targets[r.UID] = r.Value
	}
}

// Drift changes a target outside of Ansible, except during a play.
func (b *Book) Drift(uid string) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.targets[uid] != "" && b.targets[uid] != Half {
		b.targets[uid] = "drifted"
		b.note(uid, "drift")
	}
}

// Deleted records that the deletion of an object begins.
func (b *Book) Deleted(uid string) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.deleted[uid] = true
	b.note(uid, "deleted")
}

// Gone records the end of an object. It must follow a successful absent run, unless the object was never applied.
func (b *Book) Gone(uid string) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.gone[uid] {
		return
	}

	b.gone[uid] = true
	b.note(uid, "gone")

	if last := b.last(uid); last != nil && (last.State != StateAbsent || last.Outcome != Done) {
		b.breach(uid, "a delete is done only after a successful absent run",
			fmt.Sprintf("the last run before the object was gone is %s, state %s, outcome %q", last.ID, last.State,
				last.Outcome))
	}
}

// An Object of the runs.
type Object struct {
	// Target is the applied value; empty for none.
	Target string
	// Deleted is true from the beginning of the deletion on, Gone from its end on.
	Deleted, Gone bool
	// LastApply that began to work; nil for none.
	LastApply *Run
}

// Object as it is now.
func (b *Book) Object(uid string) Object {
	b.mu.Lock()
	defer b.mu.Unlock()

	return Object{Target: b.targets[uid], Deleted: b.deleted[uid], Gone: b.gone[uid], LastApply: b.last(uid)}
}

// Strike a run: it may end without a result, or begin again.
func (b *Book) Strike(r Run, words ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()

	for _, o := range b.runs {
		o.Struck = o.Struck || o.ID == r.ID
	}

	b.note(r.UID, append([]any{"STRIKE", r.ID}, words...)...)
}

// Runs that began, in that order.
func (b *Book) Runs() []Run {
	b.mu.Lock()
	defer b.mu.Unlock()

	out := make([]Run, len(b.runs))
	for i, r := range b.runs {
		out[i] = *r
	}

	return out
}

// Run with an id, as it began last; nil if it never began to work.
func (b *Book) Run(id string) *Run {
	b.mu.Lock()
	defer b.mu.Unlock()

	for _, r := range slices.Backward(b.runs) {
		if r.ID == id {
			return new(*r)
		}
	}

	return nil
}

// Note adds a line to the timeline of an object.
func (b *Book) Note(uid string, words ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.note(uid, words...)
}

// Breach notes that an invariant does not hold.
func (b *Book) Breach(uid, invariant, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.breach(uid, invariant, text)
}

// Breaches so far.
func (b *Book) Breaches() []Breach {
	b.mu.Lock()
	defer b.mu.Unlock()

	return slices.Clone(b.breaches)
}

// Timeline of an object, a line for each event.
func (b *Book) Timeline(uid string) string {
	b.mu.Lock()
	defer b.mu.Unlock()

	return strings.Join(b.notes[uid], "")
}

// last apply for an object.
func (b *Book) last(uid string) *Run {
	for _, r := range slices.Backward(b.runs) {
		if r.UID == uid && r.applies() {
			return new(*r)
		}
	}

	return nil
}

func (b *Book) breach(uid, invariant, text string) {
	b.breaches = append(b.breaches, Breach{UID: uid, Invariant: invariant, Text: text})
	b.note(uid, "BREACH", invariant+":", text)
}

func (b *Book) note(uid string, words ...any) {
	line := fmt.Sprintf("%9.3f %s %s", time.Since(b.start).Seconds(), uid, fmt.Sprintln(words...))
	b.notes[uid] = append(b.notes[uid], line)
	_, _ = io.WriteString(b.out, line)
}
