package composite

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// reportedConditions returns the conditions in a status that is one expression, in the form in which content reports
// them.
func (e *evaluator) reportedConditions(path string, v any) []Condition {
	list, ok := v.([]any)
	if !ok && v != nil {
		e.invalid(path, errors.New("must be a list"))
	}

	var all []Condition

	for i := range list {
		c, err := reportedCondition(list[i])
		if err != nil {
			e.invalid(fmt.Sprintf("%s[%d]", path, i), err)
		}

		all = append(all, c)
	}

	return all
}

// reportedCondition returns a reported condition. Its reason is reasonComputed if it has none.
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
	}

	return c, checkReason(c.Reason)
}

// merge adds weaker conditions to conditions, without those of a type that is there already.
func merge(conditions, weaker []Condition) []Condition {
	for _, c := range weaker {
		if !slices.ContainsFunc(conditions, func(other Condition) bool { return other.Type == c.Type }) {
			conditions = append(conditions, c)
		}
	}

	return conditions
}
