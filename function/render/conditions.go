package render

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"

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
