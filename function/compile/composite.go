package compile

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
	"github.com/crossplane-ansible/crossplane-ansible/function/schema"
)

// compileStatus returns the template of the XR's status; nil if the input has none.
func compileStatus(env *expression.Environment, in map[string]any) (*expression.Template, field.ErrorList) {
	v, ok := in["status"]
	if !ok {
		return nil, nil
	}

	path := field.NewPath("status")
	t, errs := env.Compile(path, v)

	if t.Fields() == nil && !t.Computed() {
		errs = append(errs, field.Invalid(path, v, "must be fields, or an expression that is an object"))
	}

	errs = append(errs, mistyped(path, t, expression.Object)...)

	for _, name := range manifest.ReservedStatus {
		if _, ok := t.Fields()[name]; ok {
			errs = append(errs, field.Forbidden(path.Child(name), "this field is Crossplane's own"))
		}
	}

	return t, errs
}

// statusSchemasOf a status, by the OpenAPI v3 schema of an XR; none without a schema.
func statusSchemasOf(status *expression.Template, xr map[string]any) plan.StatusSchemas {
	all := plan.StatusSchemas{}
	if status == nil || len(xr) == 0 {
		return all
	}

	below, known := schema.Property(xr, "status")
	// Other steps may set required fields that this input does not have.
	if status.Fields() == nil {
		below = maps.Clone(below)
		delete(below, "required")
	}

	addSchema(all, status, below, known)

	return all
}

// addSchema of a field of the status, and of those below it.
func addSchema(all plan.StatusSchemas, t *expression.Template, of map[string]any, known bool) {
	if t.Fields() == nil || !known {
		all[t] = &plan.FieldSchema{Converter: schema.NewConverter(of), Unknown: !known}
		return
	}

	// Other steps may set required fields that this input does not have.
	for name := range manifest.Set(of["required"]) {
		if _, ok := t.Fields()[name]; !ok {
			continue
		}

		if all[t] == nil {
			all[t] = &plan.FieldSchema{}
		}

		all[t].Required = append(all[t].Required, name)
	}

	for name, f := range t.Fields() {
		below, known := schema.Property(of, name)
		addSchema(all, f, below, known)

		if !known {
			all[f].Hint = schema.Hint(of, name)
		}
	}
}

// compileConditions of the XR, which may also have those of an operator.
func compileConditions(env *expression.Environment, in map[string]any, conditions []v1alpha1.Condition,
	operator bool,
) ([]plan.Condition, field.ErrorList) {
	var (
		all  []plan.Condition
		errs field.ErrorList
	)

	seen := map[string]bool{}
	written, _ := in["conditions"].([]any)

	for i, condition := range conditions {
		path := field.NewPath("conditions").Index(i)
		c := plan.Condition{Type: condition.Type}

		switch {
		case plan.IsReservedCondition(c.Type):
			errs = append(errs,
				field.Forbidden(path.Child("type"), "this condition is set by Crossplane or by function-ansible itself"))
		case seen[c.Type], operator && slices.Contains(plan.OperatorConditions[:], c.Type):
			errs = append(errs, field.Duplicate(path.Child("type"), c.Type))
		}

		seen[c.Type] = true

		compile := func(name string, value any, is ...expression.Type) *expression.Template {
			t, terrs := env.Compile(path.Child(name), value)
			errs = append(errs, terrs...)
			errs = append(errs, mistyped(path.Child(name), t, is...)...)

			return t
		}

		object, _ := written[i].(map[string]any)
		c.Status = compile("status", object["status"], expression.Boolean)
		c.Reason, c.Message = compile("reason", condition.Reason, expression.String), compile("message", condition.Message,
			expression.String)
		all = append(all, c)
	}

	return all, errs
}

// compileConnection of the XR. Only here do expressions see connection details of
// runs.
func compileConnection(env *expression.Environment, in v1alpha1.AnsibleRuns,
	namespaced bool,
) (plan.Connection, field.ErrorList) {
	var (
		d    plan.Connection
		errs field.ErrorList
	)

	root := field.NewPath("connectionDetails")

	for i, detail := range in.ConnectionDetails {
		if slices.Contains(d.Names, detail.Name) {
			errs = append(errs, field.Duplicate(root.Index(i).Child("name"), detail.Name))
		}

		t, terrs := env.Compile(root.Index(i).Child("value"), detail.Value)
		errs = append(errs, terrs...)
		errs = append(errs, mistyped(root.Index(i).Child("value"), t, expression.String)...)
		d.Names = append(d.Names, detail.Name)
		d.Values = append(d.Values, t)
	}

	secret := ptr.Deref(in.ConnectionSecret, v1alpha1.ConnectionSecret{})
	d.Namespace = secret.Namespace

	if namespaced && d.Namespace != "" {
		errs = append(errs,
			field.Forbidden(field.NewPath("connectionSecret", "namespace"),
				"the Secret of a namespaced XR is in its own namespace"))
	} else if d.Namespace != "" {
		errs = append(errs, notANamespace(field.NewPath("connectionSecret", "namespace"), d.Namespace)...)
	}

	if secret.Name != "" {
		t, terrs := env.Compile(field.NewPath("connectionSecret", "name"), secret.Name)
		d.Name = t
		errs = append(errs, append(terrs, secretNameMistakes(t, namespaced)...)...)
	}

	return d, errs
}
