package expression

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crossplane/function-sdk-go/errors"
)

// Locals are values that an input has names for. Each is JSON with strings that may hold expressions, which may refer
// to other locals.
type Locals struct {
	values map[string]any
	// compiled locals by name.
	compiled map[string]*Template
	// declared says of which types they are, and loose that there are any.
	declared, loose *apiservercel.DeclType
}

// NewLocals returns Locals of these values by name, which are not compiled yet.
func NewLocals(values map[string]any) *Locals {
	names := slices.Collect(maps.Keys(values))

	return &Locals{
		values:   values,
		compiled: map[string]*Template{},
		declared: objectType("Locals", apiservercel.DynType, names...),
		loose:    objectType("Locals", apiservercel.DynType, names...),
	}
}

// LocalValues are the values of Locals for an XR. Each is computed when it is asked
// for first, and then never again. They must not be used concurrently.
type LocalValues struct {
	locals *Locals
	data   Data
	values map[string]local
}

// For data that their expressions see.
func (l *Locals) For(data Data) *LocalValues {
	v := &LocalValues{locals: l, data: data, values: map[string]local{}}
	// An integer stays one, and a double too.
	v.data.Locals, v.data.exact = v, true

	return v
}

// local of a name. One that is not known has no value.
func (l *LocalValues) local(ctx context.Context, name string) local {
	if v, ok := l.values[name]; ok {
		return v
	}

	compiled, known := l.locals.compiled[name]
	if !known {
		return local{}
	}

	v, ok, problems := compiled.evaluate(ctx, &l.data)
	out := local{value: v, ok: ok}

	for p := range compiled.programs {
		out.waits = out.waits || p.uses.waits
	}

	if len(problems) > 0 {
		out.problem = &Problem{Kind: problems[0].Kind, Message: problems[0].String(), Plain: problems[0].Plain}
	}

	l.values[name] = out

	return out
}

// Templates of the locals.
func (l *Locals) Templates() []*Template {
	return slices.Collect(maps.Values(l.compiled))
}

// at returns the local at a path, or the part of it that is written there, and the names of
// the path that lead further.
func (l *Locals) at(path []string) (*Template, []string) {
	t := &Template{fields: l.compiled}

	for len(path) > 0 && t.fields[path[0]] != nil {
		t, path = t.fields[path[0]], path[1:]
	}

	return t, path
}

// LocalName says what is wrong with the name of a local.
func LocalName(name string) error {
	if !isSelectable(name) {
		return errors.New("the name of a local must be letters, digits and _, as in locals.fqdn")
	}

	return nil
}

// CompileLocals compiles the Locals that this Environment declares: only then do
// this and others that declare the same know of which types they are. The errors
// are all mistakes in them, such as one that refers to itself.
func (e *Environment) CompileLocals(at *field.Path) field.ErrorList {
	e.inLocals = true
	defer func() { e.inLocals = false }()

	c := &localsCompiler{Environment: e, at: at, state: map[string]bool{}}

	for _, name := range slices.Sorted(maps.Keys(e.locals.values)) {
		c.compile(name)
	}

	return c.errs
}

// A localsCompiler compiles each local after those that it refers to.
type localsCompiler struct {
	*Environment

	at   *field.Path
	errs field.ErrorList
	// state is false for locals that are being compiled, and true for others that
	// were.
	state map[string]bool
	// chain of those that are being compiled.
	chain []string
}

func (c *localsCompiler) compile(name string) {
	v, ok := c.locals.values[name]
	if !ok || c.state[name] {
		return
	}

	if _, ok := c.state[name]; ok {
		cycle := append(c.chain[slices.Index(c.chain, name):], name) //nolint:gocritic // The chain is not used further.
		text, _ := v.(string)
		c.errs = append(c.errs,
			field.Invalid(c.at.Child(name), text, "a local cannot depend on itself: "+strings.Join(cycle, " → ")))

		return
	}

	c.state[name] = false
	c.chain = append(c.chain, name)

	for _, on := range c.refers(v) {
		c.compile(on)
	}

	t, errs := c.Compile(c.at.Child(name), v)
	c.errs = append(c.errs, errs...)
	c.locals.compiled[name] = t
	c.locals.declared.Fields[name] = declare(name, t.declared())

	c.chain = c.chain[:len(c.chain)-1]
	c.state[name] = true
}

// refers returns the names of the locals that the expressions in a value refer to.
func (c *localsCompiler) refers(v any) []string {
	var names []string

	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			names = append(names, c.refers(v[k])...)
		}
	case []any:
		for i := range v {
			names = append(names, c.refers(v[i])...)
		}
	case string:
		parts, _ := split(v)
		for _, p := range parts {
			if !p.expression {
				continue
			}

			// A mistake is told when it is compiled.
			parsed, issues := c.cel.Parse(p.text)
			if issues.Err() != nil {
				continue
			}

			selections, _ := selectionsIn(parsed.NativeRep())
			for _, s := range selections {
				if s.root == rootLocals && len(s.steps) > 0 {
					names = append(names, s.steps[0].name)
				}
			}
		}
	}

	return names
}
