package event

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplitDetails(t *testing.T) {
	cases := map[string]struct {
		reason           string
		raw              string
		outputs, details string
	}{
		"None":        {reason: "Outputs without connection details stay as they are.", raw: `{"b": 1, "a": 2}`, outputs: `{"b": 1, "a": 2}`},
		"Both":        {reason: "Connection details are no outputs.", raw: `{"a": 12345678901234567890, "connection_details": {"p": "x"}}`, outputs: `{"a":12345678901234567890}`, details: `{"p": "x"}`},
		"DetailsOnly": {reason: "Then there are no outputs.", raw: `{"connection_details": {"p": "x"}}`, outputs: `{}`, details: `{"p": "x"}`},
		"Nothing":     {reason: "There may be neither.", raw: ``},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			outputs, details := splitDetails(json.RawMessage(tc.raw))

			if diff := cmp.Diff([]string{tc.outputs, tc.details}, []string{string(outputs), string(details)}); diff != "" {
				t.Errorf("\n%s\nsplitDetails(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
