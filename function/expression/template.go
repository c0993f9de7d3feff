package expression

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A Template is a JSON value with strings that may hold expressions. It is safe for concurrent use.
type Template struct {
	// Path of the value.
	Path string
	// Computed is true when there is an expression in the value.
	Computed bool
	// Fields of the value, if it is an object, and Items, if it is a list.
	Fields map[string]*Template
	Items  []*Template

	// literal value as it was written, and the names of its fields, which are sorted.
	literal any
	names   []string
	// parts of a string. An object and a list have those of all values below, and names are text, too.
	parts []part

	// schema of the value, as far as it is known.
	schema map[string]any
	// What all expressions below refer to.
	uses
}

// Compile a JSON value. The errors are all mistakes in its expressions.
func (e *Environment) Compile(at *field.Path, v any) (*Template, field.ErrorList) {
	t := &Template{Path: at.String(), literal: v, uses: newUses()}

	var errs field.ErrorList

	below := func(at *field.Path, v any) *Template {
		b, berrs := e.Compile(at, v)
		errs = append(errs, berrs...)
		t.parts = append(t.parts, b.parts...)
		t.Computed = t.Computed || b.Computed
		t.join(b.uses, false)

		return b
	}

	switch v := v.(type) {
	case bool:
		t.schema = typed(Boolean)
	case int64:
		t.schema = typed(Integer)
	case float64:
		t.schema = typed(Number)
	case map[string]any:
		t.schema = mapOf(nil)
		t.Fields = make(map[string]*Template, len(v))
		t.names = slices.Sorted(maps.Keys(v))

		for _, k := range t.names {
			if strings.Contains(k, "${") {
				errs = append(errs, field.Invalid(at, k, misplaced(k)))
			}

			t.parts = append(t.parts, part{text: k, path: t.Path})
			t.Fields[k] = below(at.Child(k), v[k])
		}
	case []any:
		t.schema = listOf(nil)
		t.Items = make([]*Template, len(v))

		for i := range v {
			t.Items[i] = below(at.Index(i), v[i])
		}
	case string:
		errs = e.compileString(t, at, v)
	}

	return t, errs
}

// misplaced says what is wrong with a name that holds the start of an expression.
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

	t.parts, t.schema = parts, typed(String)

	for i := range parts {
		if parts[i].path = t.Path; !parts[i].expression {
			continue
		}

		p := e.compile(parts[i].text)
		t.Computed, parts[i].program = true, p
		t.join(p.uses, false)

		// Each mistake shows the expression, and points into it.
		for _, m := range p.mistakes {
			errs = append(errs, field.Invalid(at, "${"+parts[i].text+"}", m))
		}

		if len(parts) == 1 {
			t.schema = p.schema
		}
	}

	return errs
}

// Has is true when a string has the value of this expression in it.
func (t *Template) Has(source string) bool {
	return slices.ContainsFunc(t.parts, func(p part) bool { return p.expression && strings.TrimSpace(p.text) == source })
}

// Texts calls yield with all that is literal, names and what is beside expressions, and its path.
func (t *Template) Texts(yield func(path, text string) bool) {
	for _, p := range t.parts {
		if !p.expression && !yield(p.path, p.text) {
			return
		}
	}
}

// Text returns all that is literal.
func (t *Template) Text() []string {
	var all []string
	for _, text := range t.Texts {
		all = append(all, text)
	}

	return all
}

// MayBe is false for a value that the template cannot have, whatever its expressions are worth.
func (t *Template) MayBe(v any) bool {
	if !t.Computed {
		literal, _, _ := t.Evaluate(context.Background(), Data{})
		return manifest.Equal(literal, v)
	}

	if _, isText := t.literal.(string); !isText || t.expression() != nil {
		return true
	}

	text, isText := v.(string)
	first, last := t.parts[0], t.parts[len(t.parts)-1]

	return isText && (first.expression || strings.HasPrefix(text, first.text)) &&
		(last.expression || strings.HasSuffix(text, last.text))
}

// Evaluate the template. The value is JSON, with all numbers float64. There is none (false) when its expression is
// optional.none(); such fields and items are left out of the values around them. The problems are those of all
// expressions below.
func (t *Template) Evaluate(ctx context.Context, data Data) (v any, ok bool, problems []Problem) {
	return t.evaluate(ctx, &data)
}

func (t *Template) evaluate(ctx context.Context, data *Data) (v any, ok bool, problems []Problem) {
	below := func(b *Template, add func(v any)) {
		v, ok, ps := b.evaluate(ctx, data)
		if problems = append(problems, ps...); ok {
			add(v)
		}
	}

	switch {
	case t.Fields != nil:
		m := make(map[string]any, len(t.Fields))
		for _, k := range t.names {
			below(t.Fields[k], func(v any) { m[k] = v })
		}

		return m, true, problems
	case t.Items != nil:
		l := make([]any, 0, len(t.Items))
		for _, i := range t.Items {
			below(i, func(v any) { l = append(l, v) })
		}

		return l, true, problems
	case t.expression() != nil:
		v, ok, problem := t.expression().evaluate(ctx, data)
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
		text, problem := p.text, (*Problem)(nil)
		if p.expression {
			text, problem = p.program.text(ctx, data)
		}

		if problem != nil {
			problems = append(problems, t.problem(*problem))
		}

		s.WriteString(text)
	}

	if len(problems) > 0 {
		return nil, false, problems
	}

	return s.String(), true, nil
}

// problem of an expression, with its path.
func (t *Template) problem(p Problem) Problem {
	p.Path = t.Path
	return p
}

// expression that the value is, as a whole; nil if it is something else.
func (t *Template) expression() *program {
	if _, isText := t.literal.(string); !isText || len(t.parts) != 1 {
		return nil
	}

	return t.parts[0].program
}

// String returns a string as it was written, but for its white space, and the type of anything else.
func (t *Template) String() string {
	source, isText := t.literal.(string)
	if !isText {
		return string(t.Type())
	}

	return strings.Join(strings.Fields(source), " ")
}
