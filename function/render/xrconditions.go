package render

import (
	"context"
	"strings"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// conditions of the XR. The problems are those that will not go away when the runs
// have done their work.
func (e *evaluator) conditions(ctx context.Context) ([]Condition, []expression.Problem) {
	all := make([]Condition, 0, len(e.plan.conditions))

	var problems []expression.Problem

	for _, c := range e.plan.conditions {
		out, ps := e.condition(ctx, c)
		all = append(all, out)
		problems = append(problems, ps...)
	}

	return all, problems
}

func (e *evaluator) condition(ctx context.Context, c xrCondition) (Condition, []expression.Problem) {
	out := Condition{Type: c.name, Status: conditionUnknown, Reason: string(ValuePending)}

	for _, t := range []*expression.Template{c.status, c.reason, c.message} {
		needs := t.Runs()

		for _, name := range manifest.SortedKeys(needs) {
			if needs[name] && e.runs.Instances[name].unwanted {
				out.Reason, out.Message = string(Skipped), name+" is not wanted"
				return out, nil
			}
		}
	}

	status, _, problems := e.value(ctx, c.status)
	reason, _, ps := e.value(ctx, c.reason)
	problems = append(problems, ps...)
	message, _, ps := e.value(ctx, c.message)
	problems = append(problems, ps...)

	if is, ok := status.(bool); ok {
		out.Status, out.Reason = conditionFalse, reasonComputed
		if is {
			out.Status = conditionTrue
		}
	} else if status != nil {
		problems = append(problems, invalid(c.status.Path(), errors.New("must be true or false")))
	}

	out.Message, _ = message.(string)

	if word, ok := reason.(string); ok && word != "" && out.Status != conditionUnknown {
		out.Reason = word

		if !conditionReason.MatchString(word) {
			out.Reason = reasonComputed
			problems = append(problems, invalid(c.reason.Path(), errors.Errorf("%s cannot be the reason of a condition: it is a word such as ReplicaLost", manifest.Show(word))))
		}
	}

	if out.Status == conditionUnknown {
		lines := make([]string, 0, len(problems))
		for _, p := range problems {
			out.Reason = string(p.Kind)
			lines = append(lines, p.String())
		}

		out.Message = strings.Join(lines, "\n")
	}

	return out, problems
}
