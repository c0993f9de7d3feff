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

// A Succession says what becomes of the runs of an XR when its Composition becomes another one. All names are
// composition resource names of runs.
type Succession struct {
	// Adopted are the runs with which others go on, by the names of these.
	Adopted map[string]string
	// Held are the runs that others may be under new names, by the names of these: both are held.
	Held map[string]string
	// Retained are the runs that are gone from the Composition, and stay.
	Retained map[string]bool
}

// Succeed decides as Decide does, for an XR that has all runs of a plan and gets another one. It knows what is literal
// in both: what is computed depends on the XR.
func Succeed(before, after *plan.Plan) Succession {
	s := Succession{Adopted: map[string]string{}, Held: map[string]string{}, Retained: map[string]bool{}}
	state := observed.State{Resources: map[string]observed.Resource{}}

	for _, run := range before.Runs {
		state.Resources[one(run)] = observed.Resource{Object: literal(run, before)}
	}

	runs := desired.Runs{Observed: state}

	for _, run := range after.Runs {
		out := desired.Outcome{Name: run.Name, Resource: one(run), Reason: desired.Ready, Desired: literal(run, after)}

		if was := predecessor(run, before, after); was != nil {
			s.Adopted[run.Name] = was.Name
			state.Resources[out.Resource] = state.Resources[one(was)]
			delete(state.Resources, one(was))
		}

		if state.Resources[out.Resource].Object == nil {
			out.Reason = desired.Running
		}

		runs.Outcomes = append(runs.Outcomes, out)
	}

	for _, out := range Decide(after, runs).Outcomes {
		switch {
		case out.MayBe != "":
			s.Held[setOrRun(out.Resource)] = setOrRun(out.MayBe)
		case out.Reason == desired.Retained:
			s.Retained[setOrRun(out.Resource)] = true
		}
	}

	return s
}

// one of the AnsibleRuns of a run: that of a set with some key.
func one(run *plan.Run) string {
	if run.ForEach == nil {
		return run.Name
	}

	return plan.MemberName(run.Name, "key")
}

// literal is an AnsibleRun of a run without what is computed.
func literal(run *plan.Run, of *plan.Plan) map[string]any {
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

// predecessor is the run that a new one says that it was, by its previous names; nil for none.
func predecessor(run *plan.Run, before, after *plan.Plan) *plan.Run {
	if before.ByResource[run.Name] != nil || run.PreviousNames == nil {
		return nil
	}

	for _, was := range before.Runs {
		for _, t := range run.PreviousNames.Items {
			if after.ByResource[was.Name] == nil && t.MayBe(one(was)) {
				return was
			}
		}
	}

	return nil
}
