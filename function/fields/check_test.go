package fields

import (
	"testing"
)

// TestCheckPolicies has all sets of actions that crossplane-runtime supports, and some that it does not.
func TestCheckPolicies(t *testing.T) {
	const o, c, u, d, l = "Observe", "Create", "Update", "Delete", "LateInitialize"

	cases := map[string]struct {
		list []any
		ok   bool
	}{
		"None":             {nil, true},
		"All":              {[]any{"*"}, true},
		"Observe":          {[]any{o}, true},
		"Import":           {[]any{o, l}, true},
		"NoDelete":         {[]any{o, c, u}, true},
		"NoUpdate":         {[]any{d, c, o}, true},
		"Every":            {[]any{o, c, u, d, l}, true},
		"Adopt":            {[]any{o, u, l}, true},
		"Remove":           {[]any{o, d}, true},
		"WithoutObserve":   {[]any{c}, false},
		"AllAndOne":        {[]any{o, "*"}, false},
		"RemoveWithUpdate": {[]any{o, u, d}, false},
		"RemoveWithLate":   {[]any{o, d, l}, false},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if err := CheckPolicies(tc.list); (err == nil) != tc.ok {
				t.Errorf("CheckPolicies(%v): want supported %t, got %v", tc.list, tc.ok, err)
			}
		})
	}
}
