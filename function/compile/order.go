package compile

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// order returns the runs such that each comes after the runs that it needs. The errors are
// runs that need themselves.
func order(runs []*Run) ([]*Run, field.ErrorList) {
	byName := map[string]*Run{}
	for _, r := range runs {
		byName[r.Name] = r
	}

	var (
		out   []*Run
		errs  field.ErrorList
		trail []string
		visit func(r *Run)
	)

	done := map[string]bool{}

	visit = func(r *Run) {
		if i := slices.Index(trail, r.Name); i >= 0 {
			cycle := strings.Join(append(slices.Clone(trail[i:]), r.Name), " → ")
			errs = append(errs, field.Invalid(field.NewPath("runs"), cycle, "a run cannot depend on itself, directly or through others"))

			return
		}

		if done[r.Name] {
			return
		}

		trail = append(trail, r.Name)

		for _, name := range manifest.SortedKeys(r.Needs) {
			visit(byName[name])
		}

		trail = trail[:len(trail)-1]
		done[r.Name] = true
		out = append(out, r)
	}

	for _, r := range runs {
		visit(r)
	}

	return out, errs
}

// pair sets SameKey: a set depends on another one key by key, unless an expression refers to
// the other set as a whole.
func pair(runs []*Run) {
	for _, r := range runs {
		for _, on := range runs {
			_, needed := r.Needs[on.Name]
			if needed && r.ForEach != nil && on.ForEach != nil && !r.sets[on.Name] {
				r.SameKey[on.Name] = true
			}
		}
	}
}
