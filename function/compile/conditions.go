package compile

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
)

// TypeAnsibleRunsReady is the condition of an XR that says which of its
// AnsibleRuns are not there yet, and why.
const TypeAnsibleRunsReady = "AnsibleRunsReady"

// reservedConditions are Crossplane's own, and that of the function.
var reservedConditions = map[string]bool{ //nolint:gochecknoglobals // It is a constant.
	ansiblerun.ConditionReady: true, ansiblerun.ConditionSynced: true, "Healthy": true, "UpToDate": true, "Responsive": true, TypeAnsibleRunsReady: true,
}

// A ConditionTemplate is a condition of the input, compiled.
type ConditionTemplate struct {
	Type                    string
	Status, Reason, Message *expression.Template
}

// jsonValue of a field that is any JSON; nil when it is not set.
func jsonValue(j *apiextensionsv1.JSON) any {
	if j == nil {
		return nil
	}

	var v any

	_ = json.Unmarshal(j.Raw, &v)

	return v
}

func compileConditions(env *expression.Environment, conditions []v1alpha1.Condition) ([]ConditionTemplate, field.ErrorList) {
	var (
		all  []ConditionTemplate
		errs field.ErrorList
	)

	seen := map[string]bool{}

	for i, condition := range conditions {
		path := field.NewPath("conditions").Index(i)
		c := ConditionTemplate{Type: condition.Type}

		switch {
		case reservedConditions[c.Type]:
			errs = append(errs, field.Forbidden(path.Child("type"), "this condition is set by Crossplane or by function-ansible itself"))
		case seen[c.Type]:
			errs = append(errs, field.Duplicate(path.Child("type"), c.Type))
		}

		seen[c.Type] = true

		compile := func(name string, value any, is ...expression.Type) *expression.Template {
			t, terrs := env.Compile(path.Child(name), value)
			errs = append(errs, terrs...)
			errs = append(errs, mistyped(path.Child(name), t, is...)...)

			return t
		}

		c.Status = compile("status", jsonValue(condition.Status), expression.Boolean)
		c.Reason, c.Message = compile("reason", condition.Reason, expression.String), compile("message", condition.Message, expression.String)
		all = append(all, c)
	}

	return all, errs
}
