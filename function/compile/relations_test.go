package compile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

func TestOrder(t *testing.T) {
	r := func(name string, needs ...string) *plan.Run {
		out := &plan.Run{Name: name, Resource: "r-" + name, Needs: map[string]bool{}}
		for _, n := range needs {
			out.Needs[n] = true
		}

		return out
	}

	type want struct {
		names []string
		errs  field.ErrorList
	}

	cases := map[string]struct {
		reason string
		runs   []*plan.Run
		want   want
	}{
		"Independent": {
			reason: "Runs that do not need each other stay as they were written.",
			runs:   []*plan.Run{r("b"), r("a")},
			want:   want{names: []string{"b", "a"}},
		},
		"Diamond": {
			reason: "A run comes after all that it needs, and only once.",
			runs:   []*plan.Run{r("d", "b", "c"), r("c", "a"), r("b", "a"), r("a")},
			want:   want{names: []string{"a", "b", "c", "d"}},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			runs, errs := order(tc.runs)
			got := want{errs: errs}

			for _, r := range runs {
				got.names = append(got.names, r.Name)
			}

			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("\n%s\norder(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
