package compile

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansible"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/fields"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// inventoriesOf a run, as they are written.
func inventoriesOf(r input.Run) []map[string]any {
	list, _ := r.Object[fields.Inventories].([]any)
	all := make([]map[string]any, len(list))

	for i := range list {
		all[i], _ = list[i].(map[string]any)
	}

	return all
}

// setInventories of an AnsibleRun, but for the one that is compiled.
func setInventories(parameters map[string]any, r input.Run) {
	var refs []any

	for _, of := range inventoriesOf(r) {
		for name, v := range of {
			switch name {
			case "inline":
				parameters["inventoryInline"] = v
			case "script":
				parameters["inventoryInline"], parameters["executableInventory"] = v, true
			case "path":
				refs = append(refs, map[string]any{"source": string(common.FileSourceProject), name: v})
			case "secretKeyRef":
				refs = append(refs, map[string]any{"source": string(common.FileSourceSecret), "secretRef": v})
			case "configMapKeyRef":
				refs = append(refs, map[string]any{"source": string(common.FileSourceConfigMapKey), name: v})
			}
		}
	}

	if len(refs) > 0 {
		parameters[fields.Inventories] = refs
	}
}

// compileInventory compiles the YAML among the inventories of a run, if there is any. The errors do not include
// mistakes within single expressions, which are reported where these are written.
func compileInventory(env *expression.Environment,
	r input.Run,
) (*plan.Inventory, []*expression.Template, field.ErrorList) {
	written := inventoriesOf(r)
	last := len(written) - 1

	if last < 0 || written[last]["yaml"] == nil {
		return nil, nil, nil
	}

	path := field.NewPath(fields.Inventories).Index(last).Child("yaml")
	all, _ := env.Compile(path, written[last]["yaml"])
	errs := membersMistakes(r.Path.Child(path.String()), all, groupMistakes)

	return &plan.Inventory{
		Path: path.String(), Groups: all.Fields(), Beside: last > 0 || r.Object["project"] != nil,
	}, []*expression.Template{all}, errs
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
