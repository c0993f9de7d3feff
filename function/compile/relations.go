package compile

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// order returns the runs such that each comes after the runs that it needs. It reports runs that need themselves.
func (c compiler) order(runs []*plan.Run) []*plan.Run {
	byName := map[string]*plan.Run{}
	for _, r := range runs {
		byName[r.Name] = r
	}

	var (
		out   []*plan.Run
		trail []string
		visit func(r *plan.Run)
	)

	done := map[string]bool{}

	visit = func(r *plan.Run) {
		if i := slices.Index(trail, r.Name); i >= 0 {
			cycle := strings.Join(append(slices.Clone(trail[i:]), r.Name), " → ")
			c.add(field.Invalid(field.NewPath("runs"), cycle, "a run cannot depend on itself, directly or through others"))

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

	return out
}

// pair sets SameKey: a set depends on another one key by key, unless an expression refers to
// the other set as a whole.
func pair(runs []run) {
	for _, r := range runs {
		for _, on := range runs {
			_, needed := r.Needs[on.Name]
			if needed && r.ForEach != nil && on.ForEach != nil && !r.sets[on.Name] {
				r.SameKey[on.Name] = true
			}
		}
	}
}

// unusable reports runs for which Crossplane can have no Usages of what they depend on.
func (c compiler) unusable(runs []run) {
	namespaced := map[string]bool{}
	for _, r := range runs {
		namespaced[r.Name] = r.APIVersion() == ansiblerun.APIVersionNamespaced
	}

	for _, r := range runs {
		for _, name := range manifest.SortedKeys(r.Needs) {
			if r.Usages && namespaced[name] && !namespaced[r.Name] {
				c.add(field.Forbidden(r.Path.Child("usages"),
					"Crossplane has no Usage of a namespaced object by a cluster-scoped one, so "+name+
						" could be deleted before "+r.Name+"; set usages: false if that does no harm"))
			}
		}
	}
}

// previousMistakes reports names that cannot be those of a composed resource, or that two
// runs have had.
func (c compiler) previousMistakes(runs []run) {
	seen, resources := map[string]bool{}, map[string]bool{}
	for _, r := range runs {
		resources[r.Name] = true
	}

	for _, r := range runs {
		for i, name := range r.from.PreviousNames {
			path := r.Path.Child("previousNames").Index(i)

			switch {
			case strings.Contains(name, "${"):
			case name == "" || strings.ContainsAny(name, ", "):
				c.add(field.Invalid(path, name, "cannot be the name of a composed resource"))
			case resources[name]:
				c.add(field.Invalid(path, name, "is a run of this Composition"))
			case seen[name]:
				c.add(field.Duplicate(path, name))
			}

			seen[name] = true
		}
	}
}

// previousSets returns the sets that have adopted the members of other sets, by the names of these. With it, a member
// finds its set also if its item is gone and no key names it. A name that two sets claim belongs to neither.
func previousSets(runs []run) map[string]*plan.Run {
	sets := map[string]*plan.Run{}

	for _, r := range runs {
		for _, name := range r.from.PreviousNames {
			set, _, ok := strings.Cut(name, "[")
			if r.ForEach == nil || !ok || strings.Contains(set, "${") {
				continue
			}

			if other, ok := sets[set]; ok && other != r.Run {
				sets[set] = nil
				continue
			}

			sets[set] = r.Run
		}
	}

	for _, r := range runs {
		delete(sets, r.Name)
	}

	return sets
}
