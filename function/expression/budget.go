package expression

import (
	"github.com/google/cel-go/interpreter"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/crossplane/function-sdk-go/errors"
)

const (
	// maxWork is the limit of one expression, as in Kubernetes. A unit of work is a unit of CEL's cost, about 100 ns.
	maxWork = celconfig.PerCallLimit
	// maxTotalWork is the limit of all expressions for one XR.
	maxTotalWork = celconfig.RuntimeCELCostBudget
	// maxTotalSize is the limit of all values for one XR in bytes: three times the largest response that core receives.
	maxTotalSize = 12 << 20
	// perUnit is the number of bytes of a string that one unit of work processes.
	perUnit = 10
	// PerField is the work to sort a field of an object and to copy it to another object.
	PerField = 10
)

// A Budget limits the total work of the expressions for one XR, and the total size of their values, so that one XR does
// not delay others. The zero Budget is unspent. A nil Budget has no limit. A Budget must not be used concurrently.
type Budget struct {
	spent   uint64
	written int
}

// Spend adds work, in units of about 100 ns.
func (b *Budget) Spend(work uint64) {
	if b != nil {
		b.spent += work
	}
}

// Write adds the size of a value in bytes, and the work to write it.
func (b *Budget) Write(bytes int) {
	if b != nil {
		b.written += bytes
	}

	b.Spend(textWork(bytes))
}

// exhausted returns an error if the work or the size is above its limit.
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

// textWork returns the work to process a string with a number of bytes.
func textWork(bytes int) uint64 { return uint64(max(bytes, 0)) / perUnit }

// spend adds work. It ends the evaluation if the limit is exceeded, or the context is done.
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
