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

// Variables are the variables of a run, compiled.
type Variables struct {
	// Vars are the variables of vars by name. They win over those of From.
	Vars map[string]*expression.Template
	// From are the sources of varsFrom. Later sources win over earlier ones.
	From []VarsSource
	// Templated has the variables that Ansible templates although they hold expressions.
	Templated map[string]bool
}

// A VarsSource is an entry of varsFrom: an object with fields that become variables.
type VarsSource struct {
	Value *expression.Template
	// Path is the path of the source in a run.
	Path string
	// SnakeCase is true when the names of fields are converted to snake case.
	SnakeCase bool
	// Include and Exclude select variables by their names after the conversion, since several spellings of a field
	// become the same variable. A nil Include selects all.
	Include, Exclude []string
}

// Variable returns the name of the variable that a field of the object becomes; false when it is not selected.
func (s VarsSource) Variable(field string) (string, bool) {
	if s.SnakeCase {
		field = ansible.SnakeCase(field)
	}

	return field, !slices.Contains(s.Exclude, field) && (s.Include == nil || slices.Contains(s.Include, field))
}

// Templates returns the templates of all values.
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

// Evaluate returns the variables as parameters of an AnsibleRun: vars, which Ansible templates, and unsafeVars, which
// it does not. Variables with an expression and those of varsFrom come from untrusted authors, so they are unsafeVars.
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

		// If vars leaves out a variable, varsFrom does not set it either.
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

// evaluate returns the selected variables of the object.
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
