package compile

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansible"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
	"github.com/crossplane-ansible/crossplane-ansible/function/spelling"
)

// variables compiles vars and varsFrom of a run.
func (c compiler) variables(r input.Run) plan.Variables {
	v := plan.Variables{Templated: map[string]bool{}}

	if set, ok := r.Object["vars"].(map[string]any); ok {
		v.Vars = c.compile(field.NewPath("vars"), set).Fields
	}

	for i, name := range r.Templated {
		v.Templated[name] = true

		if _, ok := v.Vars[name]; !ok {
			c.add(field.Invalid(r.Path.Child("templated").Index(i), name,
				"there is no such variable in vars"+spelling.Hint(name, manifest.SortedKeys(v.Vars))))
		}
	}

	for _, name := range manifest.SortedKeys(v.Vars) {
		path := r.Path.Child("vars", name)

		switch {
		case name == "ansible_provider_meta":
			c.add(field.Forbidden(path, "this variable is the provider's own"))
		case v.Templated[name]:
			c.forbid(path, ansible.CheckKey(name))
		default:
			c.variable(path, name, v.Vars[name],
				"; name it in templated if the source of its value may run code in the provider")
		}
	}

	for i, s := range r.VarsFrom {
		v.From = append(v.From, c.source(field.NewPath("varsFrom").Index(i), s))
	}

	return v
}

// source compiles an entry of varsFrom.
func (c compiler) source(path *field.Path, s v1alpha1.VarsSource) plan.VarsSource {
	at := c.at.Child(path.String())
	value := c.compile(path.Child("value"), s.Value, expression.Object)

	if !value.Computed {
		c.add(field.Invalid(at.Child("value"), s.Value, "must be an expression, as in ${xr.spec.parameters}"))
	}

	if s.Include != nil && s.Exclude != nil {
		c.add(field.Forbidden(at, "only one of include and exclude can be set"))
	}

	c.known(at.Child("include"), s, s.Include, value.Known())
	c.known(at.Child("exclude"), s, s.Exclude, value.Known())

	return plan.VarsSource{
		Value:     value,
		Path:      path.String(),
		SnakeCase: s.Keys == v1alpha1.KeysSnakeCase,
		Include:   variables(s, s.Include),
		Exclude:   variables(s, s.Exclude),
	}
}

// known reports keys in include or exclude that are not among the known keys of the object. known is nil if its keys
// are unknown.
func (c compiler) known(path *field.Path, s v1alpha1.VarsSource, keys, known []string) {
	all := variables(s, known)

	for i, key := range keys {
		if known != nil &&
			!slices.ContainsFunc(variables(s, keys[i:i+1]), func(v string) bool { return slices.Contains(all, v) }) {
			c.add(field.NotSupported(path.Index(i), key, known))
		}
	}
}

// variables returns names of fields and, with KeysSnakeCase, the names of the variables that they become. include and
// exclude may have both. The result is nil for nil.
func variables(source v1alpha1.VarsSource, names []string) []string {
	all := slices.Clone(names)

	if source.Keys == v1alpha1.KeysSnakeCase {
		for _, name := range names {
			all = append(all, ansible.SnakeCase(name))
		}
	}

	return all
}

// variable reports mistakes in a variable with a literal name. hint ends the message about a computed value that is not
// allowed.
func (c compiler) variable(path *field.Path, name string, t *expression.Template, hint string) {
	switch {
	case !t.Computed:
		c.forbid(path, ansible.CheckKey(name))
	case !ansible.IsComputable(name):
		c.add(field.Forbidden(path, "an expression cannot say how Ansible connects and what it executes"+hint))
	case slices.ContainsFunc(t.Text(), isJinja):
		c.add(field.Forbidden(path,
			"Jinja2 beside an expression: a variable that holds an expression is never templated by Ansible; "+
				"use two variables"))
	default:
		c.forbid(path, ansible.CheckKey(name))
	}
}

// forbid reports an error at a path, unless it is nil.
func (c compiler) forbid(path *field.Path, err error) {
	if err != nil {
		c.add(field.Forbidden(path, err.Error()))
	}
}

func isJinja(s string) bool {
	return strings.Contains(s, "{{") || strings.Contains(s, "{%") || strings.Contains(s, "{#")
}
