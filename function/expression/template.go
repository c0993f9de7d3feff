package expression

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// A Template is a JSON value with strings that may hold expressions. It is safe for concurrent use.
type Template struct {
	path string

	// One of literal, fields, items and parts is set; names are those of the
	// fields, sorted.
	literal any
	fields  map[string]*Template
	names   []string
	items   []*Template
	parts   []compiled

	computed bool
	// runs and required resources that the expressions refer to.
	runs, required map[string]bool
}

// A compiled part of a string: text, or an expression.
type compiled struct {
	text    string
	program *program
}

// Compile a JSON value. The errors are all mistakes in its expressions.
func (e *Environment) Compile(at *field.Path, v any) (*Template, field.ErrorList) {
	t := &Template{path: at.String(), literal: v}

	var errs field.ErrorList

	switch v := v.(type) {
	case map[string]any:
		t.fields = make(map[string]*Template, len(v))
		t.names = slices.Sorted(maps.Keys(v))

		for _, k := range t.names {
			if strings.Contains(k, "${") {
				errs = append(errs, field.Invalid(at, k, misplaced(k)))
			}

			f, ferrs := e.Compile(at.Child(k), v[k])
			errs = append(errs, ferrs...)
			t.fields[k] = f
			t.computed = t.computed || f.computed
		}
	case []any:
		t.items = make([]*Template, len(v))

		for i := range v {
			item, ierrs := e.Compile(at.Index(i), v[i])
			errs = append(errs, ierrs...)
			t.items[i] = item
			t.computed = t.computed || item.computed
		}
	case string:
		errs = e.compileString(t, at, v)
	}

	t.runs, t.required = map[string]bool{}, map[string]bool{}

	for p := range t.programs {
		join(t.runs, p.uses.names[rootRuns])
		join(t.required, p.uses.names[rootRequired])
	}

	return t, errs
}

// misplaced says what is wrong with a name that holds the start of an
// expression.
func misplaced(name string) string {
	if _, err := split(name); err != nil {
		return "YAML has split an expression at its colon: an expression with a colon needs quotes around it, as in '${…}'"
	}

	return "the names of fields are literal: they cannot hold an expression"
}

func (e *Environment) compileString(t *Template, at *field.Path, s string) field.ErrorList {
	parts, err := split(s)
	if err != nil {
		return field.ErrorList{field.Invalid(at, s, err.Error())}
	}

	var errs field.ErrorList

	t.literal = ""

	for _, p := range parts {
		if !p.expression {
			t.parts = append(t.parts, compiled{text: p.text})
			continue
		}

		t.computed = true

		prg, perrs := e.compile(at, p.text)
		errs = append(errs, perrs...)
		t.parts = append(t.parts, compiled{program: prg})
	}

	return errs
}

// Path of the value.
func (t *Template) Path() string {
	return t.path
}

// Computed is true when there is an expression in the value.
func (t *Template) Computed() bool {
	return t.computed
}

// Fields of the value, if it is an object.
func (t *Template) Fields() map[string]*Template {
	return t.fields
}

// Items of the value, if it is a list.
func (t *Template) Items() []*Template {
	return t.items
}

// Runs that the expressions refer to, by name: true when one of them needs the
// run to be there, and none asks whether it is. They must not be changed.
func (t *Template) Runs() map[string]bool { return t.runs }

// Sets are the runs, by name, of which the expressions refer to more than the member
// with the key of the item.
func (t *Template) Sets() map[string]bool {
	sets := map[string]bool{}

	for p := range t.programs {
		maps.Copy(sets, p.uses.sets)
	}

	return sets
}

// Published are the runs, by name, of which the expressions refer to the connection details, or to the Secret that has
// them.
func (t *Template) Published() map[string]bool {
	published := map[string]bool{}

	for p := range t.programs {
		maps.Copy(published, p.uses.published)
	}

	return published
}

// Defaulted returns the paths of the fields of the XR, of required resources, of the
// environment and of the context that the expressions do without when they are not there, as
// in xr.spec.?users.orValue([]).
func (t *Template) Defaulted() [][]string {
	var all [][]string
	for p := range t.programs {
		all = append(all, p.defaulted...)
	}

	return all
}

// PathTo the first expression that cannot be without a run; "" when there is none.
func (t *Template) PathTo(run string) string {
	for at, p := range t.expressions {
		if p.uses.names[rootRuns][run] {
			return at.path
		}
	}

	return ""
}

