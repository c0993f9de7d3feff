// Package cost limits the work of expressions: a Meter that of one evaluation, and a
// Budget that of all expressions for one XR. The authors of XRs choose the values
// that expressions see, so that a short expression may take for ever, or all memory.
//
// The cost limit of CEL (cel.CostLimit) does not stop that. It counts a call after
// the call was made, when lists.range(xr.spec.billion), "%.999999999f".format(…) or
// x.replace("", y) have taken all memory, and takes a regular expression for as
// large as it is written: (x?){500} and the like. The units and limits are the same.
package cost
