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

// holdRenamed holds each new run for which an unwanted or terminating AnsibleRun may be the same run under a previous
// name. Otherwise the removal of the old AnsibleRun and the creation of the new one would race.
func (r *remover) holdRenamed(runs []desired.Outcome) {
	t := r.candidates(runs)
	if len(t.removing)+len(t.terminatingByWorkload) == 0 {
		return
	}

	for i := range runs {
		out := &runs[i]
		run := r.plan.ByResource[runName(out.Resource)]
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

// What an AnsibleRun and a run under another name have in common, for messages.
const (
	same            = "the same content, hosts and variables"
	sameButComputed = same + " but for computed values"
)

// runName returns the name of the set for a member of a set, and otherwise the composition resource name itself.
func runName(resource string) string {
	if set, _, ok := plan.Member(resource); ok {
		return set
	}

	return resource
}

// candidates are the unwanted and terminating AnsibleRuns. A new run may be one of them under another name.
type candidates struct {
	*remover

	// removing has the unwanted AnsibleRuns with content that runs when they are deleted. byWorkload has the same by
	// their workloads, see ansiblerun.Workload.
	removing   []string
	byWorkload map[string][]string
	// terminatingByWorkload has, by their workloads, the names for messages of the AnsibleRuns that are being deleted.
	terminatingByWorkload map[string]string
	// renewed has the unwanted AnsibleRuns with the same workload as a run with previousNames: [].
	renewed map[string]bool
	// similarTo and terminatingLike cache the results of similar and terminating.
	similarTo       map[*plan.Run][]string
	terminatingLike map[*plan.Run]string
	// dependents returns the dependents before makeRoom changes them.
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

// similar returns the unwanted AnsibleRuns with all literal values of a run. Those of other runs of the plan are left
// out, but not members of its own set.
func (t candidates) similar(run *plan.Run) []string {
	if all, ok := t.similarTo[run]; ok {
		return all
	}

	t.similarTo[run] = slices.DeleteFunc(slices.Clone(t.removing), func(was string) bool {
		owner := t.plan.RunOf(was)
		o, _ := t.runs.Observed.Run(was)

		return owner != nil && owner != run || t.renewed[was] && !run.New || !run.MayHaveRendered(o)
	})

	return t.similarTo[run]
}

// similarOutside returns the similar AnsibleRuns that are not members of the set of the run, and that have no previous
// name of a member.
func (t candidates) similarOutside(run *plan.Run) []string {
	return slices.DeleteFunc(slices.Clone(t.similar(run)), func(other string) bool { return t.plan.MayBelong(run, other) })
}

// terminating returns the name for messages of an AnsibleRun that is being deleted and may be a rendered run: one with
// the same workload or else one with all literal values of the run that no run of the plan renders; "" for none.
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

// match holds a rendered run if there are candidates that may be the same run, and keeps these. Candidates with the
// same workload come first. Without any, those that differ only in computed values count, since these may change at any
// time. Members of the same set do not count then, since they always differ only in computed values.
func (t candidates) match(run *plan.Run, out *desired.Outcome) {
	what, all := same, t.byWorkload[ansiblerun.Workload(out.Desired)]

	if len(all) == 0 {
		what, all = sameButComputed, t.similarOutside(run)
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

	t.holdFor(run, out, all[0], what)
	t.keepAll(all, out.Name+" was called")
}

// makeRoom records that an unwanted AnsibleRun, and before it its unwanted dependents, must be gone before a run is
// created.
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

// holdFor holds a run that may be an unwanted AnsibleRun under a new name. The message asks the author to decide.
func (t candidates) holdFor(run *plan.Run, out *desired.Outcome, was, what string) {
	advice := fmt.Sprintf("write previousNames: [%q] to go on with it, or", was)
	if run.PreviousNames != nil {
		advice = fmt.Sprintf("add %q to previousNames to go on with it, or write", was)
	}

	*out = t.runs.Hold(desired.Outcome{Name: out.Name, Resource: out.Resource, MayBe: was},
		[]expression.Problem{expression.InvalidAt("previousNames", errors.Errorf(
			"%s, which is not wanted any more, has %s: %s previousNames: [] to remove it all the same", was, what, advice))})
}

// keepHeld keeps the candidates that may be the same run as one that cannot be rendered yet. The reason of that run
// becomes previousNames in two cases: if it refers to an unwanted run, it would be skipped; if it waits for a run that
// is created only when a candidate is gone, it would wait forever.
func (t candidates) keepHeld(run *plan.Run, out *desired.Outcome) {
	all := t.similar(run)
	if run.PreviousNames != nil || out.Reason == desired.Skipped {
		// previousNames identify the members, or else their keys do.
		all = t.similarOutside(run)
	}

	for _, was := range all {
		if out.Reason == desired.Skipped ||
			slices.ContainsFunc(t.replacing[was], func(on *plan.Run) bool { return t.dependentRuns(on)[run.Name] }) {
			t.holdFor(run, out, was, sameButComputed)
			break
		}
	}

	t.keepAll(all, out.Name+" was called, which is not known yet")
}

// keepAll keeps candidates of a run. what ends the message, see claimed.
func (t candidates) keepAll(all []string, what string) {
	for _, was := range all {
		if t.isLeaving(was) {
			t.kept[was] = t.claimed(was, what)
		}
	}
}

// claimed returns the outcome of an unwanted AnsibleRun that stays since it may be a run under another name. what ends
// the message: "x was called".
func (r *remover) claimed(was, what string) desired.Outcome {
	out := r.keep(was, desired.Leaving, "but may be what "+what)
	out.Claimed = true

	return out
}

// keepUnresolved keeps the unwanted AnsibleRuns that may be the AnsibleRun of a run with unknown previous names, see
// mayBecome.
func (r *remover) keepUnresolved() {
	if len(r.runs.Unresolved) == 0 {
		return
	}

	for _, resource := range r.leaving() {
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

// mayBecome is true for an unwanted AnsibleRun that a run with unknown previous names may adopt: an unwanted member of
// its set, or an AnsibleRun of no run in the plan with a name that previousNames may have.
func (r *remover) mayBecome(resource string, run *plan.Run) bool {
	if owner := r.plan.RunOf(resource); owner != nil {
		return owner == run
	}

	return slices.ContainsFunc(run.PreviousNames.Items, func(t *expression.Template) bool { return t.MayBe(resource) })
}
