package expression

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func FuzzSplit(f *testing.F) {
	for _, s := range []string{"", "a", "${x}", "$${x}", "a${'}'}b", "${", "${{}}", `${"""`, "$$${x}", "${// }\n}"} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, s string) {
		parts, err := split(s)
		if err != nil {
			return
		}

		// A string that is joined from the parts has the same parts.
		var b strings.Builder

		for _, p := range parts {
			if p.expression {
				b.WriteString("${" + p.text + "}")
				continue
			}

			b.WriteString(strings.ReplaceAll(p.text, "${", "$${"))
		}

		again, err := split(b.String())
		if err != nil {
			t.Fatalf("split(%q): %v, after split(%q)", b.String(), err, s)
		}

		if diff := cmp.Diff(parts, again, cmp.AllowUnexported(part{})); diff != "" {
			t.Errorf("split(%q): -once, +again:\n%s", s, diff)
		}
	})
}

// Every expression compiles, or is a mistake of one line. A second evaluation has the same result as the first one.
func FuzzExpression(f *testing.F) {
	for _, s := range []string{
		"xr.spec.size + 1", "xr.spec.?unset.orValue('x')", "xr.spec.map(k, k)", "runs.replica.transformMap(k, r, r.ready)", "each.value",
		"required.subnets.filter(s, s.metadata.name == 'a')", "environment.region.replace('e', 'f')", "xr.spec.zones.join('-')", "'%s %.3f'.format([1, 2.0])",
		"xr.spec.zones[5]", "xr.spec == xr.spec", "[xr.spec.zones, [1]].flatten()", "sets.contains(xr.spec.zones, ['a'])", "lists.range(xr.spec.size)",
		"xr.spec.key.matches('(a+)+')", "timestamp('2024-01-01T00:00:00Z') - duration('1h')", "ip('1.2.3.4').family()", "quantity('1Gi').add(1)", "{1: 2, 'a': b'c'}",
		"xr.spec.large", "1 / 0", "[1, 2].exists(i, i / 0 == 1) || xr.spec.a", "has(xr.spec.nested) ? 1 : 'x'", "optional.of(xr.spec.unset)", "-9223372036854775808 - 1", "{1: 1, dyn(bytes(xr.spec.key)): 2}", "\"\\u00e9\" + 'ü'", "xr.\nspec",
	} {
		f.Add(s)
	}

	e := NewEnvironment(declarations())

	f.Fuzz(func(t *testing.T, source string) {
		if !utf8.ValidString(source) {
			t.Skip("requests are UTF-8")
		}

		tmpl, errs := e.Compile(field.NewPath("x"), "${"+source+"}")
		for _, err := range errs {
			if strings.ContainsAny(err.Detail, "\n") && !strings.ContainsAny(source, "\n\r") {
				t.Errorf("Compile(%q): want one line, got %q", source, err.Detail)
			}
		}

		if len(errs) > 0 {
			return
		}

		v, ok, problems := tmpl.Evaluate(context.Background(), data())
		again, okAgain, problemsAgain := tmpl.Evaluate(context.Background(), data())

		if diff := cmp.Diff([]any{v, ok, problems}, []any{again, okAgain, problemsAgain}, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("Evaluate(%q): -once, +again:\n%s", source, diff)
		}

		if strings.Contains(fmt.Sprint(problems), "internal error") {
			t.Errorf("Evaluate(%q): %v", source, problems)
		}

		if _, err := json.Marshal(v); err != nil {
			t.Errorf("Evaluate(%q): want JSON: %v", source, err)
		}
	})
}

// For every XR, expressions have a value or a problem, and a second evaluation has the same result.
func FuzzData(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a": 1, "b": [1, 2.5, null], "c": {"d": "e"}}`, `{"a": 9007199254740993, "b": {"x": 1e300}}`, `{"a": "x", "b": [[], {}], "c": []}`, `{"b": {"": {"é": "\u0000"}}}`,
		`{"a": -0.0, "b": ["a", "a"], "c": {"a.b/c": true}}`,
	} {
		f.Add(s)
	}

	e := NewEnvironment(declarations())

	tmpl, errs := e.Compile(field.NewPath("x"), map[string]any{
		"whole":    "${xr.spec}",
		"text":     "a-${xr.spec.a}-${xr.spec.b}",
		"equal":    "${xr.spec.b == xr.spec.c || xr.spec.a in xr.spec.b}",
		"keys":     "${xr.spec.c.map(k, k)}",
		"two":      "${xr.spec.b.transformList(i, v, [i, v])}",
		"sorted":   "${xr.spec.b.sort()}",
		"distinct": "${xr.spec.b.distinct() + xr.spec.b}",
		"joined":   "${xr.spec.b.join(xr.spec.a)}",
		"matches":  "${xr.spec.a.matches('^[a-z]')}",
		"math":     "${xr.spec.a * 2 + xr.spec.b[0]}",
		"number":   "${[int(xr.spec.a), double(xr.spec.a), string(xr.spec.a)]}",
		"optional": "${xr.?spec.c.d.orValue(xr.spec.a)}",
		"format":   "${'%s %s'.format([xr.spec.b, xr.spec.c])}",
	})
	if len(errs) > 0 {
		f.Fatal(errs)
	}

	f.Fuzz(func(t *testing.T, spec string) {
		decode := func() Data {
			v := map[string]any{}
			if err := json.Unmarshal([]byte(spec), &v); err != nil || v == nil {
				t.Skip("not an object")
			}

			return Data{XR: map[string]any{"spec": v}}
		}

		v, _, problems := tmpl.Evaluate(context.Background(), decode())
		again, _, problemsAgain := tmpl.Evaluate(context.Background(), decode())

		if diff := cmp.Diff([]any{v, problems}, []any{again, problemsAgain}, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("Evaluate(...) of %s: -once, +again:\n%s", spec, diff)
		}

		if strings.Contains(fmt.Sprint(problems), "internal error") {
			t.Errorf("Evaluate(...) of %s: %v", spec, problems)
		}

		// A value that is only selected is unchanged.
		if whole, ok := v.(map[string]any)["whole"]; ok {
			xr, _ := decode().XR.(map[string]any)
			if diff := cmp.Diff(xr["spec"], whole); diff != "" {
				t.Errorf("Evaluate(...) of %s: -want, +got:\n%s", spec, diff)
			}
		}
	})
}
