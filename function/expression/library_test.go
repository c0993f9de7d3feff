package expression

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func evaluateIn(t *testing.T, e *Environment, source string, data Data) (any, []Problem) {
	t.Helper()

	tmpl, errs := e.Compile(field.NewPath("x"), "${"+source+"}")
	if len(errs) > 0 {
		t.Fatalf("Compile(%s): %v", source, errs)
	}

	v, _, problems := tmpl.Evaluate(context.Background(), data)

	return v, problems
}

// What is read from a text is data, or an error.
func TestRead(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for _, c := range "bcdefgh" {
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+", ", 8) + "1]\n"
	}

	cases := map[string]struct {
		reason string
		text   string
		json   string
		yaml   string
	}{
		"Not":      {reason: "What is no document is said to be none.", text: "{a: [", json: "the text is not JSON: invalid character 'a'", yaml: "the text is not YAML: yaml: "},
		"Long":     {reason: "An error is short enough to be read.", text: "*" + strings.Repeat("a", 5000), json: "the text is not JSON", yaml: "the text is not YAML"},
		"More":     {reason: "A text is one document.", text: "{}\n---\n{}", json: "the text is not JSON: invalid character", yaml: "the text is more than one YAML document"},
		"Inexact":  {reason: "An integer that is not exact is not used as another one.", text: "9007199254740993", json: "9007199254740993 is beyond 2^53", yaml: "9007199254740993 is beyond 2^53"},
		"Infinite": {reason: "There are no infinite numbers.", text: "-.inf", json: "the text is not JSON", yaml: "-Inf is not a number in JSON"},
		"NaN":      {reason: "And only numbers.", text: ".nan", json: "the text is not JSON", yaml: "NaN is not a number in JSON"},
		"Deep":     {reason: "No message to core could have it.", text: strings.Repeat("[", 200) + strings.Repeat("]", 200), json: "the text is more than 100 levels deep", yaml: "the text is more than 100 levels deep"},
		"Deeper":   {reason: "However deep it is.", text: strings.Repeat("[", 20_000), json: "the text is not JSON", yaml: "the text is not YAML"},
		"Bomb":     {reason: "Little does not become much.", text: bomb, json: "the text is not JSON", yaml: "the text has a YAML alias, which cannot be used here"},
		"Self":     {reason: "Nor anything in itself.", text: "&a [*a]", json: "the text is not JSON", yaml: "the text has a YAML alias, which cannot be used here"},
		"Merge":    {reason: "Keys have no meaning.", text: "{<<: {a: 1}}", json: "the text is not JSON", yaml: "the text has a key that is not a string"},
		"Vault":    {reason: "Tags have no meaning.", text: "!vault x", json: "the text is not JSON", yaml: "the text has a YAML tag"},
		"Unsafe":   {reason: "On lists, too.", text: "!unsafe [x]", json: "the text is not JSON", yaml: "the text has a YAML tag"},
		"Python":   {reason: "Nor do they make anything.", text: "!!python/object/apply:os.system {args: [id]}", json: "the text is not JSON", yaml: "the text has a YAML tag"},
		"Binary":   {reason: "Also not bytes.", text: "!!binary YWI=", json: "the text is not JSON", yaml: "the text has a YAML tag"},
		"Key":      {reason: "Keys are strings.", text: "{1: 2}", json: "the text is not JSON", yaml: "the text has a key that is not a string; put quotes around it"},
		"Twice":    {reason: "A key is there once.", text: "{a: 1, a: 2}", json: "the text is not JSON", yaml: "the text has a key twice"},
		"Tags":     {reason: "The parser would take the square of them.", text: strings.Repeat("%TAG !a! b\n", 1000) + "--- a\n", json: "the text is not JSON", yaml: "the text is not YAML: has 1000 %TAG directives; at most 100 are read"},
		"NotThat":  {reason: "A value is what its tag says.", text: "!!int a", json: "the text is not JSON", yaml: "the text is not YAML"},
	}

	e := environment(t)

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for function, want := range map[string]string{"json": tc.json, "yaml": tc.yaml} {
				_, problems := evaluateIn(t, e, function+".unmarshal(xr.spec.text)", Data{XR: map[string]any{"spec": map[string]any{"text": tc.text}}})

				if len(problems) != 1 || problems[0].Kind != Invalid || !strings.HasPrefix(problems[0].Message, want) || len(problems[0].Message) > 2000 {
					t.Errorf("\n%s\n%s.unmarshal(...): want %q, got %.200v", tc.reason, function, want, problems)
				}
			}
		})
	}

	// A template in it is a text as any other.
	v, problems := evaluateIn(t, e, `yaml.unmarshal("a: '{{ lookup(1) }}'")`, Data{})
	if diff := cmp.Diff(map[string]any{"a": "{{ lookup(1) }}"}, v); diff != "" || len(problems) > 0 {
		t.Errorf("%v, -want, +got:\n%s", problems, diff)
	}
}

// An expression that fails has no value, whatever else is in it.
func TestFail(t *testing.T) {
	cases := map[string]struct {
		reason string
		source string
		want   Problem
	}{
		"Literal":   {reason: "The message is what is wrong.", source: "fail('no')", want: Problem{Message: "no", Plain: true}},
		"Computed":  {reason: "It may be computed.", source: "xr.spec.size < 9 ? fail('a size of ' + string(xr.spec.size) + ' is too little') : xr.spec.size", want: Problem{Message: "a size of 5 is too little"}},
		"Or":        {reason: "It is not an error that does not matter.", source: "fail('no') || true", want: Problem{Message: "no", Plain: true}},
		"And":       {reason: "Nor one of what is false anyway.", source: "fail('no') && false", want: Problem{Message: "no", Plain: true}},
		"Exists":    {reason: "Nor one of an item.", source: "xr.spec.zones.exists(z, z == 'a' ? fail('no a') : true)", want: Problem{Message: "no a", Plain: true}},
		"Optional":  {reason: "There is no default for it.", source: "optional.of(fail('no')).orValue(1)", want: Problem{Message: "no", Plain: true}},
		"Long":      {reason: "It is short enough to be read.", source: "fail(lists.range(1000).map(i, 'ää').join())", want: Problem{Message: strings.Repeat("ä", 510) + "…"}},
		"NoMessage": {reason: "What its message lacks is said instead.", source: "fail(xr.spec.unset)", want: Problem{Kind: NotSet, Message: "xr.spec.unset is not set; write xr.spec.?unset if it may be missing"}},
	}

	e := environment(t)

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.want.Path = "x"
			if tc.want.Kind == "" {
				tc.want.Kind = Invalid
			}

			_, problems := evaluateIn(t, e, tc.source, data())
			if diff := cmp.Diff([]Problem{tc.want}, problems); diff != "" {
				t.Errorf("\n%s\nEvaluate(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}

	// What stands beside it tells the type.
	tmpl, errs := e.Compile(field.NewPath("x"), "${true ? 1 : fail('no')}")
	if len(errs) > 0 || tmpl.Type() != Integer {
		t.Errorf("want an integer, got %q, %v", tmpl.Type(), errs)
	}
}
