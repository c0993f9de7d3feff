package expression

import (
	"github.com/google/cel-go/interpreter"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/crossplane/function-sdk-go/errors"
)

const (
	// maxWork of one expression, as in Kubernetes. A unit is what CEL calls a cost, about 100 ns.
	maxWork = celconfig.PerCallLimit
	// maxTotalWork of all expressions for one XR.
	maxTotalWork = celconfig.RuntimeCELCostBudget
	// maxTotalSize of all values for one XR, in bytes. Of what is larger, core does
	// not receive the third part.
	maxTotalSize = 12 << 20
	// perUnit is how many bytes of a text are gone through in a unit.
	perUnit = 10
	// PerField is the work of a field of an object: it is sorted, and put into
	// another one.
	PerField = 10
)

// A Budget is the work that the expressions for one XR may take together, and the size of
// their values: enough for whatever a Composition may want of an XR, and little enough not
// to keep others waiting. The zero Budget has it all. It must not be used concurrently.
type Budget struct {
	spent   uint64
	written int
}

// Spend work, in units of about 100 ns. A nil Budget has no end.
func (b *Budget) Spend(work uint64) {
	if b != nil {
		b.spent += work
	}
}

// Write a value of this many bytes.
func (b *Budget) Write(bytes int) {
	if b != nil {
		b.written += bytes
	}

	b.Spend(ofText(bytes))
}

// exhausted says what there is too much of; nil while something is left of everything.
func (b *Budget) exhausted() error {
	switch {
	case b == nil:
		return nil
	case b.spent > maxTotalWork:
		return errors.New("the expressions for this XR take too much work together")
	case b.written > maxTotalSize:
		return errors.New(
			"the values for this XR are larger than 12 MiB together; compose fewer runs in one XR, or runs with smaller values")
	}

	return nil
}

// ofText is the work to go through this many bytes of text.
func ofText(bytes int) uint64 { return uint64(max(bytes, 0)) / perUnit }

// spend work, or end the evaluation when that is too much, or when the context is done.
func (e *evaluation) spend(work uint64) {
	const often = 1000

	if e.work/often != (e.work+work)/often && e.ctx.Err() != nil {
		panic(interpreter.EvalCancelledError{Message: "there was no time left for this", Cause: interpreter.ContextCancelled})
	}

	if work > maxWork-e.work {
		e.work = maxWork
		panic(interpreter.EvalCancelledError{Message: "this takes too much work", Cause: interpreter.CostLimitExceeded})
	}

	e.work += work
}
