package expression

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A short regular expression may become large: what counts is what it becomes,
// and each is refused before it does.
func TestPattern(t *testing.T) {
	const large = "the regular expression is too large when its repetitions are written out"

	cases := map[string]struct {
		reason  string
		pattern string
		want    string
	}{
		"Label":       {reason: "What people write is small.", pattern: `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`},
		"Letters":     {reason: "Also with all letters there are.", pattern: `^\p{L}{1,63}$`},
		"Folded":      {reason: "And without case.", pattern: `(?i)^[a-z_][a-z0-9_-]*$`},
		"Repeated":    {reason: "One repetition is large.", pattern: "x{1000}"},
		"Repetitions": {reason: "Many are too large.", pattern: strings.Repeat("x{1000}", 100), want: large},
		"Nested":      {reason: "Repetitions of repetitions are.", pattern: "((x{10}){10}){10}y{1000}" + strings.Repeat("(a{30}){30}", 20), want: large},
		"Optional":    {reason: "So are those that may be left out.", pattern: strings.Repeat("(x?){500}", 20), want: large},
		"AtLeast":     {reason: "And those without an end.", pattern: strings.Repeat("(x{1000,}|y)", 20), want: large},
		"Classes":     {reason: "Letters are many ranges.", pattern: strings.Repeat(`\pL`, 1000), want: large},
		"Class":       {reason: "Each time that they are repeated.", pattern: `(\pL\pN){500}`, want: large},
		"Wide":        {reason: "Ranges take long where case does not count.", pattern: strings.Repeat(`(?i:[A-\x{1e942}])`, 100), want: "the regular expression has too many wide ranges of characters"},
		"Long":        {reason: "What is long takes long to read.", pattern: strings.Repeat(`x`, 5000), want: "the regular expression is longer than 4096 bytes"},
		"Wrong":       {reason: "What is none is none.", pattern: `(x`, want: "error parsing regexp: missing closing )"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, f := range []string{"find", "findAll", "matches"} {
				e := environment(t)
				source := fmt.Sprintf("xr.spec.key.%s(r'%s')", f, tc.pattern)

				_, errs := e.Compile(field.NewPath("vars", "x"), "${"+source+"}")
				if tc.want == "" && len(errs) > 0 || tc.want != "" && (len(errs) != 1 || !strings.Contains(errs[0].Detail, tc.want) || !strings.Contains(errs[0].Detail, "here: ")) {
					t.Errorf("\n%s\nCompile(%.80s): want %q, got %v", tc.reason, source, tc.want, errs)
				}

				tmpl, errs := e.Compile(field.NewPath("vars", "x"), "${xr.spec.key."+f+"(xr.spec.pattern)}")
				if len(errs) > 0 {
					t.Fatal(errs)
				}

				_, _, problems := tmpl.Evaluate(context.Background(), Data{XR: map[string]any{"spec": map[string]any{"key": "size", "pattern": tc.pattern}}})
				if tc.want == "" && len(problems) > 0 || tc.want != "" && (len(problems) != 1 || problems[0].Kind != Invalid || !strings.Contains(problems[0].Message, tc.want)) {
					t.Errorf("\n%s\nEvaluate(%s): want %q, got %v", tc.reason, f, tc.want, problems)
				}
			}
		})
	}
}
