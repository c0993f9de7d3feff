// Package removal decides on the AnsibleRuns that an XR has and that are not wanted any
// more: which ones core removes now, and which ones have to stay, and why. Usages keep an
// AnsibleRun until those that depend on it are gone. The function calls Decide with the
// Runs of package desired, and adds the Result to what it answers.
package removal

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// A Result is what becomes of the AnsibleRuns that an XR has and that are not wanted
// any more.
type Result struct {
	// Outcomes of all runs, with the composition resource names under which core knows
	// them: wanted runs, and AnsibleRuns that have to stay although their run is gone from
	// the Composition.
	Outcomes []desired.Outcome
	// Removed are the composition resource names of the AnsibleRuns that core deletes
	// now.
	Removed []string
	// Usages of AnsibleRuns by those that depend on them, by composition resource name;
	// nil for a Usage that an earlier step composes and that must not be.
	Usages map[string]map[string]any
	// Requirements are what core is to fetch, by name: what expressions read, and AnsibleRuns. Some of these may be
	// in deletion.
	Requirements map[string]*fnv1.ResourceSelector
}

// A remover decides on what is not wanted any more.
type remover struct {
	plan      *plan.Plan
	runs      desired.Runs
	relations relations
	// reasons of the outcomes of package desired, by composition resource name.
	reasons map[string]desired.Reason
	// unwanted are the observed AnsibleRuns that nothing wants, by their composition
	// resource names, in order.
	unwanted []string
	// kept are the outcomes of those that have to stay, and of sets with such members. Of several reasons to stay, the
	// first counts.
	kept map[string]desired.Outcome
	// replacing are the runs that are created when an unwanted AnsibleRun is gone, or one that
	// it depends on, by its composition resource name.
	replacing map[string][]*plan.Run
	// waitingFor caches the names of the runs that need a run, or others that do.
	waitingFor map[*plan.Run]map[string]bool
}

// Decide returns what becomes of the observed AnsibleRuns that are not among the wanted runs.
func Decide(p *plan.Plan, runs desired.Runs) Result {
	r := &remover{
		plan: p, runs: runs, relations: relationsOf(p, runs), reasons: make(map[string]desired.Reason, len(runs.Outcomes)),
		kept: map[string]desired.Outcome{}, replacing: map[string][]*plan.Run{}, waitingFor: map[*plan.Run]map[string]bool{},
	}

	for _, o := range runs.Outcomes {
		r.reasons[o.Resource] = o.Reason
	}

	r.unwanted = r.findUnwanted()

	outcomes := r.keepUnwanted(slices.Clone(runs.Outcomes))
	runs.TakeTurns(p, outcomes)

	out := Result{
		Outcomes: outcomes, Removed: r.removed(outcomes), Usages: r.usages(outcomes), Requirements: r.requirements(),
	}
	maps.Copy(out.Requirements, runs.Requirements)

	for i := range outcomes {
		out := &outcomes[i]
		was := runs.Observed.Resources[out.Resource]
		phase := common.RunPhase(manifest.NestedText(was.Object, "status", "atProvider", "lastRun", "phase"))
		out.InProgress = phase != "" && !phase.Finished()

		if out.Desired != nil && was.Lost {
			// Core would give it a name of its own, and create one that is gone by now.
			metadata, _ := was.Object["metadata"].(map[string]any)
			out.Desired = manifest.Overlay(out.Desired,
				map[string]any{"metadata": manifest.Pick(metadata, "name", "namespace", "uid")})
		}

		out.Resource = runs.PreviousName(out.Resource)
	}

	return out
}

