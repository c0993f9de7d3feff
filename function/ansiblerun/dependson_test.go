package ansiblerun

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDependsOn(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		value  string
		want   []string
	}{
		"Some": {reason: "Entries in any order are sorted.", value: "b,a", want: []string{"a", "b"}},
		"Once": {reason: "Duplicates are removed.", value: "a,a,b,a", want: []string{"a", "b"}},
		"None": {reason: "An empty annotation has one empty entry, which is the name of no resource.", want: []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			o := map[string]any{"metadata": map[string]any{"annotations": map[string]any{AnnotationDependsOn: tc.value}}}

			got := DependsOn(o)

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\ndependsOn(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
