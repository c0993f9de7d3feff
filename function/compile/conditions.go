package compile

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// TypeAnsibleRunsReady is the condition of an XR that says which of its
// AnsibleRuns are not there yet, and why.
const TypeAnsibleRunsReady = "AnsibleRunsReady"

// reservedConditions are Crossplane's own, and that of the function.
var reservedConditions = map[string]bool{ //nolint:gochecknoglobals // It is a constant.
	ansiblerun.ConditionReady: true, ansiblerun.ConditionSynced: true, "Healthy": true, "UpToDate": true, "Responsive": true, TypeAnsibleRunsReady: true,
}

// An ConditionTemplate is a condition of the input, compiled.
type ConditionTemplate struct {
	Type                    string
	Status, Reason, Message *expression.Template
}

func compileConditions(env *expression.Environment, in map[string]any) ([]ConditionTemplate, field.ErrorList) {
	var (
		all  []ConditionTemplate
		errs field.ErrorList
	)

	seen := map[string]bool{}
	list, _ := in["conditions"].([]any)

	for i := range list {
		m, _ := list[i].(map[string]any)
		path := field.NewPath("conditions").Index(i)
		c := ConditionTemplate{Type: manifest.Text(m, "type")}

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

		c.Status = compile("status", m["status"], expression.Boolean)
		c.Reason, c.Message = compile("reason", manifest.Text(m, "reason"), expression.String), compile("message", manifest.Text(m, "message"), expression.String)
		all = append(all, c)
	}

	return all, errs
}
