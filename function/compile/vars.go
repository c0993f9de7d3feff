package compile

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansible"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression/cost"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/spelling"
)

// Variables of a run, compiled.
type Variables struct {
	// vars by name.
	vars map[string]*expression.Template
	// from are objects whose fields are variables, the weakest first.
	from []varsSource
	// templated variables hold expressions, and are templated nevertheless.
	templated map[string]bool
	// unnamed are fields that can be there, and that cannot be variables.
	unnamed field.ErrorList
}

// A varsSource is an object whose fields are variables.
type varsSource struct {
	value            *expression.Template
	path             string
	snake            bool
	include, exclude []string
}

// compileVariables of a run. The errors are mistakes beyond those in single
// expressions.
func compileVariables(env *expression.Environment, t template) (Variables, field.ErrorList) {
	v := Variables{templated: map[string]bool{}}

	var errs field.ErrorList

	if set, ok := t.object["vars"].(map[string]any); ok {
		all, _ := env.Compile(field.NewPath("vars"), set)
		v.vars = all.Fields()
	}

	for i, name := range t.Templated {
		v.templated[name] = true

		if _, ok := v.vars[name]; !ok {
			errs = append(errs, field.Invalid(t.path.Child("templated").Index(i), name, "there is no such variable in vars"+spelling.Hint(name, manifest.SortedKeys(v.vars))))
		}
	}

	for _, name := range manifest.SortedKeys(v.vars) {
		errs = append(errs, v.mistakes(t.path.Child("vars", name), name)...)
	}

	for i, s := range t.VarsFrom {
		path := field.NewPath("varsFrom").Index(i)
		value, _ := env.Compile(path.Child("value"), s.Value)

		if !value.Computed() {
			errs = append(errs, field.Invalid(t.path.Child("varsFrom").Index(i).Child("value"), s.Value, "must be an expression, as in ${xr.spec.parameters}"))
		}

		errs = append(errs, mistyped(t.path.Child("varsFrom").Index(i).Child("value"), value, expression.Object)...)
		errs = append(errs, unknownKeys(t.path.Child("varsFrom").Index(i), s, value)...)

		if s.Include != nil && s.Exclude != nil {
			errs = append(errs, field.Forbidden(t.path.Child("varsFrom").Index(i), "only one of include and exclude can be set"))
		}

		source := varsSource{
			value:   value,
			path:    path.String(),
			snake:   s.Keys == v1alpha1.KeysSnakeCase,
			include: s.Include,
			exclude: s.Exclude,
		}
		v.from = append(v.from, source)
		v.unnamed = append(v.unnamed, source.unnamed(t.path.Child("varsFrom").Index(i))...)
	}

	return v, errs
}

// unnamed fields that the object can have, and that cannot be variables.
func (s varsSource) unnamed(path *field.Path) field.ErrorList {
	var errs field.ErrorList

	for _, name := range s.value.Known() {
		if !s.chooses(name) {
			continue
		}

		if s.snake {
			name = ansible.SnakeCase(name)
		}

		if err := ansible.CheckVariable(name); err != nil {
			errs = append(errs, field.Forbidden(path, err.Error()+"; exclude it"))
		}
	}

	return errs
}

// chooses the field of an object.
func (s varsSource) chooses(name string) bool {
	return !slices.Contains(s.exclude, name) && (s.include == nil || slices.Contains(s.include, name))
}

// unknownKeys reports what is to be included or excluded, and that the object will
// never have.
func unknownKeys(path *field.Path, source v1alpha1.VarsSource, value *expression.Template) field.ErrorList {
	known := value.Known()
	if known == nil {
		return nil
	}

	var errs field.ErrorList

	check := func(path *field.Path, keys []string) {
		for i, key := range keys {
			if !slices.Contains(known, key) {
				errs = append(errs, field.NotSupported(path.Index(i), key, known))
			}
		}
	}

	check(path.Child("include"), source.Include)
	check(path.Child("exclude"), source.Exclude)

	return errs
}

