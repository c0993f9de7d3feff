package removal

import (
	"fmt"
	"slices"
	"sync"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/observed"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// holdRenamed holds each run that is to be created while an unwanted or terminating
// AnsibleRun may be the same run under a previous name: the removal of the one and the
// creation of the other would race.
func (r *remover) holdRenamed(runs []desired.Outcome) {
	t := r.candidates(runs)
	if len(t.removing)+len(t.terminatingByWorkload) == 0 {
		return
	}

	for i := range runs {
		out := &runs[i]
		run := r.plan.ByResource[setOrRun(out.Resource)]
		_, exists := r.runs.Observed.Run(out.Resource)

		switch {
		case exists || run == nil:
		case out.Reason == desired.Running:
			t.match(run, out)
		case !run.New && (out.Held() || out.Reason == desired.Skipped && len(out.Messages) > 0):
			t.keepHeld(run, out)
		}
	}
}

// What an AnsibleRun has that may be a run under another name.
const (
	same            = "the same content, hosts and variables"
	sameButComputed = same + " but for computed values"
)

// setOrRun returns the resource name of the run of the input that a composed resource may
// come from: that of the set, for a member.
func setOrRun(resource string) string {
	if set, _, ok := plan.Member(resource); ok {
		return set
	}

	return resource
}

// candidates are the AnsibleRuns that are not wanted, or are being deleted. A run that is to
// be created may be one of them under another name.
type candidates struct {
	*remover

	// removing are the unwanted AnsibleRuns with content that would be removed, and byWorkload the same by their
	// workloads.
	removing   []string
	byWorkload map[string][]string
	// terminatingByWorkload are the AnsibleRuns that are being deleted, by their
	// workloads, with their names for messages.
	terminatingByWorkload map[string]string
	// renewed are the unwanted AnsibleRuns with the same workload as a run that is said to
	// be new.
	renewed map[string]bool
	// similarTo and terminatingLike cache the results of similar and terminating.
	similarTo       map[*plan.Run][]string
	terminatingLike map[*plan.Run]string
	// dependents are what they are before anything makes room.
	dependents func() map[string][]string
}

func (r *remover) candidates(runs []desired.Outcome) candidates {
	t := candidates{
		remover: r, byWorkload: map[string][]string{}, terminatingByWorkload: map[string]string{},
		renewed: map[string]bool{}, similarTo: map[*plan.Run][]string{}, terminatingLike: map[*plan.Run]string{},
		dependents: sync.OnceValue(r.dependents),
	}

	for _, resource := range r.unwanted {
		if o := r.runs.Observed.Resources[resource].Object; ansiblerun.DeletesContent(o) {
			t.removing = append(t.removing, resource)
			t.byWorkload[ansiblerun.Workload(o)] = append(t.byWorkload[ansiblerun.Workload(o)], resource)
		}
	}

	for _, terminating := range r.runs.Terminating {
		t.terminatingByWorkload[ansiblerun.Workload(terminating)] = observed.Deleting(terminating)
	}

	for i := range runs {
		_, exists := r.runs.Observed.Resources[runs[i].Resource]
		if run := r.plan.RunOf(runs[i].Resource); runs[i].Reason == desired.Running && !exists && run != nil && run.New {
			for _, was := range t.byWorkload[ansiblerun.Workload(runs[i].Desired)] {
				t.renewed[was] = true
			}
		}
	}

	return t
}

// similar returns the candidates that have all literal values of a run, among those that no
// run renders any more and the members of its own set.
func (t candidates) similar(run *plan.Run) []string {
	if all, ok := t.similarTo[run]; ok {
		return all
	}

	t.similarTo[run] = slices.DeleteFunc(slices.Clone(t.removing), func(was string) bool {
		maker := t.plan.RunOf(was)
		o, _ := t.runs.Observed.Run(was)

		return maker != nil && maker != run || t.renewed[was] && !run.New || !run.MayHaveRendered(o)
	})

	return t.similarTo[run]
}

// strangers returns the similar candidates that are no members of the set of the run, nor
// have a previous name of such.
func (t candidates) strangers(run *plan.Run) []string {
	return slices.DeleteFunc(slices.Clone(t.similar(run)), func(other string) bool { return t.plan.MayBelong(run, other) })
}

// terminating returns an AnsibleRun that is being deleted and may be a rendered run: it has
// the same workload, or else all literal values of the run, and no run renders it any more;
// "" for none.
func (t candidates) terminating(run *plan.Run, rendered map[string]any) string {
	if name, ok := t.terminatingByWorkload[ansiblerun.Workload(rendered)]; ok {
		return name
	}

	if name, ok := t.terminatingLike[run]; ok {
		return name
	}

	t.terminatingLike[run] = ""

	for _, d := range t.runs.Terminating {
		was := ansiblerun.CompositionResource(d)
		if t.plan.RunOf(was) == nil && !t.plan.MayBelong(run, was) && run.MayHaveRendered(d) {
			t.terminatingLike[run] = observed.Deleting(d)
		}
	}

	return t.terminatingLike[run]
}

// match holds a rendered run, and keeps the candidates that may be the same run: those of
// the same workload, or else those that differ in computed values alone, since these may
// change at any time. Other members of its set are left out there, those with previous
// names, too: they always differ so.
func (t candidates) match(run *plan.Run, out *desired.Outcome) {
	what, all := same, t.byWorkload[ansiblerun.Workload(out.Desired)]

	if len(all) == 0 {
		what, all = sameButComputed, t.strangers(run)
	}

	if terminating := t.terminating(run, out.Desired); terminating != "" && (run.New || len(all) == 0) {
		*out = t.runs.Wait(desired.Outcome{Name: out.Name, Resource: out.Resource}, []string{terminating})
		return
	}

	if run.New {
		all = slices.DeleteFunc(slices.Clone(all), func(was string) bool { return t.kept[was].Reason == desired.Retained })
		if len(all) > 0 {
			*out = t.runs.Wait(desired.Outcome{Name: out.Name, Resource: out.Resource},
				[]string{all[0] + ", which is not wanted any more"})
		}

		for _, was := range all {
			if other := t.knownAfter(run, was); other != nil {
				*out = t.runs.Hold(desired.Outcome{Name: out.Name, Resource: out.Resource},
					[]expression.Problem{expression.InvalidAt("previousNames", errors.Errorf(
						"%s, which is not wanted any more, may be what %s was called, which is not known before %s is there: write "+
							"previousNames: [%q] to go on with it, or literal text beside the expressions in previousNames of %s", was,
						other.Name, run.Name, was, other.Name))})
			}

			t.makeRoom(was, run)
		}

		return
	}

	if len(all) == 0 {
		return
	}

	t.ask(run, out, all[0], what)
	t.keepAll(all, out.Name+" was called")
}

// makeRoom for a run: an unwanted AnsibleRun has to go first, and before it those that depend
// on it.
func (t candidates) makeRoom(was string, run *plan.Run) {
	if slices.Contains(t.replacing[was], run) {
		return
	}

	dependents := t.dependents()
	t.replacing[was] = append(t.replacing[was], run)

	for _, by := range dependents[was] {
		if slices.Contains(t.unwanted, by) {
			t.makeRoom(by, run)
		}
	}
}

// ask whether an AnsibleRun is the run that is held.
func (t candidates) ask(run *plan.Run, out *desired.Outcome, was, what string) {
	advice := fmt.Sprintf("write previousNames: [%q] to go on with it, or", was)
	if run.PreviousNames != nil {
		advice = fmt.Sprintf("add %q to previousNames to go on with it, or write", was)
	}

	*out = t.runs.Hold(desired.Outcome{Name: out.Name, Resource: out.Resource, MayBe: was},
		[]expression.Problem{expression.InvalidAt("previousNames", errors.Errorf(
			"%s, which is not wanted any more, has %s: %s previousNames: [] to remove it all the same", was, what, advice))})
}

// keepHeld keeps the candidates that a run may be which cannot be rendered yet. If it waits for
// a run that is created when one of them is gone, it would wait for ever. One that refers to what
// is not wanted would be left out.
func (t candidates) keepHeld(run *plan.Run, out *desired.Outcome) {
	all := t.similar(run)
	if run.PreviousNames != nil || out.Reason == desired.Skipped {
		// What former members were called is known, or goes by the keys.
		all = t.strangers(run)
	}

	for _, was := range all {
		if out.Reason == desired.Skipped ||
			slices.ContainsFunc(t.replacing[was], func(on *plan.Run) bool { return t.needing(on)[run.Name] }) {
			t.ask(run, out, was, sameButComputed)
			break
		}
	}

	t.keepAll(all, out.Name+" was called, which is not known yet")
}

// keepAll keeps candidates of a run, with the end of the message that says why.
func (t candidates) keepAll(all []string, what string) {
	for _, was := range all {
		if t.goes(was) {
			t.kept[was] = t.claimed(was, what)
		}
	}
}

// claimed is the outcome of an AnsibleRun that is not wanted and may be a run under another name, with the end of the
// message that says why.
func (r *remover) claimed(was, what string) desired.Outcome {
	out := r.stay(was, desired.Leaving, "but may be what "+what)
	out.Claimed = true

	return out
}

// keepUnresolved keeps AnsibleRuns while the previous names of some run are not known: those
// that may have such a name and that no run renders any more, and the members of such a run.
func (r *remover) keepUnresolved() {
	if len(r.runs.Unresolved) == 0 {
		return
	}

	for _, resource := range r.going() {
		at := slices.IndexFunc(r.plan.Runs, func(run *plan.Run) bool {
			return r.runs.Unresolved[run] && r.mayBecome(resource, run)
		})
		if at < 0 {
			continue
		}

		name := r.plan.Runs[at].Name
		if r.plan.Runs[at].ForEach != nil {
			name = "a member of " + name
		}

		r.kept[resource] = r.claimed(resource, name+" was called, which is not known yet")
	}
}

// mayBecome is true for an AnsibleRun that is not wanted, if a run with previous names that are not known yet may
// have it under such a name.
func (r *remover) mayBecome(resource string, run *plan.Run) bool {
	if maker := r.plan.RunOf(resource); maker != nil {
		return maker == run
	}

	return slices.ContainsFunc(run.PreviousNames.Items, func(t *expression.Template) bool { return t.MayBe(resource) })
}
