package desired

import (
	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// maxUsages is the largest number of Usages of an XR. A set of n members that depends on a whole set of m members needs
// n times m Usages.
const maxUsages = 2000

// limitUsages adds the Usages for a number of instances of a run to r.usageCount. If that exceeds maxUsages, it returns
// a problem instead.
func (r *renderer) limitUsages(run *plan.Run, instances int) []expression.Problem {
	if !run.Usages {
		return nil
	}

	dependencies := 0

	for name := range run.Needs {
		switch {
		case r.Instances[name].Unwanted():
		case run.SameKey[name]:
			dependencies++
		default:
			dependencies += len(r.Instances[name])
		}
	}

	if r.plan.ReadsResources {
		dependencies += len(run.Resources())
	}

	if r.usageCount+instances*dependencies > maxUsages {
		return []expression.Problem{expression.InvalidAt("usages", errors.Errorf(
			"%d runs that depend on %d take %d Usages, and there are %d for an XR at most; refer to the member of the same "+
				"key alone, as in runs.name[each.key], or set usages: false: they may be deleted in any order then", instances,
			dependencies, instances*dependencies, maxUsages))}
	}

	r.usageCount += instances * dependencies

	return nil
}
