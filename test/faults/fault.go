package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// maxWait is how long a fault waits for its moment.
const maxWait = 40 * time.Second

// errMissed is returned by a fault if there was no moment to inject it.
var errMissed = errors.New("its moment did not come")

// A fault that can be injected.
type fault struct {
	name string
	// inject the fault, and put right what does not come right by itself. It
	// returns a word on what it did.
	inject func(ctx context.Context) (string, error)
}

// A tally of the faults that were injected.
type tally struct {
	mu       sync.Mutex
	injected map[string]int
	missed   map[string]int
}

func newTally() *tally { return &tally{injected: map[string]int{}, missed: map[string]int{}} }

func (t *tally) add(name string, missed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()

	if missed {
		t.missed[name]++
		return
	}

	t.injected[name]++
}

// total of the faults that were injected.
func (t *tally) total() int {
	t.mu.Lock()
	defer t.mu.Unlock()

	n := 0
	for _, c := range t.injected {
		n += c
	}

	return n
}

// lines of a table, one for each kind.
func (t *tally) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()

	all := maps.Clone(t.injected)
	for n := range t.missed {
		all[n] += 0
	}

	var out []string

	for _, n := range sorted(all) {
		line := fmt.Sprintf("%4d  %s", t.injected[n], n)
		if m := t.missed[n]; m > 0 {
			line += fmt.Sprintf("  (and %d whose moment did not come)", m)
		}

		out = append(out, line)
	}

	return out
}

// with a text in their names.
func with(text string, all []fault) []fault {
	return slices.DeleteFunc(all, func(f fault) bool { return !strings.Contains(f.name, text) })
}

// A bag of faults: each comes once before any comes again.
type bag struct {
	rng  *rand.Rand
	all  []fault
	left []fault
}

func (b *bag) next() fault {
	if len(b.left) == 0 {
		b.left = slices.Clone(b.all)
		b.rng.Shuffle(len(b.left), func(i, j int) { b.left[i], b.left[j] = b.left[j], b.left[i] })
	}

	f := b.left[0]
	b.left = b.left[1:]

	return f
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// pause for some time, or until the context is done.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
