package composite

import (
	"context"
	"regexp"
	"strings"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// conditions evaluates the conditions of the XR. The problems do not include values that
// runs are still to bring.
func (e *evaluator) conditions(ctx context.Context) ([]Condition, []expression.Problem) {
	all := make([]Condition, 0, len(e.plan.Conditions))

	var problems []expression.Problem

	for _, c := range e.plan.Conditions {
		out, ps := e.condition(ctx, c)
		all = append(all, out)
		problems = append(problems, ps...)
	}

	return all, problems
}

// condition evaluates one condition. Its status is Unknown while its values are missing.
func (e *evaluator) condition(ctx context.Context, c plan.Condition) (Condition, []expression.Problem) {
	out := Condition{Type: c.Type, Status: ansiblerun.ConditionUnknown, Reason: string(desired.ValuePending)}

	for _, t := range []*expression.Template{c.Status, c.Reason, c.Message} {
		needs := t.Runs()

		for _, name := range manifest.SortedKeys(needs) {
			if needs[name] && e.runs.Instances[name].Unwanted {
				out.Reason, out.Message = string(desired.Skipped), name+" is not wanted"
				return out, nil
			}
		}
	}

	status, _, problems := e.value(ctx, c.Status)
	reason, _, ps := e.value(ctx, c.Reason)
	problems = append(problems, ps...)
	message, _, ps := e.value(ctx, c.Message)
	problems = append(problems, ps...)

	if is, ok := status.(bool); ok {
		out.Status, out.Reason = ansiblerun.ConditionFalse, reasonComputed
		if is {
			out.Status = ansiblerun.ConditionTrue
		}
	} else if status != nil {
		problems = append(problems, expression.InvalidAt(c.Status.Path(), errors.New("must be true or false")))
	}

	out.Message, _ = message.(string)

	if word, ok := reason.(string); ok && word != "" && out.Status != ansiblerun.ConditionUnknown {
		out.Reason = word

		if !conditionReason.MatchString(word) {
			out.Reason = reasonComputed
			problems = append(problems,
				expression.InvalidAt(c.Reason.Path(),
					errors.Errorf("%s cannot be the reason of a condition: it is a word such as ReplicaLost", manifest.Show(word))))
		}
	}

	if out.Status == ansiblerun.ConditionUnknown {
		lines := make([]string, 0, len(problems))
		for _, p := range problems {
			out.Reason = string(p.Kind)
			lines = append(lines, p.String())
		}

		out.Message = strings.Join(lines, "\n")
	}

	return out, problems
}

// reasonComputed is the reason of a condition for which the input has none.
const reasonComputed = "Computed"

// conditionReason matches the reasons that conditions may have, up to 256 characters. Source:
// k8s.io/apimachinery, metav1.Condition, which allows longer ones.
var conditionReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]{0,254}[A-Za-z0-9_])?$`)

// A Condition of an XR, as computed. Its status is True, False or Unknown.
type Condition struct {
	Type, Status, Reason, Message string
}
