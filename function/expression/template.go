package expression

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A Template is a compiled JSON value with strings that may contain expressions. It is safe for concurrent use.
type Template struct {
	// Path is the path of the value in the input.
	Path string
	// Computed is true if the value contains an expression.
	Computed bool
	// Fields are the templates of the fields of an object, and Items those of the items of a list; nil for others.
	Fields map[string]*Template
	Items  []*Template

	// literal is the uncompiled value, and names are the sorted names of its fields.
	literal any
	names   []string
	// parts are the parts of a string. For an object or a list, they are those of all strings in it, with field names.
	parts []part

	// schema is the schema of the value; nil if it is unknown.
	schema map[string]any
	uses
}

// Compile compiles a JSON value. The errors are all mistakes in its expressions.
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

// misplaced returns the message about a field name that contains the start of an expression.
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

		for _, m := range p.mistakes {
			errs = append(errs, field.Invalid(at, "${"+parts[i].text+"}", m))
		}

		if len(parts) == 1 {
			t.schema = p.schema
		}
	}

	return errs
}

// Has is true if the value contains exactly this expression.
func (t *Template) Has(source string) bool {
	return slices.ContainsFunc(t.parts, func(p part) bool { return p.expression && strings.TrimSpace(p.text) == source })
}

// Texts calls yield with each literal text and its path: field names, and the text of strings outside of expressions.
func (t *Template) Texts(yield func(path, text string) bool) {
	for _, p := range t.parts {
		if !p.expression && !yield(p.path, p.text) {
			return
		}
	}
}

// Text returns the literal texts, see Texts.
func (t *Template) Text() []string {
	var all []string
	for _, text := range t.Texts {
		all = append(all, text)
	}

	return all
}

// MayBe is false if no evaluation of the template can return v. It is true for objects and lists with expressions.
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

// Evaluate returns the value as JSON with float64 numbers. ok is false if the expression is optional.none(), and for
// problems. Objects and lists leave out such fields and items. The problems are those of all expressions.
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

// problem returns a problem with the path of the template.
func (t *Template) problem(p Problem) Problem {
	p.Path = t.Path
	return p
}

// expression returns the program of a string that is one expression; nil for other values.
func (t *Template) expression() *program {
	if _, isText := t.literal.(string); !isText || len(t.parts) != 1 {
		return nil
	}

	return t.parts[0].program
}

// String returns the source of a string with white space normalized, and the type of other values.
func (t *Template) String() string {
	source, isText := t.literal.(string)
	if !isText {
		return string(t.Type())
	}

	return strings.Join(strings.Fields(source), " ")
}