// keepUnwanted adds to the outcomes the AnsibleRuns that are not wanted and have to stay, and those that this
// step lets go.
func (r *remover) keepUnwanted(runs []desired.Outcome) []desired.Outcome {
	r.keepLost()
	r.keepUnresolved()
	r.keepUnpruned()
	r.limitRemoval()
	r.holdRenamed(runs)
	r.keepNeeded()

	kept := r.kept

	for i := range runs {
		s, ok := kept[runs[i].Resource]
		if !ok {
			continue
		}

		s.Name = runs[i].Name
		runs[i] = s
		delete(kept, s.Resource)
	}

	// Earlier steps of the pipeline may keep what this Composition does not: they do not know why it may go.
	for _, resource := range r.unwanted {
		if _, ok := r.reasons[resource]; !ok && r.goes(resource) && r.plan.RunOf(resource) != nil {
			kept[resource] = desired.Outcome{Name: resource, Resource: resource, Reason: desired.Skipped}
		}
	}

	for _, resource := range manifest.SortedKeys(kept) {
		runs = append(runs, kept[resource])
	}

	return runs
}

// stay is the outcome of an AnsibleRun that is not wanted and stays, with the end of the message that says why.
func (r *remover) stay(resource string, reason desired.Reason, why string) desired.Outcome {
	return r.runs.Keep(desired.Outcome{
		Name: resource, Resource: resource, Reason: reason, Messages: []string{"not wanted any more, " + why},
	})
}

// findUnwanted returns the observed AnsibleRuns that nothing wants, by their composition
// resource names, in order.
func (r *remover) findUnwanted() []string {
	var unwanted []string

	for resource := range r.runs.Observed.Resources {
		reason, wanted := r.reasons[resource]
		if _, ok := r.runs.Observed.Run(resource); ok && (!wanted || reason == desired.Skipped) && !r.foreign(resource) {
			unwanted = append(unwanted, resource)
		}
	}

	slices.Sort(unwanted)

	return unwanted
}

// foreign is true for a resource that an earlier step of the pipeline composes, and that no
// run of this step renders.
func (r *remover) foreign(resource string) bool {
	return r.runs.Observed.Earlier[resource] != nil && r.plan.RunOf(resource) == nil
}

// goes is true for an AnsibleRun that nothing keeps so far.
func (r *remover) goes(resource string) bool {
	_, kept := r.kept[resource]
	return !kept
}

// going are the unwanted AnsibleRuns that nothing keeps so far.
func (r *remover) going() []string {
	return slices.DeleteFunc(slices.Clone(r.unwanted), func(resource string) bool { return !r.goes(resource) })
}

// keepLost keeps the AnsibleRuns that core does not observe, and so cannot delete.
func (r *remover) keepLost() {
	for _, resource := range r.unwanted {
		if r.runs.Observed.Resources[resource].Lost {
			r.kept[resource] = r.stay(resource, desired.Leaving,
				"but the XR has lost its reference to it, which comes back first")
		}
	}
}

// keepUnpruned keeps the AnsibleRuns with a prune of false, and those that they depend on: these cannot go before
// them.
func (r *remover) keepUnpruned() {
	retain := func(resource, message string) {
		r.kept[resource] = r.stay(resource, desired.Retained, "and stays"+message)
	}

	unwanted := r.going()

	for _, resource := range unwanted {
		o, _ := r.runs.Observed.Run(resource)

		prune := manifest.Annotation(o, ansiblerun.AnnotationPrune) != ansiblerun.PruneNever
		if run := r.plan.RunOf(resource); run != nil {
			prune = run.Prune
		}

		if !prune {
			retain(resource, ", since prune is false")

			// Its run may be gone from the Composition later.
			out := r.kept[resource]
			out.Desired = manifest.Overlay(out.Desired,
				map[string]any{
					"metadata": map[string]any{"annotations": map[string]any{ansiblerun.AnnotationPrune: ansiblerun.PruneNever}},
				})
			r.kept[resource] = out
		}
	}

	if len(r.going()) == len(unwanted) {
		return
	}

	dependents := r.dependents()
	retained := func(by string) bool { return r.kept[by].Reason == desired.Retained }

	for again := true; again; {
		again = false

		for _, resource := range r.going() {
			by := slices.DeleteFunc(slices.Clone(dependents[resource]), func(by string) bool { return !retained(by) })
			if len(by) > 0 {
				retain(resource, " with "+strings.Join(by, ", "))

				again = true
			}
		}
	}
}

