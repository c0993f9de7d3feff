package composite

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// reportedConditions are those in a status that is one expression, as content reports them.
func reportedConditions(path string, v any) ([]Condition, []expression.Problem) {
	list, ok := v.([]any)
	if !ok && v != nil {
		return nil, []expression.Problem{expression.InvalidAt(path, errors.New("must be a list"))}
	}

	var (
		all      []Condition
		problems []expression.Problem
	)

	for i := range list {
		c, err := reportedCondition(list[i])
		if err != nil {
			problems = append(problems, expression.InvalidAt(fmt.Sprintf("%s[%d]", path, i), err))
		}

		all = append(all, c)
	}

	return all, problems
}

// reportedCondition is one of them. Its reason is reasonComputed if it has none.
func reportedCondition(v any) (Condition, error) {
	o, _ := v.(map[string]any)
	c := Condition{
		Type: manifest.Text(o, "type"), Status: manifest.Text(o, "status"),
		Reason: manifest.Text(o, "reason"), Message: manifest.Text(o, "message"),
	}

	if c.Reason == "" {
		c.Reason = reasonComputed
	}

	switch {
	case len(validation.IsQualifiedName(c.Type)) > 0:
		return c, errors.Errorf("%s cannot be the type of a condition: it is a word such as DatabaseReady",
			manifest.Show(c.Type))
	case plan.IsReservedCondition(c.Type):
		return c, errors.Errorf("the condition %s is set by Crossplane or by function-ansible itself", c.Type)
	case !slices.Contains([]string{ansiblerun.ConditionTrue, ansiblerun.ConditionFalse, ansiblerun.ConditionUnknown},
		c.Status):
		return c, errors.Errorf("%s cannot be the status of a condition: it is True, False or Unknown",
			manifest.Show(c.Status))
	case !conditionReason.MatchString(c.Reason):
		return c, errors.Errorf("%s cannot be the reason of a condition: it is a word such as ReplicaLost",
			manifest.Show(c.Reason))
	}

	return c, nil
}

// merge conditions with weaker ones: of each type there is one.
func merge(conditions, weaker []Condition) []Condition {
	for _, c := range weaker {
		if !slices.ContainsFunc(conditions, func(other Condition) bool { return other.Type == c.Type }) {
			conditions = append(conditions, c)
		}
	}

	return conditions
}
