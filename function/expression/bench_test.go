package expression

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// BenchmarkEvaluate five variables of each of a hundred runs, where each run
// was observed and the next one refers to it.
func BenchmarkEvaluate(b *testing.B) {
	const runs = 100

	declared := map[string]bool{}
	for i := range runs {
		declared[fmt.Sprintf("run%d", i)] = false
	}

	e, err := NewEnvironment(Declarations{Runs: declared})
	if err != nil {
		b.Fatal(err)
	}

	templates := make([]*Template, runs)

	for i := range runs {
		t, errs := e.Compile(field.NewPath("vars"), map[string]any{
			"size":     "${xr.spec.size * 2}",
			"name":     "${xr.metadata.name}-" + fmt.Sprint(i),
			"zones":    "${xr.spec.zones}",
			"users":    "${xr.spec.users.filter(u, u.admin).map(u, u.name)}",
			"endpoint": fmt.Sprintf("${runs.run%d.outputs.endpoint}", max(i-1, 0)),
		})
		if len(errs) > 0 {
			b.Fatal(errs)
		}

		templates[i] = t
	}

	data := benchData(runs)

	b.ReportAllocs()

	for b.Loop() {
		for _, t := range templates {
			if _, _, problems := t.Evaluate(context.Background(), data); len(problems) > 0 {
				b.Fatal(problems)
			}
		}
	}
}

// benchData is what is observed of an XR and its runs.
func benchData(n int) Data {
	observed := map[string]any{}

	for i := range n {
		observed[fmt.Sprintf("run%d", i)] = map[string]any{
			"ready":    true,
			"metadata": map[string]any{"name": "app-x", "generation": 1.0, "labels": map[string]any{"crossplane.io/composite": "app"}},
			"spec":     map[string]any{"forProvider": map[string]any{"role": "acme.app.server", "vars": map[string]any{"a": 1.0, "b": []any{"x", "y"}, "c": "d"}}},
			"outputs":  map[string]any{"endpoint": "db:5432", "port": 5432.0},
			"lastRun":  map[string]any{"id": "x", "phase": "Succeeded", "hosts": map[string]any{"ok": 1.0, "changed": 0.0}},
		}
	}

	return Data{
		XR: map[string]any{
			"metadata": map[string]any{"name": "app"},
			"spec": map[string]any{
				"size": 5.0, "zones": []any{"a", "b", "c"},
				"users": []any{map[string]any{"name": "eve", "admin": true}, map[string]any{"name": "bob", "admin": false}},
			},
		},
		Runs: observed,
	}
}

// BenchmarkNewEnvironment is what a Composition costs that was not seen before.
func BenchmarkNewEnvironment(b *testing.B) {
	b.ReportAllocs()

	for b.Loop() {
		if _, err := NewEnvironment(Declarations{Runs: map[string]bool{"database": false}}); err != nil {
			b.Fatal(err)
		}
	}
}
