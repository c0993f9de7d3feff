package compile

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansible"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// compileInventory compiles the inventory of a run, if it has one. The errors do not include
// mistakes within single expressions, which are reported where these are written.
func compileInventory(env *expression.Environment,
	r input.Run,
) (*plan.Inventory, []*expression.Template, field.ErrorList) {
	v, ok := r.Object["inventory"].(map[string]any)
	if !ok {
		return nil, nil, nil
	}

	var errs field.ErrorList

	path := r.Path.Child("inventory")

	for _, other := range []string{"inventoryInline", "executableInventory"} {
		if _, ok := r.Object[other]; ok {
			errs = append(errs, field.Forbidden(r.Path.Child(other), "not together with inventory"))
		}
	}

	all, _ := env.Compile(field.NewPath("inventory"), v)

	errs = append(errs, membersMistakes(path, all, groupMistakes)...)

	others, _ := r.Object["inventories"].([]any)
	beside := len(others) > 0 || r.Object["project"] != nil

	return &plan.Inventory{Groups: all.Fields(), Beside: beside}, []*expression.Template{all}, errs
}

func groupMistakes(path *field.Path, t *expression.Template) field.ErrorList {
	errs := mistyped(path, t, expression.Object)

	for _, part := range manifest.SortedKeys(t.Fields()) {
		below, at := t.Fields()[part], path.Child(part)

		switch part {
		case plan.GroupHosts:
			errs = append(errs, mistyped(at, below, expression.Object, expression.Array)...)

			errs = append(errs, membersMistakes(at, below, varsMistakes)...)
		case plan.GroupVars:
			errs = append(errs, varsMistakes(at, below)...)
			errs = append(errs, connectionMistakes(at, below)...)
		case plan.GroupChildren:
			errs = append(errs, mistyped(at, below, expression.Object)...)

			errs = append(errs, membersMistakes(at, below, groupMistakes)...)
		default:
			errs = append(errs, field.Forbidden(at, "a group has hosts, vars and children only"))
		}
	}

	return errs
}

// membersMistakes in groups or hosts with literal names.
func membersMistakes(
	path *field.Path, t *expression.Template, of func(*field.Path, *expression.Template) field.ErrorList,
) field.ErrorList {
	var errs field.ErrorList

	for _, name := range manifest.SortedKeys(t.Fields()) {
		errs = append(errs, forbidden(path.Child(name), ansible.CheckWord(name))...)
		errs = append(errs, of(path.Child(name), t.Fields()[name])...)
	}

	return errs
}

func varsMistakes(path *field.Path, t *expression.Template) field.ErrorList {
	errs := mistyped(path, t, expression.Object)

	for _, name := range manifest.SortedKeys(t.Fields()) {
		errs = append(errs, mistakes(path.Child(name), name, t.Fields()[name], "")...)
	}

	return errs
}

// connectionMistakes in the variables of a group: these are also variables of hosts from elsewhere.
func connectionMistakes(path *field.Path, t *expression.Template) field.ErrorList {
	var errs field.ErrorList

	for _, name := range manifest.SortedKeys(t.Fields()) {
		if ansible.IsConnection(name) && t.Fields()[name].Computed() {
			errs = append(errs, field.Forbidden(path.Child(name),
				"an expression cannot say how all hosts of a group are reached: set the variable for each host"))
		}
	}

	return errs
}
