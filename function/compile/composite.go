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

// status returns the template of the XR's status; nil if the input has none.
func (c compiler) status(in map[string]any) *expression.Template {
	v, ok := in["status"]
	if !ok {
		return nil
	}

	path := field.NewPath("status")
	t := c.compile(path, v, expression.Object)

	if t.Fields() == nil && !t.Computed() {
		c.add(field.Invalid(path, v, "must be fields, or an expression that is an object"))
	}

	for _, name := range manifest.ReservedStatus {
		if _, ok := t.Fields()[name]; ok {
			c.add(field.Forbidden(path.Child(name), "this field is Crossplane's own"))
		}
	}

	return t
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

// conditions of the XR, which may also have those of an operator.
func (c compiler) conditions(in map[string]any, conditions []v1alpha1.Condition, operator bool) []plan.Condition {
	var all []plan.Condition

	seen := map[string]bool{}
	written, _ := in["conditions"].([]any)

	for i, condition := range conditions {
		path := field.NewPath("conditions").Index(i)

		switch {
		case plan.IsReservedCondition(condition.Type):
			c.add(field.Forbidden(path.Child("type"), "this condition is set by Crossplane or by function-ansible itself"))
		case seen[condition.Type], operator && slices.Contains(plan.OperatorConditions[:], condition.Type):
			c.add(field.Duplicate(path.Child("type"), condition.Type))
		}

		seen[condition.Type] = true
		object, _ := written[i].(map[string]any)

		all = append(all, plan.Condition{
			Type:    condition.Type,
			Status:  c.compile(path.Child("status"), object["status"], expression.Boolean),
			Reason:  c.compile(path.Child("reason"), condition.Reason, expression.String),
			Message: c.compile(path.Child("message"), condition.Message, expression.String),
		})
	}

	return all
}

// connection details of the XR. Only here do expressions see connection details of runs.
func (c compiler) connection(in v1alpha1.AnsibleRuns, namespaced bool) plan.Connection {
	secret := ptr.Deref(in.ConnectionSecret, v1alpha1.ConnectionSecret{})
	d := plan.Connection{Namespace: secret.Namespace}

	for i, detail := range in.ConnectionDetails {
		path := field.NewPath("connectionDetails").Index(i)
		if slices.Contains(d.Names, detail.Name) {
			c.add(field.Duplicate(path.Child("name"), detail.Name))
		}

		d.Names = append(d.Names, detail.Name)
		d.Values = append(d.Values, c.compile(path.Child("value"), detail.Value, expression.String))
	}

	path := field.NewPath("connectionSecret")

	if namespaced && d.Namespace != "" {
		c.add(field.Forbidden(path.Child("namespace"), "the Secret of a namespaced XR is in its own namespace"))
	} else if d.Namespace != "" {
		c.namespace(path.Child("namespace"), d.Namespace)
	}

	if secret.Name != "" {
		d.Name = c.compile(path.Child("name"), secret.Name)
		c.secretName(d.Name, namespaced)
	}

	return d
}
