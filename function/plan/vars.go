package plan

import (
	"context"
	"maps"
	"slices"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansible"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// Variables of a run, compiled.
type Variables struct {
	// Vars by name.
	Vars map[string]*expression.Template
	// From are objects with fields that are variables, the weakest object first.
	From []VarsSource
	// Templated variables hold expressions, and are templated nevertheless.
	Templated map[string]bool
}

// A VarsSource is an object with fields that are variables.
type VarsSource struct {
	Value *expression.Template
	// Path of the source in a run.
	Path string
	// SnakeCase is true for a source with names that are converted.
	SnakeCase bool
	// Include and Exclude variables, by the names that they have after the conversion: fields that
	// are spelt in different ways become the same variable.
	Include, Exclude []string
}

// Variable returns the name of the variable that a field of an object becomes. It is false for a
// field that is not chosen.
func (s VarsSource) Variable(field string) (string, bool) {
	if s.SnakeCase {
		field = ansible.SnakeCase(field)
	}

	return field, !slices.Contains(s.Exclude, field) && (s.Include == nil || slices.Contains(s.Include, field))
}

// Templates of all values.
func (v Variables) Templates() []*expression.Template {
	all := make([]*expression.Template, 0, len(v.Vars)+len(v.From))
	for _, name := range manifest.SortedKeys(v.Vars) {
		all = append(all, v.Vars[name])
	}

	for _, s := range v.From {
		all = append(all, s.Value)
	}

	return all
}

// Evaluate the variables as parameters of an AnsibleRun. Those that hold an expression, and those that are
// named by data, must not be templated by Ansible, for they come from people
// without trust.
func (v Variables) Evaluate(ctx context.Context, data expression.Data) (map[string]any, []expression.Problem) {
	var problems []expression.Problem

	vars, unsafe := map[string]any{}, map[string]any{}

	for _, s := range v.From {
		fields, ps := s.evaluate(ctx, data)
		problems = append(problems, ps...)
		maps.Copy(unsafe, fields)
	}

	for _, name := range manifest.SortedKeys(v.Vars) {
		t := v.Vars[name]

		// A variable that is left out is left out, wherever else it comes from.
		delete(unsafe, name)

		value, ok, ps := t.Evaluate(ctx, data)
		problems = append(problems, ps...)

		switch {
		case !ok:
		case !t.Computed || v.Templated[name]:
			vars[name] = value
		default:
			unsafe[name] = value

			if err := ansible.CheckConnection(name, value); err != nil {
				problems = append(problems, expression.InvalidAt("vars."+name, err))
			}
		}
	}

	parameters := map[string]any{"vars": vars, "unsafeVars": unsafe}
	maps.DeleteFunc(parameters, func(_ string, v any) bool { return manifest.Equal(v, nil) })

	return parameters, problems
}

// evaluate the variables of an object.
func (s VarsSource) evaluate(ctx context.Context, data expression.Data) (map[string]any, []expression.Problem) {
	v, ok, problems := s.Value.Evaluate(ctx, data)
	if !ok || len(problems) > 0 {
		return nil, problems
	}

	object, ok := v.(map[string]any)
	if !ok {
		return nil, []expression.Problem{
			expression.InvalidAt(s.Path, errors.New("must be an object, each field of which is a variable")),
		}
	}

	chosen := make(map[string]any, len(object))

	for name, value := range object {
		if _, ok := s.Variable(name); ok {
			chosen[name] = value
		}
	}

	data.Budget.Spend(expression.PerField * uint64(len(object)))

	if s.SnakeCase {
		data.Budget.Spend(ansible.CostPerName * uint64(len(object)))
	}

	if s.SnakeCase {
		data.Budget.Spend(ansible.ConversionCost(chosen))

		converted, err := ansible.SnakeKeys(chosen)
		if err != nil {
			return nil, []expression.Problem{expression.InvalidAt(s.Path, err)}
		}

		chosen, _ = converted.(map[string]any)
	}

	for _, name := range manifest.SortedKeys(chosen) {
		if err := ansible.CheckVariable(name); err != nil {
			problems = append(problems, expression.InvalidAt(s.Path, err))
		}
	}

	return chosen, problems
}
