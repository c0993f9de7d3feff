package ansiblerun

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The annotation of a composed run may hold any text.
func TestDependsOn(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		value  string
		want   []string
	}{
		"Some": {reason: "What it depends on is named in any order.", value: "b,a", want: []string{"a", "b"}},
		"Once": {reason: "Names count once, however often they are there.", value: "a,a,b,a", want: []string{"a", "b"}},
		"None": {reason: "An empty annotation names nothing that there is.", want: []string{""}},
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
