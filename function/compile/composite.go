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

// status compiles the status of the XR; nil if the input has none.
func (c compiler) status(in map[string]any) *expression.Template {
	v, ok := in["status"]
	if !ok {
		return nil
	}

	path := field.NewPath("status")
	t := c.compile(path, v, expression.Object)

	if t.Fields == nil && !t.Computed {
		c.add(field.Invalid(path, v, "must be fields, or an expression that is an object"))
	}

	for _, name := range manifest.ReservedStatus {
		if _, ok := t.Fields[name]; ok {
			c.add(field.Forbidden(path.Child(name), "this field is Crossplane's own"))
		}
	}

	return t
}

// statusSchema returns the Converter of a status, from the OpenAPI v3 schema of the XR.
func statusSchema(status *expression.Template, xr map[string]any) *schema.Converter {
	of, _ := schema.Property(xr, "status")

	// Other steps may set the required fields.
	if status.Fields == nil {
		of = maps.Clone(of)
		delete(of, "required")
	}

	return converter(status, of)
}

// converter returns the Converter of a field of the status, with those of the fields below it.
func converter(t *expression.Template, of map[string]any) *schema.Converter {
	c := schema.NewConverter(of)

	for name, f := range t.Fields {
		if below, known := schema.Property(of, name); known {
			c.Fields[name] = converter(f, below)
		}
	}

	return c
}

// conditions compiles the conditions of the XR. operator is true if it also gets the conditions of an operator.
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
			Status:  c.boolean(path.Child("status").String(), object["status"]),
			Reason:  c.compile(path.Child("reason"), condition.Reason, expression.String),
			Message: c.compile(path.Child("message"), condition.Message, expression.String),
		})
	}

	return all
}

// connection compiles the connection details of the XR. The environment of c has the connection details of runs.
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
