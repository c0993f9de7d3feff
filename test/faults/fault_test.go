package faults

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// maxWait is how long a fault waits for its moment.
const maxWait = 40 * time.Second

// errMissed is the error of a fault whose moment did not come.
var errMissed = errors.New("its moment did not come")

// A fault that can be injected.
type fault struct {
	name string
	// inject the fault, and repair what does not recover by itself. The result describes the injection.
	inject func(ctx context.Context) (string, error)
}

// with returns the faults with a text in their names.
func with(text string, all []fault) []fault {
	return slices.DeleteFunc(all, func(f fault) bool { return !strings.Contains(f.name, text) })
}

// A bag of faults returns each of them once before it returns any again.
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

// pause for some time, or until the context is done.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
