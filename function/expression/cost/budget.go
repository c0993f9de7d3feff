package cost

import (
	"context"

	"github.com/google/cel-go/interpreter"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression/value"
)

const (
	// maxWork of one expression. A unit is what CEL calls a cost, about 100 ns.
	maxWork = celconfig.PerCallLimit
	// maxTotalWork of all expressions for one XR.
	maxTotalWork = celconfig.RuntimeCELCostBudget
	// maxTotalSize of all values for one XR, in bytes. Of what is larger, core does
	// not receive the third part.
	maxTotalSize = 12 << 20
	// perUnit is how many bytes of a text are gone through in a unit.
	perUnit = 10
	// perTurn is the work of a turn of a comprehension, apart from its calls.
	perTurn = 3
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

// Write what a Writer has written.
func (b *Budget) Write(w value.Writer) {
	if b != nil {
		b.written += w.Bytes
	}

	b.Spend(OfText(w.Bytes) + uint64(max(w.Fields, 0))*PerField)
}

// Spent says what there is too much of; nil while something is left of everything.
func (b *Budget) Spent() error {
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

// OfText is the work to go through this many bytes of text.
func OfText(bytes int) uint64 { return uint64(max(bytes, 0)) / perUnit }

// MeterName is the name under which the activation of an evaluation has its Meter.
// No expression can have such a name.
const MeterName = "@meter"

// A Meter counts the work of one evaluation, and ends it when that is too much, or
// when the context is done. It must not be used concurrently.
type Meter struct {
	ctx  context.Context //nolint:containedctx // It lives as long as the evaluation.
	work uint64
}

// NewMeter returns the Meter of an evaluation.
func NewMeter(ctx context.Context) Meter { return Meter{ctx: ctx} }

// Work that was counted.
func (m *Meter) Work() uint64 { return m.work }

// spend work. There is no way to end an evaluation but by a panic that CEL
// expects: errors may be what a comprehension goes on after.
func (m *Meter) spend(work uint64) {
	const often = 1000

	if m.work/often != (m.work+work)/often && m.ctx.Err() != nil {
		panic(interpreter.EvalCancelledError{Message: "there was no time left for this", Cause: interpreter.ContextCancelled})
	}

	if work > maxWork-m.work {
		m.work = maxWork
		panic(interpreter.EvalCancelledError{Message: "this takes too much work", Cause: interpreter.CostLimitExceeded})
	}

	m.work += work
}
