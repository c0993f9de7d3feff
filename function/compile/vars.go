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

// compileVariables of a run. The errors are mistakes beyond those in single
// expressions.
func compileVariables(env *expression.Environment, r input.Run) (plan.Variables, field.ErrorList) {
	v := plan.Variables{Templated: map[string]bool{}}

	var errs field.ErrorList

	if set, ok := r.Object["vars"].(map[string]any); ok {
		all, _ := env.Compile(field.NewPath("vars"), set)
		v.Vars = all.Fields()
	}

	for i, name := range r.Templated {
		v.Templated[name] = true

		if _, ok := v.Vars[name]; !ok {
			errs = append(errs,
				field.Invalid(r.Path.Child("templated").Index(i), name,
					"there is no such variable in vars"+spelling.Hint(name, manifest.SortedKeys(v.Vars))))
		}
	}

	for _, name := range manifest.SortedKeys(v.Vars) {
		errs = append(errs, variableMistakes(v, r.Path.Child("vars", name), name)...)
	}

	for i, s := range r.VarsFrom {
		path := field.NewPath("varsFrom").Index(i)
		value, _ := env.Compile(path.Child("value"), s.Value)

		if !value.Computed() {
			errs = append(errs,
				field.Invalid(r.Path.Child("varsFrom").Index(i).Child("value"), s.Value,
					"must be an expression, as in ${xr.spec.parameters}"))
		}

		errs = append(errs, mistyped(r.Path.Child("varsFrom").Index(i).Child("value"), value, expression.Object)...)
		errs = append(errs, unknownKeys(r.Path.Child("varsFrom").Index(i), s, value)...)

		if s.Include != nil && s.Exclude != nil {
			errs = append(errs, field.Forbidden(r.Path.Child("varsFrom").Index(i), "only one of include and exclude can be set"))
		}

		v.From = append(v.From, plan.VarsSource{
			Value:     value,
			Path:      path.String(),
			SnakeCase: s.Keys == v1alpha1.KeysSnakeCase,
			Include:   variables(s, s.Include),
			Exclude:   variables(s, s.Exclude),
		})
	}

	return v, errs
}

// unknownKeys reports what is to be included or excluded, and that the object will
// never have.
func unknownKeys(path *field.Path, source v1alpha1.VarsSource, value *expression.Template) field.ErrorList {
	known := value.Known()
	if known == nil {
		return nil
	}

	all := variables(source, known)

	var errs field.ErrorList

	check := func(path *field.Path, keys []string) {
		for i, key := range keys {
			if !slices.ContainsFunc(variables(source, keys[i:i+1]), func(v string) bool { return slices.Contains(all, v) }) {
				errs = append(errs, field.NotSupported(path.Index(i), key, known))
			}
		}
	}

	check(path.Child("include"), source.Include)
	check(path.Child("exclude"), source.Exclude)

	return errs
}

// variables are the names of the variables that fields with these names become, and the names as written: the
// name of a variable may be converted to another one. The result is nil for none.
func variables(source v1alpha1.VarsSource, names []string) []string {
	all := slices.Clone(names)

	if source.Keys == v1alpha1.KeysSnakeCase {
		for _, name := range names {
			all = append(all, ansible.SnakeCase(name))
		}
	}

	return all
}

// variableMistakes in a variable of a literal name.
func variableMistakes(v plan.Variables, path *field.Path, name string) field.ErrorList {
	if name == "ansible_provider_meta" {
		return field.ErrorList{field.Forbidden(path, "this variable is the provider's own")}
	}

	if v.Templated[name] {
		return keyMistakes(path, name)
	}

	return mistakes(path, name, v.Vars[name],
		"; name it in templated if the source of its value may run code in the provider")
}

// mistakes in a variable of a literal name. Ansible does not template its value when it is computed.
func mistakes(path *field.Path, name string, t *expression.Template, hint string) field.ErrorList {
	switch {
	case !t.Computed():
		return keyMistakes(path, name)
	case !ansible.IsComputable(name):
		return field.ErrorList{
			field.Forbidden(path, "an expression cannot say how Ansible connects and what it executes"+hint),
		}
	case slices.ContainsFunc(t.Text(), isJinja):
		return field.ErrorList{
			field.Forbidden(path,
				"Jinja2 beside an expression: a variable that holds an expression is never templated by Ansible; "+
					"use two variables"),
		}
	}

	return keyMistakes(path, name)
}

// keyMistakes in a name that no variable can have.
func keyMistakes(path *field.Path, name string) field.ErrorList {
	return forbidden(path, ansible.CheckKey(name))
}

// forbidden is a name for which there is an error.
func forbidden(path *field.Path, err error) field.ErrorList {
	if err == nil {
		return nil
	}

	return field.ErrorList{field.Forbidden(path, err.Error())}
}

func isJinja(s string) bool {
	return strings.Contains(s, "{{") || strings.Contains(s, "{%") || strings.Contains(s, "{#")
}