// mistakes in a variable of a literal name.
func (v Variables) mistakes(path *field.Path, name string) field.ErrorList {
	if name == "ansible_provider_meta" {
		return field.ErrorList{field.Forbidden(path, "this variable is the provider's own")}
	}

	if v.templated[name] {
		return nil
	}

	return mistakes(path, name, v.vars[name], "; name it in templated if whoever supplies its value may run code in the provider")
}

// mistakes in a variable of a literal name, whose value Ansible does not template
// when it is computed.
func mistakes(path *field.Path, name string, t *expression.Template, hint string) field.ErrorList {
	switch {
	case !t.Computed():
		return nil
	case !ansible.IsComputable(name):
		return field.ErrorList{field.Forbidden(path, "an expression cannot say how Ansible connects and what it executes"+hint)}
	case slices.ContainsFunc(t.Text(), isJinja):
		return field.ErrorList{field.Forbidden(path, "Jinja2 beside an expression: a variable that holds an expression is never templated by Ansible; use two variables")}
	}

	return nil
}

func isJinja(s string) bool {
	return strings.Contains(s, "{{") || strings.Contains(s, "{%") || strings.Contains(s, "{#")
}

// templates of all values.
func (v Variables) templates() []*expression.Template {
	all := make([]*expression.Template, 0, len(v.vars)+len(v.from))
	for _, name := range manifest.SortedKeys(v.vars) {
		all = append(all, v.vars[name])
	}

	for _, s := range v.from {
		all = append(all, s.value)
	}

	return all
}

// Evaluate the variables. Those that hold an expression, and those that are
// named by data, must not be templated by Ansible, for they come from people
// without trust.
func (v Variables) Evaluate(ctx context.Context, data expression.Data) (vars, unsafe map[string]any, problems []expression.Problem) {
	vars, unsafe = map[string]any{}, map[string]any{}

	for _, s := range v.from {
		fields, ps := s.evaluate(ctx, data)
		problems = append(problems, ps...)
		maps.Copy(unsafe, fields)
	}

	for _, name := range manifest.SortedKeys(v.vars) {
		t := v.vars[name]

		// A variable that is left out is left out, wherever else it comes from.
		delete(unsafe, name)

		value, ok, ps := t.Evaluate(ctx, data)
		problems = append(problems, ps...)

		switch {
		case !ok:
		case !t.Computed() || v.templated[name]:
			vars[name] = value
		default:
			unsafe[name] = value

			if err := ansible.CheckConnection(name, value); err != nil {
				problems = append(problems, Invalid("vars."+name, err))
			}
		}
	}

	return vars, unsafe, problems
}

// evaluate the variables of an object.
func (s varsSource) evaluate(ctx context.Context, data expression.Data) (map[string]any, []expression.Problem) {
	v, ok, problems := s.value.Evaluate(ctx, data)
	if !ok || len(problems) > 0 {
		return nil, problems
	}

	object, ok := v.(map[string]any)
	if !ok {
		return nil, []expression.Problem{Invalid(s.path, errors.New("must be an object, each field of which is a variable"))}
	}

	chosen := make(map[string]any, len(object))

	for name, value := range object {
		if s.chooses(name) {
			chosen[name] = value
		}
	}

	data.Budget.Spend(cost.PerField * uint64(len(object)))

	if s.snake {
		data.Budget.Spend(ansible.ConversionCost(chosen))

		converted, err := ansible.SnakeKeys(chosen)
		if err != nil {
			return nil, []expression.Problem{Invalid(s.path, err)}
		}

		chosen, _ = converted.(map[string]any)
	}

	for _, name := range manifest.SortedKeys(chosen) {
		if err := ansible.CheckVariable(name); err != nil {
			problems = append(problems, Invalid(s.path, err))
		}
	}

	return chosen, problems
}
