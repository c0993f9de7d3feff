package removal

import (
	"context"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/observed"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// A Succession is what happens to the runs of an XR when its Composition changes. All names are names of runs.
type Succession struct {
	// Adopted has the removed runs that new runs adopt, by the names of the new runs.
	Adopted map[string]string
	// Held has the removed runs that new runs may be under another name, by the names of the new runs. Both are held.
	Held map[string]string
	// Retained has the removed runs with AnsibleRuns that stay.
	Retained map[string]bool
}

// Succeed returns the decisions of Decide for an XR that has AnsibleRuns of all runs of one plan and gets another plan.
// It uses only the literal values in both, since computed values depend on the XR.
func Succeed(before, after *plan.Plan) Succession {
	s := Succession{Adopted: map[string]string{}, Held: map[string]string{}, Retained: map[string]bool{}}
	state := observed.State{Resources: map[string]observed.Resource{}}

	for _, run := range before.Runs {
		state.Resources[exampleResource(run)] = observed.Resource{Object: literalObject(run, before)}
	}

	runs := desired.Runs{Observed: state}

	for _, run := range after.Runs {
		out := desired.Outcome{
			Name: run.Name, Resource: exampleResource(run), Reason: desired.Ready, Desired: literalObject(run, after),
		}

		if was := predecessor(run, before, after); was != nil {
			s.Adopted[run.Name] = was.Name
			state.Resources[out.Resource] = state.Resources[exampleResource(was)]
			delete(state.Resources, exampleResource(was))
		}

		if state.Resources[out.Resource].Object == nil {
			out.Reason = desired.Running
		}

		runs.Outcomes = append(runs.Outcomes, out)
	}

	for _, out := range Decide(after, runs).Outcomes {
		switch {
		case out.MayBe != "":
			s.Held[runName(out.Resource)] = runName(out.MayBe)
		case out.Reason == desired.Retained:
			s.Retained[runName(out.Resource)] = true
		}
	}

	return s
}

// exampleResource returns the composition resource name of a run, or of a member of a set with an example key.
func exampleResource(run *plan.Run) string {
	if run.ForEach == nil {
		return run.Name
	}

	return plan.MemberName(run.Name, "key")
}

// literalObject returns the AnsibleRun of a run of a plan without computed values.
func literalObject(run *plan.Run, of *plan.Plan) map[string]any {
	vars := map[string]any{}

	for name, t := range run.Variables.Vars {
		if !t.Computed {
			vars[name], _, _ = t.Evaluate(context.Background(), expression.Data{})
		}
	}

	var dependsOn []string

	for _, on := range of.Runs {
		if _, needs := run.Needs[on.Name]; needs {
			dependsOn = append(dependsOn, run.Entry(on, "key"))
		}
	}

	return manifest.Overlay(run.Object.Unevaluated((*expression.Template).String), map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{
			ansiblerun.AnnotationDependsOn: strings.Join(dependsOn, ","),
		}},
		"spec": map[string]any{"forProvider": map[string]any{"vars": vars}},
	})
}

// predecessor returns the removed run with a name in previousNames of a new run; nil for none.
func predecessor(run *plan.Run, before, after *plan.Plan) *plan.Run {
	if before.ByResource[run.Name] != nil || run.PreviousNames == nil {
		return nil
	}

	for _, was := range before.Runs {
		for _, t := range run.PreviousNames.Items {
			if after.ByResource[was.Name] == nil && t.MayBe(exampleResource(was)) {
				return was
			}
		}
	}

	return nil
}
