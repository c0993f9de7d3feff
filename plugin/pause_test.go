package main

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestResume has an XR with an open circuit breaker: Crossplane may not notice the change.
func TestResume(t *testing.T) {
	xr := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "x", "namespace": "ns", "uid": "x", "annotations": map[string]any{"crossplane.io/paused": "true"}},
		"status":   map[string]any{"conditions": []any{map[string]any{"type": "Responsive", "status": "False"}}},
	}}
	xr.SetGroupVersionKind(sites)

	var out bytes.Buffer

	c := generator{rand.New(rand.NewPCG(1, 2))}.plugin(state{xr}, &out).root()
	c.SetArgs([]string{"resume", "site/x"})

	if err := c.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}

	if want := "site.example.org/x resumed, but Crossplane may not notice"; !strings.HasPrefix(out.String(), want) {
		t.Errorf("want %q, got %q", want, out.String())
	}
}