// Required resources that the expressions refer to, by name: true when one of
// them needs the resource to be there, and none asks whether it is. They must not
// be changed.
func (t *Template) Required() map[string]bool { return t.required }

// join what one expression refers to with what others do.
func join(all, more map[string]bool) {
	for name, needed := range more {
		all[name] = all[name] || needed
	}
}

// ResourceNames are the composition resource names of what other steps compose that
// the expressions refer to: literal ones (true), and expressions that compute them.
func (t *Template) ResourceNames() map[string]bool {
	names := map[string]bool{}

	for p := range t.programs {
		for name := range p.uses.names[rootResources] {
			names[name] = true
		}

		for _, r := range p.resources {
			names[r.show()] = false
		}
	}

	return names
}

// Resources that the expressions refer to, by their composition resource names: true
// when one of them needs the resource to be there. The problems are those of names
// that are computed.
func (t *Template) Resources(ctx context.Context, data Data) (map[string]bool, []Problem) {
	resources := map[string]bool{}

	var problems []Problem

	for at, p := range t.expressions {
		if problem := p.resourcesIn(ctx, &data, resources); problem != nil {
			problems = append(problems, at.problem(*problem))
		}
	}

	return resources, problems
}

// Each is true when an expression refers to each.
func (t *Template) Each() bool {
	for p := range t.programs {
		if p.uses.each {
			return true
		}
	}

	return false
}

// Identifies is true when the expressions refer to nothing but what the XR is
// called, its claim included, and the key of an item: a value that stays the same as
// long as the XR is there.
func (t *Template) Identifies() bool {
	for p := range t.programs {
		if p.uses.beyond {
			return false
		}
	}

	return true
}

// Has is true when a string has the value of this expression in it.
func (t *Template) Has(source string) bool {
	for p := range t.programs {
		if strings.TrimSpace(p.source) == source {
			return true
		}
	}

	return false
}

// Text returns all that is literal: texts beside expressions, and names.
func (t *Template) Text() []string {
	var text []string

	for c := range t.walk {
		text = append(text, c.names...)

		for _, p := range c.parts {
			text = append(text, p.text)
		}
	}

	return text
}

// Literals calls yield with each text beside expressions, and its path.
func (t *Template) Literals(yield func(path, text string) bool) {
	for c := range t.walk {
		for _, p := range c.parts {
			if p.program == nil && !yield(c.path, p.text) {
				return
			}
		}
	}
}

// programs of all expressions.
func (t *Template) programs(yield func(*program) bool) {
	for _, p := range t.expressions {
		if !yield(p) {
			return
		}
	}
}

// expressions calls yield with each program, and the template that it is in.
func (t *Template) expressions(yield func(*Template, *program) bool) {
	for c := range t.walk {
		for _, p := range c.parts {
			if p.program != nil && !yield(c, p.program) {
				return
			}
		}
	}
}

// walk this template and all below it.
func (t *Template) walk(yield func(*Template) bool) {
	t.visit(yield)
}

func (t *Template) visit(yield func(*Template) bool) bool {
	if !yield(t) {
		return false
	}

	for _, name := range t.names {
		if !t.fields[name].visit(yield) {
			return false
		}
	}

	return !slices.ContainsFunc(t.items, func(i *Template) bool { return !i.visit(yield) })
}

// MayBe is false for a value that the template cannot have, whatever its expressions
// are worth.
func (t *Template) MayBe(v any) bool {
	switch {
	case t.fields != nil:
		return t.mayBeObject(v)
	case t.items != nil:
		list, ok := v.([]any)
		// An item may be left out.
		return ok && (t.computed || slices.EqualFunc(t.items, list, (*Template).MayBe))
	case len(t.parts) == 1 && t.parts[0].program != nil:
		return true
	case len(t.parts) == 1:
		return v == t.parts[0].text
	case len(t.parts) > 0:
		s, ok := v.(string)
		return ok && strings.HasPrefix(s, t.parts[0].text) && strings.HasSuffix(s, t.parts[len(t.parts)-1].text)
	}

	return toNumber(t.literal) == toNumber(v)
}

func (t *Template) mayBeObject(v any) bool {
	object, ok := v.(map[string]any)
	if !ok {
		return false
	}

	for name := range object {
		if t.fields[name] == nil {
			return false
		}
	}

	for name, f := range t.fields {
		below, ok := object[name]
		if !ok && !f.computed || ok && !f.MayBe(below) {
			return false
		}
	}

	return true
}

// toNumber returns an integer as what JSON has for it.
func toNumber(v any) any {
	if i, ok := v.(int64); ok {
		return float64(i)
	}

	return v
}

