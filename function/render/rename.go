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
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
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
		return []expression.Problem{invalid("previousNames", errors.Errorf("the XR has %s, of which only one can be the run", strings.Join(found, " and ")))}
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
			return nil, []expression.Problem{invalid("previousNames", errors.New("must be names"))}
		}

		if name == resource {
			continue
		}

		if taken[name] || r.isTaken(name, run) {
			return nil, []expression.Problem{invalid("previousNames", errors.Errorf("%s is a run of the Composition", name))}
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

// renamed holds runs that are to be created while there is one that they may have been,
// and that is not wanted, or is being removed: whichever ended last would win. It
// returns those that may go.
func (r *rendering) renamed(runs []Run, going []string, stays map[string]Run) []string {
	t := r.twins(runs)
	if len(t.going)+len(t.departing) == 0 {
		return going
	}

	for i := range runs {
		out := &runs[i]
		run := r.composition.byResource[setOrRun(out.Resource)]
		_, exists := r.observed.run(out.Resource)

		switch {
		case exists || run == nil:
		case out.Reason == Creating:
			t.meet(run, out, stays)
		case out.Held() && run.previous == nil:
			t.hold(t.alike(run), out.Name+" was called, which is not known yet", stays)
		}
	}

	return slices.DeleteFunc(going, func(resource string) bool {
		_, ok := stays[resource]
		return ok
	})
}

// setOrRun is the resource name of the run of the input that a composed resource may
// come from.
func setOrRun(resource string) string {
	if set, _, ok := member(resource); ok {
		return set
	}

	return resource
}

// twins are AnsibleRuns that are not wanted, or are being removed, and that a run which
// is to be created may have been.
type twins struct {
	*rendering

	// going are those that are not wanted, and same what works on the same among
	// them.
	going []string
	same  map[string][]string
	// departing are those that are being removed, by what they work on.
	departing map[string]string
	// told are those of which somebody has said that no other run has been them.
	told map[string]bool
	// known are those that a run may have been.
	known map[*run][]string
}

func (r *rendering) twins(runs []Run) twins {
	t := twins{rendering: r, same: map[string][]string{}, departing: map[string]string{}, told: map[string]bool{}, known: map[*run][]string{}}

	for _, resource := range r.going(runs) {
		if o := r.observed.Resources[resource]; removes(o) {
			t.going = append(t.going, resource)
			t.same[worksOn(o)] = append(t.same[worksOn(o)], resource)
		}
	}

	for _, d := range r.departing {
		t.departing[worksOn(d.object)] = d.String()
	}

	for i := range runs {
		if run := r.composition.run(runs[i].Resource); runs[i].Reason == Creating && run != nil && run.previous != nil {
			for _, was := range t.same[worksOn(runs[i].Desired)] {
				t.told[was] = true
			}
		}
	}

	return t
}

// alike are those that a run may have been, by what is literal: of those that nothing
// makes any more, and of its own set.
func (t twins) alike(run *run) []string {
	if all, ok := t.known[run]; ok {
		return all
	}

	t.known[run] = slices.DeleteFunc(slices.Clone(t.going), func(was string) bool {
		maker := t.composition.run(was)
		return maker != nil && maker != run || t.told[was] || !run.mayBe(t.observed.Resources[was])
	})

	return t.known[run]
}

// meet what a rendered run may have been: what works on the same, or differs in
// computed values alone, which may change while somebody thinks about it. Members of a
// set do so anyway.
func (t twins) meet(run *run, out *Run, stays map[string]Run) {
	on := worksOn(out.Desired)

	if d, ok := t.departing[on]; ok {
		*out = t.wait(Run{Name: out.Name, Resource: out.Resource}, []string{d})
		return
	}

	what, all := "the same content, hosts and variables", t.same[on]

	if run.previous != nil {
		i := slices.IndexFunc(all, func(was string) bool { return stays[was].Reason != Retained })
		if i >= 0 {
			*out = t.wait(Run{Name: out.Name, Resource: out.Resource}, []string{all[i] + ", which is not wanted any more"})
		}

		return
	}

	if len(all) == 0 {
		what = "the same content, hosts and variables but for computed values"
		all = slices.DeleteFunc(slices.Clone(t.alike(run)), func(other string) bool { return t.composition.run(other) == run })
	}

	if len(all) == 0 {
		return
	}

	*out = t.rendering.hold(Run{Name: out.Name, Resource: out.Resource}, []expression.Problem{invalid("previousNames", errors.Errorf(
		"%s, which is not wanted any more, has %s: write previousNames: [%q] to go on with it, or previousNames: [] to remove it all the same", all[0], what, all[0]))})
	t.hold(all, out.Name+" was called", stays)
}

// hold what a run may have been.
func (t twins) hold(all []string, what string, stays map[string]Run) {
	for _, was := range all {
		if _, ok := stays[was]; !ok {
			stays[was] = t.keep(Run{Name: was, Resource: was, Reason: Leaving, Messages: []string{"not wanted any more, but may be what " + what}})
		}
	}
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
	spec, _ := o["spec"].(map[string]any)
	policies, set := spec["managementPolicies"].([]any)

	return manifest.Text(spec, "deletionPolicy") != "Orphan" && (!set || slices.Contains(policies, "*") || slices.Contains(policies, "Delete"))
}

// worksOn tells AnsibleRuns apart by what they do, where, and with which variables.
func worksOn(o map[string]any) string {
	spec, _ := o["spec"].(map[string]any)
	parameters, _ := spec["forProvider"].(map[string]any)

	of := manifest.Pick(parameters, append(contents[:], "hosts", "inventoryInline", "inventories", "limit", "vars", "unsafeVars", "varFiles")...)
	ref, _ := spec["providerConfigRef"].(map[string]any)
	of["providerConfigRef"] = manifest.Pick(ref, "name")

	// Maps are printed in the order of their keys.
	return fmt.Sprintf("%#v", manifest.Canonical(of))
}

// mayBe is true for an AnsibleRun that the run may have been, by what is literal of
// its content, hosts and variables.
func (run *run) mayBe(o map[string]any) bool {
	spec, _ := o["spec"].(map[string]any)
	was, _ := spec["forProvider"].(map[string]any)
	literal := contents[:]

	config, _ := run.object.spec["providerConfigRef"].(map[string]any)
	ref, _ := spec["providerConfigRef"].(map[string]any)

	if run.object.names[manifest.Text(config, "name")] == nil && manifest.Text(config, "name") != manifest.Text(ref, "name") {
		return false
	}

	if run.inventory == nil {
		literal = append(literal, "hosts", "inventoryInline")
	}

	if run.object.settings["limit"] == nil {
		literal = append(literal, "limit")
	}

	if len(run.object.names) == 0 {
		literal = append(literal, "inventories", "varFiles")
	}

	if !manifest.Equal(manifest.Pick(run.object.parameters, literal...), manifest.Pick(was, literal...)) {
		return false
	}

	vars, _ := was["vars"].(map[string]any)
	unsafe, _ := was["unsafeVars"].(map[string]any)
	all := maps.Clone(vars)

	if all == nil {
		all = map[string]any{}
	}

	maps.Copy(all, unsafe)

	for name, t := range run.vars {
		v, ok := all[name]
		if !ok && !t.Computed() || ok && !t.MayBe(v) {
			return false
		}

		delete(all, name)
	}

	return len(all) == 0 || len(run.from) > 0
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
		names, _ := t.object["previousNames"].([]any)

		for i := range names {
			path := t.path.Child("previousNames").Index(i)
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
		names, _ := templates[i].object["previousNames"].([]any)
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
