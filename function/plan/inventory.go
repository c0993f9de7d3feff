package plan

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansible"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// An Inventory is the compiled YAML of an inventory: groups with hosts, vars and children. Ansible reads its literal
// values as in any inventory. Computed values come from untrusted authors, with these limits:
//   - They may name only new hosts and new groups.
//   - They may not name Ansible's own variables, except the connection variables of a new host.
//   - Ansible does not template their strings.
//
// https://docs.ansible.com/ansible/latest/collections/ansible/builtin/yaml_inventory.html
type Inventory struct {
	// Path is the path of the inventory in the run.
	Path string
	// Groups are the top-level groups by name.
	Groups map[string]*expression.Template
	// Beside is true if other inventories or a project may have further hosts and groups. Only Ansible knows these.
	Beside bool
}

// Fields of a group.
const (
	GroupHosts    = "hosts"
	GroupVars     = "vars"
	GroupChildren = "children"
)

// An evaluation evaluates an inventory and collects the problems.
type evaluation struct {
	ctx      context.Context //nolint:containedctx // It lives as long as one call.
	data     expression.Data
	problems []expression.Problem
	// literal has the literal names of hosts and groups, computed the computed ones.
	literal  ansible.Names
	computed map[string]computed
}

// A computed is a computed host with its variables, or a computed group.
type computed struct {
	path  string
	group bool
	vars  map[string]any
}

// Evaluate returns the inventory for the data of an XR, as YAML for Ansible.
func (i *Inventory) Evaluate(ctx context.Context, data expression.Data) (string, []expression.Problem) {
	e := &evaluation{ctx: ctx, data: data, computed: map[string]computed{}}
	groups := map[string]any{}

	e.literals(i.Groups)

	for _, name := range manifest.SortedKeys(i.Groups) {
		if g, ok := e.group(i.Path+"."+name, i.Groups[name], false); ok {
			groups[name] = g
		}
	}

	if len(e.problems) > 0 {
		return "", e.problems
	}

	if i.Beside && len(e.computed) > 0 {
		groups = ansible.WithNames(groups, slices.Sorted(maps.Keys(e.computed)))
	}

	text := ansible.Inventory(groups)
	// Indentation makes the text larger than the values in it.
	data.Budget.Write(len(text))

	return text, nil
}

// literals adds the literal names of groups, and of the hosts and groups in them.
func (e *evaluation) literals(groups map[string]*expression.Template) {
	for name, g := range groups {
		e.literal.Add(name)

		if children := g.Fields[GroupChildren]; children != nil {
			e.literals(children.Fields)
		}

		hosts := g.Fields[GroupHosts]
		if hosts == nil {
			continue
		}

		for name := range hosts.Fields {
			e.literal.Add(name)
		}

		for _, item := range hosts.Items {
			if !item.Computed {
				e.literal.Add(strings.Join(item.Text(), ""))
			}
		}
	}
}

// name adds the computed name of a host or a group, or adds a problem and returns false. Neither a literal nor another
// computed host or group may have the name: computed connection variables could send the variables of that host, for
// example a password, to another address.
func (e *evaluation) name(name string, check func(string) error, c computed) bool {
	err := check(name)
	first, again := e.computed[name]

	switch {
	case err != nil:
	case e.literal.Has(name):
		err = errors.Errorf("%q cannot be computed: the inventory has a host or a group of that name", name)
	case again && !first.same(c):
		err = errors.Errorf("%q cannot be computed again: %s has it, and only a host with the same variables may be "+
			"in several places", name, first.path)
	}

	if err != nil {
		e.invalid(c.path, err)
	}

	if !again {
		e.computed[name] = c
	}

	return err == nil
}

// same is true for a host in two groups: with variables in none or with equal variables in both.
func (c computed) same(other computed) bool {
	return !c.group && !other.group && (len(c.vars)+len(other.vars) == 0 || reflect.DeepEqual(c.vars, other.vars))
}

func (e *evaluation) invalid(path string, err error) {
	e.problems = append(e.problems, expression.InvalidAt(path, err))
}

// open returns the next level of a part of the inventory: the fields or items of a template that has some, as
// templates, and otherwise its value. A value that is not a template is returned as it is. computed is true for the
// result of an expression. ok is false for a value that is left out or has problems.
func (e *evaluation) open(v any, isComputed bool) (opened any, computed, ok bool) {
	t, isTemplate := v.(*expression.Template)

	switch {
	case !isTemplate:
		return v, isComputed, true
	case t.Fields != nil:
		fields := make(map[string]any, len(t.Fields))
		for name, f := range t.Fields {
			fields[name] = f
		}

		return fields, false, true
	case t.Items != nil:
		items := make([]any, len(t.Items))
		for i, item := range t.Items {
			items[i] = item
		}

		return items, false, true
	}

	v, ok = e.value(t)

	return v, t.Computed, ok
}

