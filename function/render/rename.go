package render

import (
	"slices"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
)

// holdRenamed holds runs that are to be created while there is one that they may have been,
// and that is not wanted, or is being removed: whichever ended last would win. It
// returns those that may go.
func (r *remover) holdRenamed(runs []Outcome, unwanted []string, kept map[string]Outcome) []string {
	t := r.twins(runs)
	if len(t.removing)+len(t.terminatingByWorkload) == 0 {
		return unwanted
	}

	for i := range runs {
		out := &runs[i]
		run := r.plan.byResource[setOrRun(out.Resource)]
		_, exists := r.runs.Observed.run(out.Resource)

		switch {
		case exists || run == nil:
		case out.Reason == Creating:
			t.match(run, out, kept)
		case out.Held() && run.previousNames == nil:
			t.keepAll(t.similar(run), out.Name+" was called, which is not known yet", kept)
		}
	}

	return slices.DeleteFunc(unwanted, func(resource string) bool {
		_, ok := kept[resource]
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

// candidates are AnsibleRuns that are not wanted, or are being removed, and that a run which
// is to be created may have been.
type candidates struct {
	*remover

	// unwanted are those that are not wanted, and same what works on the same among
	// them.
	removing   []string
	byWorkload map[string][]string
	// terminatingByWorkload are those that are being removed, by what they work on.
	terminatingByWorkload map[string]string
	// claimed are those of which somebody has said that no other run has been them.
	claimed map[string]bool
	// similarTo are those that a run may have been.
	similarTo map[*run][]string
}

func (r *remover) twins(runs []Outcome) candidates {
	t := candidates{remover: r, byWorkload: map[string][]string{}, terminatingByWorkload: map[string]string{}, claimed: map[string]bool{}, similarTo: map[*run][]string{}}

	for _, resource := range r.unwanted {
		if o := r.runs.Observed.Resources[resource]; deletesContent(o) {
			t.removing = append(t.removing, resource)
			t.byWorkload[workload(o)] = append(t.byWorkload[workload(o)], resource)
		}
	}

	for _, d := range r.runs.Terminating {
		t.terminatingByWorkload[workload(d.object)] = d.String()
	}

	for i := range runs {
		if run := r.plan.runOf(runs[i].Resource); runs[i].Reason == Creating && run != nil && run.previousNames != nil {
			for _, was := range t.byWorkload[workload(runs[i].Desired)] {
				t.claimed[was] = true
			}
		}
	}

	return t
}

// similar are those that a run may have been, by what is literal: of those that nothing
// makes any more, and of its own set.
func (t candidates) similar(run *run) []string {
	if all, ok := t.similarTo[run]; ok {
		return all
	}

	t.similarTo[run] = slices.DeleteFunc(slices.Clone(t.removing), func(was string) bool {
		maker := t.plan.runOf(was)
		return maker != nil && maker != run || t.claimed[was] || !run.couldBe(t.runs.Observed.Resources[was])
	})

	return t.similarTo[run]
}

// match what a rendered run may have been: what works on the same, or differs in
// computed values alone, which may change while somebody thinks about it. Members of a
// set do so anyway.
func (t candidates) match(run *run, out *Outcome, kept map[string]Outcome) {
	on := workload(out.Desired)

	if d, ok := t.terminatingByWorkload[on]; ok {
		*out = t.runs.wait(Outcome{Name: out.Name, Resource: out.Resource}, []string{d})
		return
	}

	what, all := "the same content, hosts and variables", t.byWorkload[on]

	if run.previousNames != nil {
		i := slices.IndexFunc(all, func(was string) bool { return kept[was].Reason != Retained })
		if i >= 0 {
			*out = t.runs.wait(Outcome{Name: out.Name, Resource: out.Resource}, []string{all[i] + ", which is not wanted any more"})
		}

		return
	}

	if len(all) == 0 {
		what = "the same content, hosts and variables but for computed values"
		all = slices.DeleteFunc(slices.Clone(t.similar(run)), func(other string) bool { return t.plan.runOf(other) == run })
	}

	if len(all) == 0 {
		return
	}

	*out = t.runs.hold(Outcome{Name: out.Name, Resource: out.Resource}, []expression.Problem{invalid("previousNames", errors.Errorf(
		"%s, which is not wanted any more, has %s: write previousNames: [%q] to go on with it, or previousNames: [] to remove it all the same", all[0], what, all[0]))})
	t.keepAll(all, out.Name+" was called", kept)
}

// keepAll that a run may have been.
func (t candidates) keepAll(all []string, what string, kept map[string]Outcome) {
	for _, was := range all {
		if _, ok := kept[was]; !ok {
			kept[was] = t.runs.keep(Outcome{Name: was, Resource: was, Reason: Leaving, Messages: []string{"not wanted any more, but may be what " + what}})
		}
	}
}

// keepUnresolved whether what no run makes is to go, while it is not known what runs were
// called, and what such a run makes by other keys. It returns those that may.
func (r *remover) keepUnresolved(unwanted []string, kept map[string]Outcome) []string {
	if len(r.runs.Unresolved) == 0 {
		return unwanted
	}

	return slices.DeleteFunc(unwanted, func(resource string) bool {
		if run := r.plan.runOf(resource); run != nil && !r.runs.Unresolved[run] {
			return false
		}

		kept[resource] = r.runs.keep(Outcome{Name: resource, Resource: resource, Reason: Leaving, Messages: []string{"not wanted any more, but may be what a run was called, which is not known yet"}})

		return true
	})
}
