package expression

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

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
		c.errs = append(c.errs,
			field.Invalid(c.at.Child(name), show(v), "a local cannot depend on itself: "+strings.Join(cycle, " → ")))

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

// show a value in a message, if it is a text.
func show(v any) string {
	s, _ := v.(string)
	return s
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
