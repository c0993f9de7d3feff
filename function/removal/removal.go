// Package removal decides which unwanted AnsibleRuns of an XR core removes now, and which ones stay, and why. It
// composes the Usages that protect an AnsibleRun until its dependents are gone.
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

// A Result has the decisions about all AnsibleRuns of an XR.
type Result struct {
	// Outcomes has the outcomes of all runs, and of AnsibleRuns that stay although their run is no longer in the
	// Composition. Resource is the name that core knows, see desired.Runs.PreviousName.
	Outcomes []desired.Outcome
	// Removed has the composition resource names of the AnsibleRuns that core deletes now.
	Removed []string
	// Usages has the Usages of AnsibleRuns and other resources by their dependents, by composition resource name. It is
	// nil for a Usage of an earlier step that must be removed.
	Usages map[string]map[string]any
	// Requirements has the selectors of required resources by name: those of the input, and of AnsibleRuns of the XR.
	Requirements map[string]*fnv1.ResourceSelector
}

// A remover decides about the unwanted AnsibleRuns of an XR.
type remover struct {
	plan      *plan.Plan
	runs      desired.Runs
	relations relations
	// reasons has the reasons of the outcomes of package desired, by composition resource name.
	reasons map[string]desired.Reason
	// unwanted has the composition resource names of the unwanted AnsibleRuns, sorted.
	unwanted []string
	// kept has the outcomes of unwanted AnsibleRuns that stay, and of sets with such members, by composition resource
	// name. Of several reasons to stay, the first counts.
	kept map[string]desired.Outcome
	// replacing has, by the composition resource name of an unwanted AnsibleRun, the runs that are created only when it
	// is gone, see makeRoom.
	replacing map[string][]*plan.Run
	// dependentRunsOf caches the results of dependentRuns.
	dependentRunsOf map[*plan.Run]map[string]bool
}

// Decide returns the decisions about the AnsibleRuns of an XR, for the rendered runs.
func Decide(p *plan.Plan, runs desired.Runs) Result {
	r := &remover{
		plan: p, runs: runs, relations: relationsOf(p, runs), reasons: make(map[string]desired.Reason, len(runs.Outcomes)),
		kept: map[string]desired.Outcome{}, replacing: map[string][]*plan.Run{},
		dependentRunsOf: map[*plan.Run]map[string]bool{},
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
			// Without the name, core would create another AnsibleRun. Without the UID, it would create this one again
			// if it has been deleted in the meantime.
			metadata, _ := was.Object["metadata"].(map[string]any)
			out.Desired = manifest.Overlay(out.Desired,
				map[string]any{"metadata": manifest.Pick(metadata, "name", "namespace", "uid")})
		}

		out.Resource = runs.PreviousName(out.Resource)
	}

	return out
}

// keepUnwanted adds the outcomes of the unwanted AnsibleRuns: of those that stay, and of those that this step lets core
// remove.
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

	// Earlier steps may keep these AnsibleRuns, since they do not know the runs of this step. The outcome Skipped
	// overrides that.
	for _, resource := range r.unwanted {
		if _, ok := r.reasons[resource]; !ok && r.isLeaving(resource) && r.plan.RunOf(resource) != nil {
			kept[resource] = desired.Outcome{Name: resource, Resource: resource, Reason: desired.Skipped}
		}
	}

	for _, resource := range manifest.SortedKeys(kept) {
		runs = append(runs, kept[resource])
	}

	return runs
}

// keep returns the outcome of an unwanted AnsibleRun that stays. why ends the message.
func (r *remover) keep(resource string, reason desired.Reason, why string) desired.Outcome {
	return r.runs.Keep(desired.Outcome{
		Name: resource, Resource: resource, Reason: reason, Messages: []string{"not wanted any more, " + why},
	})
}

// findUnwanted returns the composition resource names of the observed AnsibleRuns without an outcome or with the
// outcome Skipped, sorted. It leaves out AnsibleRuns of earlier steps.
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

// foreign is true for a resource that an earlier step composes, and that no run of this step renders.
func (r *remover) foreign(resource string) bool {
	return r.runs.Observed.Earlier[resource] != nil && r.plan.RunOf(resource) == nil
}

