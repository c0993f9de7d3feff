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

// conditions evaluates the conditions of the XR.
func (e *evaluator) conditions(ctx context.Context) []Condition {
	all := make([]Condition, 0, len(e.plan.Conditions))
	for _, c := range e.plan.Conditions {
		all = append(all, e.condition(ctx, c))
	}

	return all
}

// condition evaluates a condition. Its status is Unknown while a value is missing.
func (e *evaluator) condition(ctx context.Context, c plan.Condition) Condition {
	out := Condition{Type: c.Type, Status: ansiblerun.ConditionUnknown, Reason: string(desired.ValuePending)}

	for _, t := range []*expression.Template{c.Status, c.Reason, c.Message} {
		needs := t.Runs()

		for _, name := range manifest.SortedKeys(needs) {
			if needs[name] && e.runs.Instances[name].Unwanted() {
				out.Reason, out.Message = string(desired.Skipped), name+" is not wanted"
				return out
			}
		}
	}

	before := len(e.problems)
	status, _ := e.evaluate(ctx, c.Status)
	reason, _ := e.evaluate(ctx, c.Reason)
	message, _ := e.evaluate(ctx, c.Message)

	if is, ok := status.(bool); ok {
		out.Status, out.Reason = ansiblerun.ConditionFalse, reasonComputed
		if is {
			out.Status = ansiblerun.ConditionTrue
		}
	} else if status != nil {
		e.invalid(c.Status.Path, errors.New("must be true or false"))
	}

	out.Message, _ = message.(string)

	if word, ok := reason.(string); ok && word != "" && out.Status != ansiblerun.ConditionUnknown {
		out.Reason = word

		if err := checkReason(word); err != nil {
			out.Reason = reasonComputed
			e.invalid(c.Reason.Path, err)
		}
	}

	if out.Status == ansiblerun.ConditionUnknown {
		var lines []string

		for _, p := range e.problems[before:] {
			out.Reason = string(p.Kind)
			lines = append(lines, p.String())
		}

		out.Message = strings.Join(lines, "\n")
	}

	return out
}

// reasonComputed is the reason of a condition without one in the input.
const reasonComputed = "Computed"

// conditionReason matches valid reasons of up to 256 characters. Source: metav1.Condition of k8s.io/apimachinery, which
// allows longer ones.
var conditionReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]{0,254}[A-Za-z0-9_])?$`)

// checkReason returns an error for an invalid reason of a condition.
func checkReason(word string) error {
	if conditionReason.MatchString(word) {
		return nil
	}

	return errors.Errorf("%s cannot be the reason of a condition: it is a word such as ReplicaLost", manifest.Show(word))
}

// A Condition is an evaluated condition of an XR. Its status is True, False or Unknown.
type Condition struct {
	Type, Status, Reason, Message string
}
