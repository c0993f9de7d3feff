package compile

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// compileInventory compiles the inventory of a run, if it has one. The errors do not include
// mistakes within single expressions, which are reported where these are written.
func compileInventory(env *expression.Environment, r input.Run) (*plan.Inventory, []*expression.Template, field.ErrorList) {
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

	for _, name := range manifest.SortedKeys(all.Fields()) {
		errs = append(errs, groupMistakes(path.Child(name), all.Fields()[name])...)
	}

	return &plan.Inventory{Groups: all.Fields()}, []*expression.Template{all}, errs
}

func groupMistakes(path *field.Path, t *expression.Template) field.ErrorList {
	errs := mistyped(path, t, expression.Object)

	for _, part := range manifest.SortedKeys(t.Fields()) {
		below, at := t.Fields()[part], path.Child(part)

		switch part {
		case plan.GroupHosts:
			errs = append(errs, mistyped(at, below, expression.Object, expression.Array)...)

			for _, name := range manifest.SortedKeys(below.Fields()) {
				errs = append(errs, varsMistakes(at.Child(name), below.Fields()[name])...)
			}
		case plan.GroupVars:
			errs = append(errs, varsMistakes(at, below)...)
		case plan.GroupChildren:
			errs = append(errs, mistyped(at, below, expression.Object)...)

			for _, name := range manifest.SortedKeys(below.Fields()) {
				errs = append(errs, groupMistakes(at.Child(name), below.Fields()[name])...)
			}
		default:
			errs = append(errs, field.Forbidden(at, "a group has hosts, vars and children only"))
		}
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
