package render

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
)

// adopt what a run was called before as the composed resource of this name, if there
// is none yet: from here on it is observed by this name. The names that are taken
// are those of the other members of a set.
func (r *rendering) adopt(ctx context.Context, run *run, resource string, data expression.Data, taken map[string]bool) []expression.Problem {
	if run.previous == nil {
		return nil
	}

	if _, ok := r.observed.Resources[resource]; ok {
		return nil
	}

	found, problems := r.previous(ctx, run, resource, data, taken)

	switch {
	case len(problems) > 0:
		r.uncertain[run] = true
		return problems
	case len(found) > 1:
		r.uncertain[run] = true
		return []expression.Problem{invalid(fieldPrevious, errors.Errorf("the XR has %s, of which only one can be the run", strings.Join(found, " and ")))}
	case len(found) == 0:
		return nil
	}

	was := found[0]
	r.called[resource] = was

	r.observed.Resources = moved(r.observed.Resources, was, resource)
	r.observed.Owned = moved(r.observed.Owned, was, resource)
	r.observed.Details = moved(r.observed.Details, was, resource)

	return nil
}

// moved returns a map with a value under another name.
func moved[T any](m map[string]T, was, is string) map[string]T {
	m = maps.Clone(m)
	if v, ok := m[was]; ok {
		m[is] = v
		delete(m, was)
	}

	return m
}

// previous returns those other names of a composed resource under which there is an
// AnsibleRun.
func (r *rendering) previous(ctx context.Context, run *run, resource string, data expression.Data, taken map[string]bool) ([]string, []expression.Problem) {
	v, _, problems := run.previous.Evaluate(ctx, data)
	if len(problems) > 0 {
		return nil, problems
	}

	var found []string

	names, _ := v.([]any)
	for i := range names {
		name, ok := names[i].(string)
		if !ok {
			return nil, []expression.Problem{invalid(fieldPrevious, errors.New("must be names"))}
		}

		if name == resource {
			continue
		}

		if taken[name] || r.isTaken(name, run) {
			return nil, []expression.Problem{invalid(fieldPrevious, errors.Errorf("%s is a run of the Composition", name))}
		}

		if _, ok := r.observed.run(name); ok && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}

	return found, nil
}

// isTaken is true for a composed resource that another run makes.
func (r *rendering) isTaken(resource string, by *run) bool {
	return slices.ContainsFunc(r.composition.runs, func(run *run) bool { return run != by && run.makes(resource) })
}

// calls is what core calls a composed resource.
func (r *rendering) calls(resource string) string {
	if was, ok := r.called[resource]; ok {
		return was
	}

	return resource
}

// renamed holds runs that are to be created while there is one with the same content,
// hosts and variables that is not wanted, or is being removed: whichever ended last
// would win. It returns those that may go.
func (r *rendering) renamed(runs []Run, going []string, stays map[string]Run) []string {
	before := map[string]string{}

	for _, resource := range r.going(runs) {
		if o := r.observed.Resources[resource]; removes(o) {
			before[worksOn(o)] = resource
		}
	}

	departing := map[string]string{}
	for _, d := range r.departing {
		departing[worksOn(d.object)] = d.String()
	}

	if len(before)+len(departing) == 0 {
		return going
	}

	for i := range runs {
		out := &runs[i]
		if out.Reason != Creating {
			continue
		}

		on := worksOn(out.Desired)

		if d, ok := departing[on]; ok {
			*out = r.wait(Run{Name: out.Name, Resource: out.Resource}, []string{d})
			continue
		}

		was, ok := before[on]
		run := r.composition.run(out.Resource)

		switch {
		case !ok || run == nil:
		case run.previous == nil:
			*out = r.hold(Run{Name: out.Name, Resource: out.Resource}, []expression.Problem{invalid(fieldPrevious, errors.Errorf(
				"%s, which is not wanted any more, has the same content, hosts and variables: write previousNames: [%q] to go on with it, or previousNames: [] to remove it all the same", was, was))})

			if _, ok := stays[was]; !ok {
				stays[was] = r.keep(Run{Name: was, Resource: was, Reason: Leaving, Messages: []string{"not wanted any more, but may be what " + out.Name + " was called"}})
			}
		case stays[was].Reason != Retained:
			*out = r.wait(Run{Name: out.Name, Resource: out.Resource}, []string{was + ", which is not wanted any more"})
		}
	}

	return slices.DeleteFunc(going, func(resource string) bool {
		_, ok := stays[resource]
		return ok
	})
}