func (e *evaluation) value(t *expression.Template) (any, bool) {
	v, ok, problems := t.Evaluate(e.ctx, e.data)
	e.problems = append(e.problems, problems...)

	return v, ok && len(problems) == 0
}

// object returns a value as an object. It adds a problem for a value that is neither an object nor null.
func (e *evaluation) object(path string, v any) map[string]any {
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		e.invalid(path, errors.New("must be an object"))
	}

	return m
}

// group evaluates a group. ok is false for a group that is left out or has problems.
func (e *evaluation) group(path string, v any, isComputed bool) (any, bool) {
	v, isComputed, ok := e.open(v, isComputed)
	if !ok {
		return nil, false
	}

	out := map[string]any{}
	g := e.object(path, v)

	for _, part := range manifest.SortedKeys(g) {
		at := path + "." + part

		switch part {
		case GroupVars:
			out[part] = e.vars(at, g[part], isComputed, false)
		case GroupHosts:
			out[part] = e.hosts(at, g[part], isComputed)
		case GroupChildren:
			out[part] = e.children(at, g[part], isComputed)
		default:
			e.invalid(path, errors.Errorf("a group has hosts, vars and children only, not %.80q", part))
		}
	}

	return out, true
}

// hosts evaluates the hosts of a group: a map from names to variables, or a list of names.
func (e *evaluation) hosts(path string, v any, isComputed bool) any {
	v, isComputed, ok := e.open(v, isComputed)
	if !ok {
		return nil
	}

	out := map[string]any{}

	// A host of a computed list has {} and not null: another text for the same hosts would run the content of existing
	// AnsibleRuns again.
	var none any
	if isComputed {
		none = map[string]any{}
	}

	list, isList := v.([]any)
	for i := range list {
		item, isComputed, ok := e.open(list[i], isComputed)
		if !ok {
			continue
		}

		at := path + "[" + strconv.Itoa(i) + "]"
		name, isText := item.(string)

		switch {
		case !isText:
			e.invalid(at, errors.New("must be the name of a host"))
		case isComputed:
			e.name(name, ansible.CheckHost, computed{path: at})
		}

		out[name] = none
	}

	if isList {
		return out
	}

	hosts := e.object(path, v)

	for _, name := range manifest.SortedKeys(hosts) {
		if isComputed {
			vars, _ := hosts[name].(map[string]any)
			e.name(name, ansible.CheckHost, computed{path: path, vars: vars})
		}

		out[name] = e.vars(path+"."+name, hosts[name], isComputed, isComputed)
	}

	return out
}

// children evaluates the children of a group.
func (e *evaluation) children(path string, v any, isComputed bool) any {
	v, isComputed, ok := e.open(v, isComputed)
	if !ok {
		return nil
	}

	out := map[string]any{}
	groups := e.object(path, v)

	for _, name := range manifest.SortedKeys(groups) {
		// A group with a refused name is not evaluated.
		if isComputed && !e.name(name, ansible.CheckGroup, computed{path: path, group: true}) {
			continue
		}

		if g, ok := e.group(path+"."+name, groups[name], isComputed); ok {
			out[name] = g
		}
	}

	return out
}

// vars evaluates the variables of a host or a group. Computed values are marked as unsafe. A connection variable with a
// computed name is allowed only for a computed host (ofHost).
func (e *evaluation) vars(path string, v any, isComputed, ofHost bool) any {
	v, isComputed, ok := e.open(v, isComputed)
	if !ok {
		return nil
	}

	out := map[string]any{}
	vars := e.object(path, v)

	for _, name := range manifest.SortedKeys(vars) {
		value, unsafe := vars[name], isComputed

		if t, isTemplate := value.(*expression.Template); isTemplate {
			if value, ok = e.value(t); !ok {
				continue
			}

			unsafe = t.Computed
		}

		if !unsafe {
			out[name] = value
			continue
		}

		at, check := path+"."+name, ansible.CheckConnection(name, value)
		if isComputed && (!ofHost || !ansible.IsConnection(name)) {
			at, check = path, ansible.CheckVariable(name)
		}

		if check != nil {
			e.invalid(at, check)
		}

		out[name] = yamltext.Unsafe{Value: value}
	}

	return out
}