// isLeaving is true for an unwanted AnsibleRun that has no reason to stay so far.
func (r *remover) isLeaving(resource string) bool {
	_, kept := r.kept[resource]
	return !kept
}

// leaving returns the unwanted AnsibleRuns that have no reason to stay so far.
func (r *remover) leaving() []string {
	return slices.DeleteFunc(slices.Clone(r.unwanted), func(resource string) bool { return !r.isLeaving(resource) })
}

// keepLost keeps the AnsibleRuns to which the XR has lost its reference. Core does not observe them and cannot delete
// them.
func (r *remover) keepLost() {
	for _, resource := range r.unwanted {
		if r.runs.Observed.Resources[resource].Lost {
			r.kept[resource] = r.keep(resource, desired.Leaving,
				"but the XR has lost its reference to it, which comes back first")
		}
	}
}

// keepUnpruned keeps the AnsibleRuns with prune: false, and their transitive dependencies.
func (r *remover) keepUnpruned() {
	retain := func(resource, message string) {
		r.kept[resource] = r.keep(resource, desired.Retained, "and stays"+message)
	}

	unwanted := r.leaving()

	for _, resource := range unwanted {
		o, _ := r.runs.Observed.Run(resource)

		prune := manifest.Annotation(o, ansiblerun.AnnotationPrune) != ansiblerun.PruneNever
		if run := r.plan.RunOf(resource); run != nil {
			prune = run.Prune
		}

		if !prune {
			retain(resource, ", since prune is false")

			// The annotation has prune: false after the run is removed from the Composition.
			out := r.kept[resource]
			out.Desired = manifest.Overlay(out.Desired,
				map[string]any{
					"metadata": map[string]any{"annotations": map[string]any{ansiblerun.AnnotationPrune: ansiblerun.PruneNever}},
				})
			r.kept[resource] = out
		}
	}

	if len(r.leaving()) == len(unwanted) {
		return
	}

	dependents := r.dependents()
	retained := func(by string) bool { return r.kept[by].Reason == desired.Retained }

	for again := true; again; {
		again = false

		for _, resource := range r.leaving() {
			by := slices.DeleteFunc(slices.Clone(dependents[resource]), func(by string) bool { return !retained(by) })
			if len(by) > 0 {
				retain(resource, " with "+strings.Join(by, ", "))

				again = true
			}
		}
	}
}

// limitRemoval keeps all unwanted members of a set if removal.atMost does not allow to remove that many at once.
func (r *remover) limitRemoval() {
	unwanted := r.leaving()

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

// allowed returns how many members of a set AnnotationAllowRemoval of the XR allows to remove at once; 0 without one.
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

// keepNeeded keeps the AnsibleRuns with dependents.
func (r *remover) keepNeeded() {
	blocked := r.blocked(r.leaving())

	for _, resource := range manifest.SortedKeys(blocked) {
		r.kept[resource] = r.keep(resource, desired.Leaving, "but has to stay for "+strings.Join(blocked[resource], ", "))
	}
}

// blocked returns the AnsibleRuns that cannot be removed yet, each with its dependents or, without any, its Usages.
func (r *remover) blocked(unwanted []string) map[string][]string {
	if len(unwanted) == 0 {
		return nil
	}

	blocked := map[string][]string{}
	dependents, usages := r.dependents(), r.observedUsages()

	for _, resource := range unwanted {
		by := dependents[resource]
		if len(by) == 0 {
			// Core deletes the Usages first, since nothing composes them any more.
			by = usages[resource]
		}

		if len(by) > 0 {
			blocked[resource] = by
		}
	}

	// If each unwanted AnsibleRun is blocked only by other unwanted ones, no order of removal exists, so none is
	// blocked.
	for _, resource := range unwanted {
		if by, ok := blocked[resource]; !ok ||
			slices.ContainsFunc(by, func(d string) bool { return !slices.Contains(unwanted, d) }) {
			return blocked
		}
	}

	return nil
}

// removed returns the composition resource names of the observed AnsibleRuns that core deletes now, among those with a
// run in the plan. A later step may compose an AnsibleRun without one.
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