// limitRemoval keeps all unwanted members of a set when they are more than removal.atMost
// allows to remove at once.
func (r *remover) limitRemoval() {
	unwanted := r.going()

	for _, run := range r.plan.Runs {
		if run.ForEach == nil || run.AtMost == nil {
			continue
		}

		isOther := func(resource string) bool { return !r.plan.MayBelong(run, resource) }
		leaving, total := slices.DeleteFunc(slices.Clone(unwanted), isOther), 0

		for resource := range r.runs.Observed.Resources {
			if _, ok := r.runs.Observed.Run(resource); ok && !isOther(resource) {
				total++
			}
		}

		if len(leaving) <= max(plan.ScaledLimit(*run.AtMost, total), r.allowed(run.Name)) {
			continue
		}

		r.kept[run.Name] = desired.Outcome{
			Name: run.Name, Resource: run.Name, Reason: desired.RemovalHeld,
			Messages: []string{fmt.Sprintf(
				"%d of %d would be removed, and removal.atMost is %s; to remove them, annotate the XR with %s: %s=%d", len(
					leaving), total, run.AtMost, ansiblerun.AnnotationAllowRemoval, run.Name, len(leaving))},
		}

		for _, resource := range leaving {
			r.kept[resource] = r.runs.Keep(desired.Outcome{Name: resource, Resource: resource, Reason: desired.RemovalHeld})
		}
	}
}

// allowed returns how many members of a set the annotation of the XR allows to remove at
// once; 0 without one.
func (r *remover) allowed(name string) int {
	list := manifest.Annotation(r.runs.Observed.XR, ansiblerun.AnnotationAllowRemoval)

	for entry := range strings.SplitSeq(list, ",") {
		set, number, _ := strings.Cut(strings.TrimSpace(entry), "=")
		if n, err := strconv.Atoi(number); err == nil && set == name {
			return n
		}
	}

	return 0
}

// keepNeeded keeps the AnsibleRuns that others depend on.
func (r *remover) keepNeeded() {
	blocked := r.blocked(r.going())

	for _, resource := range manifest.SortedKeys(blocked) {
		r.kept[resource] = r.stay(resource, desired.Leaving, "but has to stay for "+strings.Join(blocked[resource], ", "))
	}
}

// blocked returns the AnsibleRuns that cannot go yet, each with what depends on it.
func (r *remover) blocked(unwanted []string) map[string][]string {
	if len(unwanted) == 0 {
		return nil
	}

	blocked := map[string][]string{}
	dependents, usages := r.dependents(), r.observedUsages()

	for _, resource := range unwanted {
		by := dependents[resource]
		if len(by) == 0 {
			// Core removes these Usages first, since no run needs them any more.
			by = usages[resource]
		}

		if len(by) > 0 {
			blocked[resource] = by
		}
	}

	// If every unwanted AnsibleRun is blocked by other unwanted ones only, there is no order
	// in which they could go.
	for _, resource := range unwanted {
		if by, ok := blocked[resource]; !ok ||
			slices.ContainsFunc(by, func(d string) bool { return !slices.Contains(unwanted, d) }) {
			return blocked
		}
	}

	return nil
}

// removed returns the composition resource names of the observed AnsibleRuns of the Composition that nothing keeps.
// An AnsibleRun is not among them if its run is gone from the Composition: a later step may compose it.
func (r *remover) removed(runs []desired.Outcome) []string {
	kept := map[string]bool{}
	for i := range runs {
		kept[runs[i].Resource] = runs[i].Desired != nil
	}

	var names []string

	for _, resource := range manifest.SortedKeys(r.runs.Observed.Resources) {
		o, ok := r.runs.Observed.Run(resource)
		if ok && !kept[resource] && !manifest.IsDeleted(o) && r.plan.RunOf(resource) != nil {
			names = append(names, r.runs.PreviousName(resource))
		}
	}

	return names
}
