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
	cases := map[string]struct {
		reason string
		text   string
		want   string
	}{
		"Not":     {reason: "What is no document is said to be none.", text: "{a: [", want: "the text is not JSON: invalid character 'a'"},
		"Long":    {reason: "An error is short enough to be read.", text: strings.Repeat("a", 5000), want: "the text is not JSON"},
		"More":    {reason: "A text is one document.", text: "{}\n{}", want: "the text is not JSON: invalid character"},
		"Inexact": {reason: "An integer that is not exact is not used as another one.", text: "9007199254740993", want: "9007199254740993 is beyond 2^53-1"},
		"Deep":    {reason: "No message to core could have it.", text: strings.Repeat("[", 4000) + strings.Repeat("]", 4000), want: "the value is more than 3000 levels deep"},
		"Deeper":  {reason: "However deep it is.", text: strings.Repeat("[", 20_000), want: "the text is not JSON"},
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
