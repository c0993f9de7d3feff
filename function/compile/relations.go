package compile

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// order sorts runs so that each comes after its dependencies. It reports cycles.
func (c compiler) order(runs []*plan.Run) []*plan.Run {
	out, cycles := inOrder(runs, func(r *plan.Run) (string, map[string]bool) { return r.Name, r.Needs })
	for _, cycle := range cycles {
		c.add(field.Invalid(field.NewPath("runs"), strings.Join(cycle, " → "),
			"a run cannot depend on itself, directly or through others"))
	}

	return out
}

// inOrder sorts things topologically: each comes after those that it needs. of returns the name of a thing, and the
// names that it needs. cycles has the names in each cycle.
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

// pair sets SameKey: a set depends on another set key by key, unless dependsOn or an expression refers to the other set
// as a whole.
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

// unusable reports runs for which Crossplane cannot have Usages of their dependencies.
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

// previousMistakes reports literal previous names that are invalid, names of current runs, or duplicates.
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

// previousSets returns the sets that adopt members of previous sets, by the names of the previous sets. With it, the
// set of an adopted AnsibleRun is known even without its item. A name that two sets have in previousNames has a nil
// set.
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