// doubt whether what no run makes is to go, while it is not known what runs were
// called, and what such a run makes by other keys. It returns those that may.
func (r *rendering) doubt(going []string, stays map[string]Run) []string {
	if len(r.uncertain) == 0 {
		return going
	}

	return slices.DeleteFunc(going, func(resource string) bool {
		if run := r.composition.run(resource); run != nil && !r.uncertain[run] {
			return false
		}

		stays[resource] = r.keep(Run{Name: resource, Resource: resource, Reason: Leaving, Messages: []string{"not wanted any more, but may be what a run was called, which is not known yet"}})

		return true
	})
}

// removes is true for an AnsibleRun whose content runs with state absent when it is
// deleted.
func removes(o map[string]any) bool {
	spec, _ := o[fieldSpec].(map[string]any)
	policies, set := spec["managementPolicies"].([]any)

	return text(spec, "deletionPolicy") != "Orphan" && (!set || slices.Contains(policies, "*") || slices.Contains(policies, "Delete"))
}

// worksOn tells AnsibleRuns apart by what they do, where, and with which variables.
func worksOn(o map[string]any) string {
	spec, _ := o[fieldSpec].(map[string]any)
	parameters, _ := spec[fieldForProvider].(map[string]any)

	of := pick(parameters, append(contents[:], "hosts", "inventoryInline", "inventories", "limit", "vars", "unsafeVars", "varFiles")...)
	ref, _ := spec["providerConfigRef"].(map[string]any)
	of["providerConfigRef"] = pick(ref, fieldName)

	// Maps are printed in the order of their keys.
	return fmt.Sprintf("%#v", canonical(of))
}

// previousMistakes are names that cannot be those of a composed resource, or that two
// runs have had.
func previousMistakes(templates []template) field.ErrorList {
	var errs field.ErrorList

	seen, resources := map[string]bool{}, map[string]bool{}
	for _, t := range templates {
		resources[t.resource()] = true
	}

	for _, t := range templates {
		names, _ := t.object[fieldPrevious].([]any)

		for i := range names {
			path := t.path.Child(fieldPrevious).Index(i)
			name, _ := names[i].(string)

			switch {
			case strings.Contains(name, "${"):
			case name == "" || strings.ContainsAny(name, ", "):
				errs = append(errs, field.Invalid(path, names[i], "cannot be the name of a composed resource"))
			case resources[name]:
				errs = append(errs, field.Invalid(path, name, "is a run of this Composition"))
			case seen[name]:
				errs = append(errs, field.Duplicate(path, name))
			}

			seen[name] = true
		}
	}

	return errs
}

// formerly returns the sets that composed resources belong to which were members of
// others, by the names of these: also those whose items are gone, and of which
// nobody can say any more by what key they would be known now. What two have been is
// nobody's.
func formerly(runs []*run, templates []template) map[string]*run {
	sets := map[string]*run{}

	for i, run := range runs {
		names, _ := templates[i].object[fieldPrevious].([]any)
		for _, v := range names {
			name, _ := v.(string)

			set, _, ok := strings.Cut(name, "[")
			if run.each == nil || !ok || strings.Contains(set, "${") {
				continue
			}

			if other, ok := sets[set]; ok && other != run {
				sets[set] = nil
				continue
			}

			sets[set] = run
		}
	}

	for _, run := range runs {
		delete(sets, run.resource)
	}

	return sets
}
