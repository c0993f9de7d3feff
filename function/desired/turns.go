package desired

import (
	"fmt"
	"slices"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// TakeTurns limits how many members of each set with atATime are created or changed at the same time. The others wait,
// and stay as they are.
func (r Runs) TakeTurns(p *plan.Plan, all []Outcome) {
	for _, run := range p.Runs {
		if run.AtATime != nil {
			r.takeTurns(run, all)
		}
	}
}

func (r Runs) takeTurns(run *plan.Run, all []Outcome) {
	var waiting []*Outcome

	size, ready, begun, failed := 0, 0, 0, false

	for i := range all {
		out := &all[i]
		if !run.Owns(out.Resource) || out.Reason == Skipped || out.Unwanted() {
			continue
		}

		size++

		switch {
		case out.Held() || r.changes(*out):
			waiting = append(waiting, out)
		case out.Reason == Ready:
			ready++
		default:
			begun++
			failed = failed || out.Reason == RunFailed || out.Reason == ReconcileError || out.Reason == Rejected
		}
	}

	// Members that fail with their old values come first, since only the new values can repair them.
	broken := slices.DeleteFunc(slices.Clone(waiting), r.works)
	waiting = slices.Concat(broken, slices.DeleteFunc(waiting, func(out *Outcome) bool { return !r.works(out) }))
	free := max(1, plan.ScaledLimit(*run.AtATime, size)) - begun
	message := []string{fmt.Sprintf("is next: %d of %d have the new values", ready, size)}

	for _, out := range waiting {
		if !failed && free > 0 {
			free--
			continue
		}

		if !out.Held() {
			*out = r.Keep(Outcome{Name: out.Name, Resource: out.Resource, Reason: DependencyNotReady, Messages: message})
			message = []string{"waits for its turn"}
		}
	}
}

// changes is true for a member that is created or gets another spec.
func (r Runs) changes(out Outcome) bool {
	was := r.Observed.Resources[out.Resource]

	return out.Reason == Running &&
		(was.Object == nil || !ansiblerun.IsSpecApplied(was.Object, was.Applied, out.Desired))
}

// works is true for a member that is ready with its old values. It is also true for a member that is held or not
// observed, since new values cannot repair it.
func (r Runs) works(out *Outcome) bool {
	was, ok := r.Observed.Run(out.Resource)
	return !ok || out.Held() || ansiblerun.IsReady(was)
}
