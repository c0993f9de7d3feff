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

// inventoriesOf returns the inventories of a run, as the input has them.
func inventoriesOf(r input.Run) []map[string]any {
	list, _ := r.Object[fields.Inventories].([]any)
	all := make([]map[string]any, len(list))

	for i := range list {
		all[i], _ = list[i].(map[string]any)
	}

	return all
}

// setInventories sets the inventories in the parameters of an AnsibleRun, except one in YAML, which is compiled.
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

	parameters[fields.Inventories] = refs
}

// inventory compiles the last inventory of a run if it is in YAML; nil otherwise.
func (c compiler) inventory(r input.Run) *plan.Value {
	written := inventoriesOf(r)
	last := len(written) - 1

	if last < 0 || written[last]["yaml"] == nil {
		return nil
	}

	path := field.NewPath(fields.Inventories).Index(last).Child("yaml")
	all := c.compile(path, written[last]["yaml"])
	c.members(r.Path.Child(path.String()), all, c.group)

	return &plan.Value{Template: all, Required: true, Inventory: &plan.Inventory{
		Path: path.String(), Groups: all.Fields, Beside: last > 0 || r.Object["project"] != nil,
	}}
}

// group reports mistakes in a group.
func (c compiler) group(path *field.Path, t *expression.Template) {
	c.typed(path, t, expression.Object)

	for _, part := range manifest.SortedKeys(t.Fields) {
		below, at := t.Fields[part], path.Child(part)

		switch part {
		case plan.GroupHosts:
			c.typed(at, below, expression.Object, expression.Array)
			c.members(at, below, c.hostVars)
		case plan.GroupVars:
			c.hostVars(at, below)
			c.groupVars(at, below)
		case plan.GroupChildren:
			c.typed(at, below, expression.Object)
			c.members(at, below, c.group)
		default:
			c.add(field.Forbidden(at, "a group has hosts, vars and children only"))
		}
	}
}

// members reports mistakes in groups or hosts with literal names.
func (c compiler) members(path *field.Path, t *expression.Template, of func(*field.Path, *expression.Template)) {
	for _, name := range manifest.SortedKeys(t.Fields) {
		c.forbid(path.Child(name), ansible.CheckWord(name))
		of(path.Child(name), t.Fields[name])
	}
}

// hostVars reports mistakes in variables of a host or a group.
func (c compiler) hostVars(path *field.Path, t *expression.Template) {
	c.typed(path, t, expression.Object)

	for _, name := range manifest.SortedKeys(t.Fields) {
		c.variable(path.Child(name), name, t.Fields[name], "")
	}
}

// groupVars reports computed connection variables of a group. They would also apply to hosts of other inventories.
func (c compiler) groupVars(path *field.Path, t *expression.Template) {
	for _, name := range manifest.SortedKeys(t.Fields) {
		if ansible.IsConnection(name) && t.Fields[name].Computed {
			c.add(field.Forbidden(path.Child(name),
				"an expression cannot say how all hosts of a group are reached: set the variable for each host"))
		}
	}
}
