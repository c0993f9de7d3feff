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
	out, cycles := inOrder(runs, func(r *plan.Run) (string, map[string]bool) { return r.Name, r.Needs })
	for _, cycle := range cycles {
		c.add(field.Invalid(field.NewPath("runs"), strings.Join(cycle, " → "),
			"a run cannot depend on itself, directly or through others"))
	}

	return out
}

// inOrder returns things such that each comes after those that it needs, and the names of those in a circle. Each has a
// name and the names that it needs.
func inOrder[T any](things []T, of func(T) (name string, needs map[string]bool)) (out []T, cycles [][]string) {
	byName := map[string]T{}

	for _, t := range things {
		name, _ := of(t)
		byName[name] = t
	}

	var (
		trail []string
		visit func(name string)
	)

	done := map[string]bool{}

	visit = func(name string) {
		t, ok := byName[name]
		if !ok || done[name] {
			return
		}

		if i := slices.Index(trail, name); i >= 0 {
			cycles = append(cycles, append(slices.Clone(trail[i:]), name))
			return
		}

		trail = append(trail, name)

		_, needs := of(t)
		for _, on := range manifest.SortedKeys(needs) {
			visit(on)
		}

		trail = trail[:len(trail)-1]
		done[name] = true
		out = append(out, t)
	}

	for _, t := range things {
		name, _ := of(t)
		visit(name)
	}

	return out, cycles
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
