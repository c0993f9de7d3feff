package pods

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// A ledger is a server for the plays of a test: a list of notes that they add to, and gates that they wait at. Plays use
// the lookup of URLs, and no module.
type ledger struct {
	URL string

	mu    sync.Mutex
	notes []string
	gates map[string]chan struct{}
}

// newLedger listens where Pods reach this machine.
func newLedger(t *testing.T) *ledger {
	t.Helper()
	b := &ledger{gates: map[string]chan struct{}{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/note/{what...}", func(_ http.ResponseWriter, r *http.Request) { b.note(r.PathValue("what")) })
	mux.HandleFunc("/gate/{name}", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-b.gate(r.PathValue("name")):
		case <-r.Context().Done():
		}
	})
	b.URL = sources.Start(t, mux, sources.Options{Host: cp.Stack.Address()}).URL
	return b
}

func (b *ledger) note(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes = append(b.notes, what)
}

// Notes so far.
func (b *ledger) Notes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.notes)
}

// Count the notes that begin with a text.
func (b *ledger) Count(prefix string) int {
	n := 0
	for _, l := range b.Notes() {
		if strings.HasPrefix(l, prefix) {
			n++
		}
	}
	return n
}

// Await a number of notes that begin with a text.
func (b *ledger) Await(t *testing.T, n int, prefix string) {
	t.Helper()
	Eventually(t, "notes in the ledger that begin with "+prefix, func() bool { return b.Count(prefix) >= n })
}

func (b *ledger) gate(name string) chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gates[name] == nil {
		b.gates[name] = make(chan struct{})
	}
	return b.gates[name]
}

// Open a gate for good.
func (b *ledger) Open(name string) { close(b.gate(name)) }