// Evaluate the template. The value is JSON, with all numbers float64. There is
// none (false) when its expression is optional.none(); such fields and items
// are left out of the values around them. The problems are those of all
// expressions below.
func (t *Template) Evaluate(ctx context.Context, data Data) (v any, ok bool, problems []Problem) {
	return t.evaluate(ctx, &data)
}

func (t *Template) evaluate(ctx context.Context, data *Data) (v any, ok bool, problems []Problem) {
	switch {
	case t.fields != nil:
		m := make(map[string]any, len(t.fields))

		for _, k := range t.names {
			v, ok, ps := t.fields[k].evaluate(ctx, data)
			problems = append(problems, ps...)

			if ok {
				m[k] = v
			}
		}

		return m, true, problems
	case t.items != nil:
		l := make([]any, 0, len(t.items))

		for _, i := range t.items {
			v, ok, ps := i.evaluate(ctx, data)
			problems = append(problems, ps...)

			if ok {
				l = append(l, v)
			}
		}

		return l, true, problems
	case t.expression() != nil:
		v, ok, problem := t.expression().result(ctx, data, false)
		if problem != nil {
			return nil, false, []Problem{t.problem(*problem)}
		}

		return v, ok, nil
	case len(t.parts) > 0:
		return t.evaluateString(ctx, data)
	}

	if i, ok := t.literal.(int64); ok && !data.exact {
		return float64(i), true, nil
	}

	return t.literal, true, nil
}

func (t *Template) evaluateString(ctx context.Context, data *Data) (any, bool, []Problem) {
	var (
		s        strings.Builder
		problems []Problem
	)

	for _, p := range t.parts {
		s.WriteString(p.text)

		if p.program == nil {
			continue
		}

		v, _, problem := p.program.result(ctx, data, true)
		if problem != nil {
			problems = append(problems, t.problem(*problem))
			continue
		}

		text, _ := v.(string)
		s.WriteString(text)
	}

	if len(problems) > 0 {
		return nil, false, problems
	}

	return s.String(), true, nil
}

// problem of an expression, with its path.
func (t *Template) problem(p Problem) Problem {
	p.Path = t.path
	return p
}

// expression that the value is, as a whole; nil if it is something else.
func (t *Template) expression() *program {
	if len(t.parts) != 1 {
		return nil
	}

	return t.parts[0].program
}

// String returns a string as it was written, but for its white space, and the type
// of anything else.
func (t *Template) String() string {
	if len(t.parts) == 0 {
		return string(t.Type())
	}

	var s strings.Builder

	for _, p := range t.parts {
		if p.program != nil {
			s.WriteString(p.program.show())
			continue
		}

		s.WriteString(strings.ReplaceAll(p.text, "${", "$${"))
	}

	return s.String()
}

// Type of the value, as far as it is known: that of all values which are there.
func (t *Template) Type() Type { return typeOf(t.declared()) }

// Is one of these types, as far as it is known.
func (t *Template) Is(these ...Type) bool {
	is := t.Type()
	return is == "" || slices.Contains(these, is)
}

// ItemType returns the type of the items of an array, as far as it is known.
func (t *Template) ItemType() Type {
	if d := t.declared(); t.items == nil && d.IsList() {
		return typeOf(d.ElemType)
	}

	var is Type

	for i, item := range t.items {
		if i > 0 && item.Type() != is {
			return ""
		}

		is = item.Type()
	}

	return is
}

// Known returns the names of the fields that an object can have; none when it
// can have any.
func (t *Template) Known() []string {
	if d := t.declared(); d.IsObject() {
		return slices.Sorted(maps.Keys(d.Fields))
	}

	return nil
}

// declared returns the type of the value, as far as it is known.
func (t *Template) declared() *apiservercel.DeclType {
	p := t.expression()

	switch {
	case p != nil:
		return p.declared
	case t.fields != nil:
		return apiservercel.NewMapType(apiservercel.StringType, apiservercel.DynType, -1)
	case t.items != nil:
		return apiservercel.NewListType(apiservercel.DynType, -1)
	case t.computed && len(t.parts) == 1:
		// It has a mistake.
		return apiservercel.DynType
	case len(t.parts) > 0:
		return apiservercel.StringType
	}

	switch t.literal.(type) {
	case bool:
		return apiservercel.BoolType
	case int64:
		return apiservercel.IntType
	case float64:
		return apiservercel.DoubleType
	case string:
		return apiservercel.StringType
	}

	return apiservercel.DynType
}
