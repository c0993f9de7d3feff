package events

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// TestStorable has outputs that content may publish, and decodes them with the decoder of the
// API server, too.
func TestStorable(t *testing.T) {
	type want struct {
		outputs string
		invalid string
	}

	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	number := `output "x" cannot be kept: ` + errOutOfRange.Error()

	for name, tc := range map[string]struct {
		reason string
		output string
		want   want
		// refused is true if the API server refuses the output. It rounds other outputs that are not storable.
		refused bool
	}{
		"Values":    {reason: "All types of JSON are storable.", output: `{"a":[1,-2.5e3,null,true,"\u0000"]}`, want: want{outputs: `{"x":{"a":[1,-2.5e3,null,true,"\u0000"]}}`}},
		"Largest":   {reason: "Integers have 64 bits.", output: `[9223372036854775807,-9223372036854775808]`, want: want{outputs: `{"x":[9223372036854775807,-9223372036854775808]}`}},
		"Rounded":   {reason: "A number that would be rounded is not storable.", output: `9223372036854775808`, want: want{invalid: number}},
		"Huge":      {reason: "The API server cannot decode an integer of 617 digits.", output: `{"a":[` + strings.Repeat("7", 617) + `]}`, want: want{invalid: number}, refused: true},
		"HugeFloat": {reason: "The API server cannot decode a double that overflows.", output: `1e999`, want: want{invalid: number}, refused: true},
		"Surrogate": {reason: "A lone surrogate becomes a replacement character.", output: `"\ud800"`, want: want{outputs: `{"x":"\ud800"}`}},
		"Deep":      {reason: "The API server limits the depth of nesting.", output: nested(9997), want: want{invalid: `output "x" cannot be kept: `}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			stream := reports(actionStatus, `{"reported": true, "outputs": {"x": `+tc.output+`}}`) +
				`{"event":"playbook_on_stats","uuid":"u","event_data":{"artifact_data":{"x":` + tc.output + `}}}` + "\n"
			s := record(t, stream, Options{}).Summary()

			// The rest of the message is that of the decoder.
			invalid := s.InvalidOutput
			if name == "Deep" && strings.HasPrefix(invalid, tc.want.invalid) {
				invalid = tc.want.invalid
			}

			if diff := cmp.Diff(tc.want, want{string(s.Outputs), invalid}, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}

			if _, reported := s.Report.Outputs["x"]; reported != (invalid == "") {
				t.Errorf("%s\nReported outputs should be treated alike, got %s", tc.reason, s.Report.Outputs["x"])
			}

			status := `{"status":{"atProvider":{"outputs":{"x":` + tc.output + `}}}}`
			if err := utiljson.Unmarshal([]byte(status), &map[string]any{}); (err != nil) != tc.refused {
				t.Errorf("%s\nThe API server: want refused: %t, got %v", tc.reason, tc.refused, err)
			}
		})
	}
}

// TestCutDetails publishes connection details that the driver cuts.
func TestCutDetails(t *testing.T) {
	for name, tc := range map[string]struct {
		detail string
		want   bool
	}{
		"Long":      {strings.Repeat("x", maxString-1), false},
		"TooLong":   {strings.Repeat("x", maxString+1), true},
		"Escaped":   {strings.Repeat("\x01", maxString+1), true},
		"Character": {strings.Repeat("\U0001F600", maxString/4-1), false},
	} {
		t.Run(name, func(t *testing.T) {
			details := map[string]any{ConnectionDetails: map[string]any{"a": tc.detail}}
			s := record(t, line(stats, map[string]any{"artifact_data": details}), Options{}).Summary()

			if s.ExcessDetails != tc.want {
				t.Errorf("want %t, got %t", tc.want, s.ExcessDetails)
			}
		})
	}
}
