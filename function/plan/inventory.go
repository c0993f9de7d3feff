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

// An Inventory has groups with hosts, vars and children. Ansible reads its literal values as
// in any inventory. Computed values come from untrusted authors: they may name new hosts, new
// groups and variables, of Ansible's own variables only those that say where to connect to one of
// these hosts, and none of their strings is templated.
// https://docs.ansible.com/ansible/latest/collections/ansible/builtin/yaml_inventory.html
type Inventory struct {
	// Path in the run.
	Path   string
	Groups map[string]*expression.Template
	// Beside is true if the run may have hosts, groups or their variables from elsewhere: from other
	// inventories, or from a project. Ansible knows these alone.
	Beside bool
}

// Parts of a group.
const (
	GroupHosts    = "hosts"
	GroupVars     = "vars"
	GroupChildren = "children"
)

// An evaluation of an inventory collects the problems.
type evaluation struct {
	ctx      context.Context //nolint:containedctx // It lives as long as one call.
	data     expression.Data
	problems []expression.Problem
	// literal hosts and groups, and the computed ones.
	literal  ansible.Names
	computed map[string]computed
}

// A computed host with its variables, or a computed group.
type computed struct {
	path  string
	group bool
	vars  map[string]any
}

// Evaluate the inventory as text.
func (i *Inventory) Evaluate(ctx context.Context, data expression.Data) (string, []expression.Problem) {
	e := &evaluation{ctx: ctx, data: data, computed: map[string]computed{}}
	groups := map[string]any{}

	e.literals(i.Groups)

	for _, name := range manifest.SortedKeys(i.Groups) {
		if g, ok := e.group(i.Path+"."+name, i.Groups[name]); ok {
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
	// A value that is nested is indented, and takes more than where it came from.
	data.Budget.Write(len(text))

	return text, nil
}

// literals adds the literal names of groups, and those of what is in them.
func (e *evaluation) literals(groups map[string]*expression.Template) {
	for name, g := range groups {
		e.literal.Add(name)

		if children := g.Fields()[GroupChildren]; children != nil {
			e.literals(children.Fields())
		}

		hosts := g.Fields()[GroupHosts]
		if hosts == nil {
			continue
		}

		for name := range hosts.Fields() {
			e.literal.Add(name)
		}

		for _, item := range hosts.Items() {
			if !item.Computed() {
				e.literal.Add(strings.Join(item.Text(), ""))
			}
		}
	}
}

// name adds the computed name of a host or a group. It must be a new one: variables of a host or a group that is there,
// a password for example, would go where the new ones say. That holds for a computed one that is there, too.
//
// It is false for a name that is refused, so that nothing below it is evaluated.
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

// same is true for one host that is in two groups.
func (c computed) same(other computed) bool {
	return !c.group && !other.group && (len(c.vars)+len(other.vars) == 0 || reflect.DeepEqual(c.vars, other.vars))
}

func (e *evaluation) invalid(path string, err error) {
	e.problems = append(e.problems, expression.InvalidAt(path, err))
}

func (e *evaluation) value(t *expression.Template) (any, bool) {
	v, ok, problems := t.Evaluate(e.ctx, e.data)
	e.problems = append(e.problems, problems...)

	return v, ok && len(problems) == 0
}

// group evaluates a group that has a literal name.
func (e *evaluation) group(path string, t *expression.Template) (any, bool) {
	if t.Fields() == nil {
		v, ok := e.value(t)
		if !ok {
			return nil, false
		}

		return e.groupData(path, v), true
	}

	out := map[string]any{}

	for _, part := range manifest.SortedKeys(t.Fields()) {
		at, below := path+"."+part, t.Fields()[part]

		switch part {
		case GroupVars:
			out[part] = e.vars(at, below)
		case GroupHosts:
			out[part] = e.members(at, below, e.hostsData,
				func(at string, t *expression.Template) (any, bool) { return e.vars(at, t), true })
		case GroupChildren:
			out[part] = e.members(at, below, e.childrenData, e.group)
		}
	}

	return out, true
}

// members evaluates the hosts or children of a group: one by one when their names are
// literal, and otherwise as one value, which data checks.
func (e *evaluation) members(path string, t *expression.Template, data func(string, any) any,
	member func(string, *expression.Template) (any, bool),
) any {
	if t.Items() != nil {
		return e.list(path, t.Items())
	}

	if t.Fields() == nil {
		v, ok := e.value(t)
		if !ok {
			return nil
		}

		return data(path, v)
	}

	out := map[string]any{}

	for _, name := range manifest.SortedKeys(t.Fields()) {
		if v, ok := member(path+"."+name, t.Fields()[name]); ok {
			out[name] = v
		}
	}

	return out
}

// list evaluates the names of hosts one by one.
func (e *evaluation) list(path string, items []*expression.Template) any {
	hosts := map[string]any{}

	for i, item := range items {
		v, ok := e.value(item)
		if !ok {
			continue
		}

		at := path + "[" + strconv.Itoa(i) + "]"
		name, ok := v.(string)

		switch {
		case !ok:
			e.invalid(at, errors.New("must be the name of a host"))
		case item.Computed():
			e.name(name, ansible.CheckHost, computed{path: at})
		}

		hosts[name] = nil
	}

	return hosts
}

// vars evaluates the variables of a host or a group.
func (e *evaluation) vars(path string, t *expression.Template) any {
	if t.Fields() == nil {
		v, ok := e.value(t)
		if !ok {
			return nil
		}

		return e.varsData(path, v, false)
	}

	out := map[string]any{}

	for _, name := range manifest.SortedKeys(t.Fields()) {
		v, ok := e.value(t.Fields()[name])
		if !ok {
			continue
		}

		if !t.Fields()[name].Computed() {
			out[name] = v
			continue
		}

		if err := ansible.CheckConnection(name, v); err != nil {
			e.invalid(path+"."+name, err)
		}

		out[name] = yamltext.Unsafe{Value: v}
	}

	return out
}

// object returns a value that must be an object or null.
func (e *evaluation) object(path string, v any) map[string]any {
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		e.invalid(path, errors.New("must be an object"))
	}

	return m
}

// groupData checks a group that is computed as a whole, and marks its values as unsafe.
func (e *evaluation) groupData(path string, v any) any {
	out := map[string]any{}
	g := e.object(path, v)

	for _, part := range manifest.SortedKeys(g) {
		at := path + "." + part

		switch part {
		case GroupVars:
			out[part] = e.varsData(at, g[part], false)
		case GroupHosts:
			out[part] = e.hostsData(at, g[part])
		case GroupChildren:
			out[part] = e.childrenData(at, g[part])
		default:
			e.invalid(path, errors.Errorf("a group has hosts, vars and children only, not %.80q", part))
		}
	}

	return out
}

// hostsData checks computed hosts: a map of names to variables, or a list of names.
func (e *evaluation) hostsData(path string, v any) any {
	if list, ok := v.([]any); ok {
		hosts := make(map[string]any, len(list))

		for i, item := range list {
			name, ok := item.(string)
			if !ok {
				e.invalid(path+"["+strconv.Itoa(i)+"]", errors.New("must be the name of a host"))
				continue
			}

			hosts[name] = nil
		}

		v = hosts
	}

	out := map[string]any{}
	hosts := e.object(path, v)

	for _, name := range manifest.SortedKeys(hosts) {
		vars, _ := hosts[name].(map[string]any)
		e.name(name, ansible.CheckHost, computed{path: path, vars: vars})

		out[name] = e.varsData(path+"."+name, hosts[name], true)
	}

	return out
}

func (e *evaluation) childrenData(path string, v any) any {
	out := map[string]any{}
	groups := e.object(path, v)

	for _, name := range manifest.SortedKeys(groups) {
		if e.name(name, ansible.CheckGroup, computed{path: path, group: true}) {
			out[name] = e.groupData(path+"."+name, groups[name])
		}
	}

	return out
}

// varsData checks computed variables. Only those of a computed host say how it is reached.
func (e *evaluation) varsData(path string, v any, host bool) any {
	vars := maps.Clone(e.object(path, v))

	for _, name := range manifest.SortedKeys(vars) {
		if host && ansible.IsConnection(name) {
			if err := ansible.CheckConnection(name, vars[name]); err != nil {
				e.invalid(path+"."+name, err)
			}
		} else if err := ansible.CheckVariable(name); err != nil {
			e.invalid(path, err)
		}

		vars[name] = yamltext.Unsafe{Value: vars[name]}
	}

	return vars
}
