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

// json.unmarshal returns a value or a short error.
func TestRead(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   string
	}{
		"Not":     {reason: "A string that is not JSON is an error.", text: "{a: [", want: "the text is not JSON: invalid character 'a'"},
		"Long":    {reason: "The error does not repeat a long string.", text: strings.Repeat("a", 5000), want: "the text is not JSON"},
		"More":    {reason: "Two documents are an error.", text: "{}\n{}", want: "the text is not JSON: invalid character"},
		"Inexact": {reason: "An integer beyond 2^53-1 is an error, and is not rounded.", text: "9007199254740993", want: "9007199254740993 is beyond 2^53-1"},
		"Deep":    {reason: "The depth is limited by that of a response to core.", text: strings.Repeat("[", 4000) + strings.Repeat("]", 4000), want: "the value is more than 3000 levels deep"},
		"Deeper":  {reason: "The depth is also limited during decoding.", text: strings.Repeat("[", 20_000), want: "the text is not JSON"},
	}

	e := environment(t)

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, problems := evaluateIn(t, e, "json.unmarshal(xr.spec.text)", Data{XR: map[string]any{"spec": map[string]any{"text": tc.text}}})

			if len(problems) != 1 || problems[0].Kind != Invalid || !strings.HasPrefix(problems[0].Message, tc.want) || len(problems[0].Message) > 2000 {
				t.Errorf("\n%s\njson.unmarshal(...): want %q, got %.200v", tc.reason, tc.want, problems)
			}
		})
	}
}

// An expression that calls fail has no value, even where CEL ignores an error.
func TestFail(t *testing.T) {
	cases := map[string]struct {
		reason string
		source string
		want   Problem
	}{
		"Literal":   {reason: "The problem has the message of fail.", source: "fail('no')", want: Problem{Message: "no", Plain: true}},
		"Computed":  {reason: "The message may be computed.", source: "xr.spec.size < 9 ? fail('a size of ' + string(xr.spec.size) + ' is too little') : xr.spec.size", want: Problem{Message: "a size of 5 is too little"}},
		"Or":        {reason: "|| does not ignore a call of fail.", source: "fail('no') || true", want: Problem{Message: "no", Plain: true}},
		"And":       {reason: "&& does not ignore a call of fail.", source: "fail('no') && false", want: Problem{Message: "no", Plain: true}},
		"Exists":    {reason: "A macro does not ignore a call of fail.", source: "xr.spec.zones.exists(z, z == 'a' ? fail('no a') : true)", want: Problem{Message: "no a", Plain: true}},
		"Optional":  {reason: "orValue does not replace a call of fail.", source: "optional.of(fail('no')).orValue(1)", want: Problem{Message: "no", Plain: true}},
		"Long":      {reason: "A long message is clipped.", source: "fail(lists.range(1000).map(i, 'ää').join())", want: Problem{Message: strings.Repeat("ä", 510) + "…"}},
		"NoMessage": {reason: "A missing value in the message is the problem.", source: "fail(xr.spec.unset)", want: Problem{Kind: NotSet, Message: "xr.spec.unset is not set; write xr.spec.?unset if it may be missing"}},
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

	// The type of fail is that of the alternative.
	tmpl, errs := e.Compile(field.NewPath("x"), "${true ? 1 : fail('no')}")
	if len(errs) > 0 || tmpl.Type() != Integer {
		t.Errorf("want an integer, got %q, %v", tmpl.Type(), errs)
	}
}
