package expression

import (
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

const (
	// maxWork of one expression, in the unit of CEL's costs: about 100 ns.
	maxWork = celconfig.PerCallLimit
	// maxTotalWork of all expressions for one XR.
	maxTotalWork = celconfig.RuntimeCELCostBudget
	// maxSize of one value in bytes. No more fits into a message to core.
	maxSize = 4 << 20
)

// A Budget is the work that the expressions for one XR may take together. It
// must not be used concurrently.
type Budget struct {
	spent uint64
}

// NewBudget returns a Budget that is enough for whatever a Composition may want
// of an XR, and little enough not to keep others waiting.
func NewBudget() *Budget {
	return &Budget{}
}

// spend work, as far as there is a budget.
func (b *Budget) spend(work uint64) {
	if b != nil {
		b.spent += work
	}
}

// isSpent is true when there is nothing left.
func (b *Budget) isSpent() bool {
	return b != nil && b.spent > maxTotalWork
}
