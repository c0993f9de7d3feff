package main

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestResume(t *testing.T) {
	cases := map[string]struct {
		reason     string
		responsive string
		want       string
	}{
		"Resumed": {"An XR goes on.", "True", "site.example.org/x resumed\n"},
		"Dropped": {"While the circuit breaker is open, Crossplane may drop the change.", "False", "site.example.org/x resumed, but Crossplane may not notice"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			xr := &unstructured.Unstructured{Object: map[string]any{
				"metadata": map[string]any{"name": "x", "namespace": "ns", "uid": "x", "annotations": map[string]any{"crossplane.io/paused": "true"}},
				"spec":     map[string]any{"crossplane": map[string]any{}},
				"status":   map[string]any{"conditions": []any{map[string]any{"type": "Responsive", "status": tc.responsive}}},
			}}
			xr.SetGroupVersionKind(sites)

			var out bytes.Buffer

			c := generator{rand.New(rand.NewPCG(1, 2))}.plugin(state{xr}, &out).root()
			c.SetArgs([]string{"resume", "site/x"})

			if err := c.ExecuteContext(t.Context()); err != nil {
				t.Fatal(err)
			}

			if !strings.HasPrefix(out.String(), tc.want) {
				t.Errorf("\n%s\nwant %q, got %q", tc.reason, tc.want, out.String())
			}
		})
	}
}
