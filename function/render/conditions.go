package render

import (
	"context"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// TypeAnsibleRunsReady is the condition of an XR that says which of its
// AnsibleRuns are not there yet, and why.
const TypeAnsibleRunsReady = "AnsibleRunsReady"

// reasonComputed is that of conditions that have no other one.
const reasonComputed = "Computed"

// reservedConditions are Crossplane's own, and that of the function.
var reservedConditions = map[string]bool{ //nolint:gochecknoglobals // It is a constant.
	conditionReady: true, conditionSynced: true, "Healthy": true, "UpToDate": true, "Responsive": true, TypeAnsibleRunsReady: true,
}

// conditionReason is what the reason of a condition looks like, if shorter. Source:
// k8s.io/apimachinery, metav1.Condition.
var conditionReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]{0,254}[A-Za-z0-9_])?$`)

// A Condition of an XR, as computed. Its status is True, False or Unknown.
type Condition struct {
	Type, Status, Reason, Message string
}

// An xrCondition is a condition of the input, compiled.
type xrCondition struct {
	name                    string
	status, reason, message *expression.Template
}

func compileConditions(env *expression.Environment, in map[string]any) ([]xrCondition, field.ErrorList) {
	var (
		all  []xrCondition
		errs field.ErrorList
	)

	seen := map[string]bool{}
	list, _ := in["conditions"].([]any)

	for i := range list {
		m, _ := list[i].(map[string]any)
		path := field.NewPath("conditions").Index(i)
		c := xrCondition{name: manifest.Text(m, "type")}

		switch {
		case reservedConditions[c.name]:
			errs = append(errs, field.Forbidden(path.Child("type"), "this condition is set by Crossplane or by function-ansible itself"))
		case seen[c.name]:
			errs = append(errs, field.Duplicate(path.Child("type"), c.name))
		}

		seen[c.name] = true

		compile := func(name string, value any, is ...expression.Type) *expression.Template {
			t, terrs := env.Compile(path.Child(name), value)
			errs = append(errs, terrs...)
			errs = append(errs, mistyped(path.Child(name), t, is...)...)

			return t
		}

		c.status = compile("status", m["status"], expression.Boolean)
		c.reason, c.message = compile("reason", manifest.Text(m, "reason"), expression.String), compile("message", manifest.Text(m, "message"), expression.String)
		all = append(all, c)
	}

	return all, errs
}

// conditions of the XR. The problems are those that will not go away when the runs
// have done their work.
func (r *rendering) conditions(ctx context.Context) ([]Condition, []expression.Problem) {
	all := make([]Condition, 0, len(r.composition.conditions))

	var problems []expression.Problem

	for _, c := range r.composition.conditions {
		out, ps := r.condition(ctx, c)
		all = append(all, out)
		problems = append(problems, ps...)
	}

	return all, problems
}

func (r *rendering) condition(ctx context.Context, c xrCondition) (Condition, []expression.Problem) {
	out := Condition{Type: c.name, Status: conditionUnknown, Reason: string(ValuePending)}

	for _, t := range []*expression.Template{c.status, c.reason, c.message} {
		needs := t.Runs()

		for _, name := range manifest.SortedKeys(needs) {
			if needs[name] && r.outcomes[name].skipped {
				out.Reason, out.Message = string(Skipped), name+" is not wanted"
				return out, nil
			}
		}
	}

	status, _, problems := r.leaf(ctx, c.status)
	reason, _, ps := r.leaf(ctx, c.reason)
	problems = append(problems, ps...)
	message, _, ps := r.leaf(ctx, c.message)
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
