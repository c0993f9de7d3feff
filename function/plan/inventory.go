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
	// A value that is nested is indented, and takes more than where it came from.
	data.Budget.Write(len(text))

	return text, nil
}

// literals adds the literal names of groups, and those of what is in them.
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

// name adds the computed name of a host or a group. It must be a new one: variables of a host or a group that is there,
// a password for example, would go where the new ones say. That holds for a computed one that is there, too.
//
// It is false for a name that is refused.
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

// open what is at a place. Of a template that is written out these are its fields or items, as templates, and of any
// other one its value. It is computed if an expression has made it. There is none (false) for a value that is left out,
// or has problems.
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

// object returns a value that must be an object or null.
func (e *evaluation) object(path string, v any) map[string]any {
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		e.invalid(path, errors.New("must be an object"))
	}

	return m
}

// group evaluates a group, or checks a computed one.
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

// hosts of a group: a map of names to variables, or a list of names.
func (e *evaluation) hosts(path string, v any, isComputed bool) any {
	v, isComputed, ok := e.open(v, isComputed)
	if !ok {
		return nil
	}

	out := map[string]any{}

	// Another text for the same hosts would have runs again.
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

// children of a group.
func (e *evaluation) children(path string, v any, isComputed bool) any {
	v, isComputed, ok := e.open(v, isComputed)
	if !ok {
		return nil
	}

	out := map[string]any{}
	groups := e.object(path, v)

	for _, name := range manifest.SortedKeys(groups) {
		// Nothing below a name that is refused is evaluated.
		if isComputed && !e.name(name, ansible.CheckGroup, computed{path: path, group: true}) {
			continue
		}

		if g, ok := e.group(path+"."+name, groups[name], isComputed); ok {
			out[name] = g
		}
	}

	return out
}

// vars of a host or a group. Computed values are marked as unsafe. Where hosts are, their variables say how they are
// reached: computed ones only by names that are literal, or if the host is computed, too.
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
