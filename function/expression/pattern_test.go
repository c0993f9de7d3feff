package expression

import (
	"strings"
	"testing"
)

// An invalid or computed regular expression is a mistake of the Composition, for each function with one.
func TestPattern(t *testing.T) {
	const computed = "must be literal, as in xr.metadata.name."

	cases := map[string]struct {
		reason string
		// source of the regular expression.
		source string
		want   string
	}{
		"Literal": {reason: "A literal regular expression is valid.", source: `r'^[a-z0-9]([-a-z0-9]{0,61}\pL)?$'`},
		"Wrong":   {reason: "A syntax error is a mistake.", source: "'(x'", want: "error parsing regexp: missing closing ): `(x`"},
		"Large":   {reason: "Nested repetitions may be too large.", source: "'((x{100}){100}){100}'", want: "error parsing regexp: invalid repeat count: "},
		"XR":      {reason: "A regular expression from the XR is a mistake.", source: "xr.spec.key", want: computed},
		"Part":    {reason: "A regular expression with a part from the XR is a mistake.", source: "'^' + xr.spec.key", want: computed},
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
