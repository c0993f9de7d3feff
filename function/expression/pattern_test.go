package expression

import (
	"strings"
	"testing"
)

// What is wrong with a regular expression is a mistake of the Composition, whatever looks for it.
func TestPattern(t *testing.T) {
	const computed = "must be literal, as in xr.metadata.name."

	cases := map[string]struct {
		reason string
		// source of the regular expression.
		source string
		want   string
	}{
		"Literal": {reason: "What is written is compiled once.", source: `r'^[a-z0-9]([-a-z0-9]{0,61}\pL)?$'`},
		"Wrong":   {reason: "What is none is none.", source: "'(x'", want: "error parsing regexp: missing closing ): `(x`"},
		"Large":   {reason: "Repetitions of repetitions become too large.", source: "'((x{100}){100}){100}'", want: "error parsing regexp: invalid repeat count: "},
		"XR":      {reason: "The author of an XR chooses none.", source: "xr.spec.key", want: computed},
		"Part":    {reason: "Nor a part of one.", source: "'^' + xr.spec.key", want: computed},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, f := range []string{"find", "findAll", "matches"} {
				got := mistakesOf(environment(t), "${xr.spec.key."+f+"("+tc.source+")}")
				if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
					t.Errorf("\n%s\nCompile(%s): want %q, got %q", tc.reason, f, tc.want, got)
				}
			}
		})
	}
}
