package desired

import (
	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/compile"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
)

// maxUsages of an XR. Each is an object of its own, and two sets that depend on
// each other as a whole have as many as there are pairs.
const maxUsages = 2000

// limitUsages returns a problem when a number of instances of a run needs more Usages than
// an XR can have.
func (r *renderer) limitUsages(run *compile.Run, runs int) []expression.Problem {
	if !run.Usages {
		return nil
	}

	on := 0

	for name := range run.Needs {
		switch {
		case r.Instances[name].Unwanted:
		case run.SameKey[name]:
			on++
		default:
			on += len(r.Instances[name].outcomes)
		}
	}

	on += len(run.Resources())

	if r.usageCount+runs*on > maxUsages {
		return []expression.Problem{compile.Invalid("usages", errors.Errorf(
			"%d runs that depend on %d take %d Usages, and there are %d for an XR at most; refer to the member of the same key alone, as in runs.name[each.key], or set usages: false: they may be deleted in any order then", runs, on, runs*on, maxUsages))}
	}

	r.usageCount += runs * on

	return nil
}
