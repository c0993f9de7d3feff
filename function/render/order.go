package render

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// order runs such that each comes after those that it needs. The errors are runs
// that need themselves.
func order(runs []*run) ([]*run, field.ErrorList) {
	byName := map[string]*run{}
	for _, r := range runs {
		byName[r.name] = r
	}

	var (
		out   []*run
		errs  field.ErrorList
		trail []string
		visit func(r *run)
	)

	done := map[string]bool{}

	visit = func(r *run) {
		if i := slices.Index(trail, r.name); i >= 0 {
			cycle := strings.Join(append(slices.Clone(trail[i:]), r.name), " → ")
			errs = append(errs, field.Invalid(field.NewPath("runs"), cycle, "a run cannot depend on itself, directly or through others"))

			return
		}

		if done[r.name] {
			return
		}

		trail = append(trail, r.name)

		for _, name := range manifest.SortedKeys(r.needs) {
			visit(byName[name])
		}

		trail = trail[:len(trail)-1]
		done[r.name] = true
		out = append(out, r)
	}

	for _, r := range runs {
		visit(r)
	}

	return out, errs
}

// pair the members of sets that depend on each other by key.
func pair(runs []*run) {
	for _, r := range runs {
		for _, on := range runs {
			_, needed := r.needs[on.name]
			if needed && r.each != nil && on.each != nil && !r.sets[on.name] {
				r.sameKey[on.name] = true
			}
		}
	}
}
