// Package cost limits the work of expressions: a Meter that of one evaluation, and a Budget that of all expressions for
// one XR. The authors of XRs choose the values that expressions see, so that a short expression may take for ever, or
// all memory.
//
// Work is counted by values: each call costs a little, each text that an expression looks at its length, and each
// comprehension its turns. The few calls that may do, or return, far more than what they are given are bounded by
// their arguments, before they are made. The units and limits are those of Kubernetes.
//
// CEL's own limit (cel.CostLimit) is not used. It counts a call after the call was made, when
// lists.range(xr.spec.billion) or x.replace("", y) have taken all memory. And it takes the square of the turns of a
// comprehension by itself: it keeps the values of all turns on a stack, which it searches in each.
package cost
