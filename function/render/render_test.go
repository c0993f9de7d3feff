package render

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/compile"
	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
	"github.com/crossplane-ansible/crossplane-ansible/function/observed"
)

// A world is a Composition and a state of an XR, made by chance.
type world struct {
	in       map[string]any
	observed observed.State
	// needs are the runs that a run refers to.
	needs map[string][]string
	// flags of the XR by run; a run without one is held.
	flags map[string]bool
}

func chance(t *testing.T, rnd *rand.Rand) world {
	t.Helper()

	w := world{
		in:       map[string]any{},
		observed: observed.State{Resources: map[string]map[string]any{}, Owned: map[string]*structpb.Struct{}},
		needs:    map[string][]string{},
		flags:    map[string]bool{},
	}
	spec := map[string]any{}

	var runs []any

	for i := range 1 + rnd.IntN(5) {
		name := fmt.Sprintf("run%d", i)
		vars := map[string]any{"literal": "x", "value": fmt.Sprintf("${xr.spec.value%d + 1}", i)}

		for j := range i {
			if rnd.IntN(3) == 0 {
				other := fmt.Sprintf("run%d", j)
				vars["of"+other] = "${runs." + other + ".outputs.x}"
				w.needs[name] = append(w.needs[name], other)
			}
		}

		runs = append(runs, map[string]any{"name": name, "role": "a.b.c", "vars": vars, "when": fmt.Sprintf("${xr.spec.flag%d}", i)})

		if rnd.IntN(10) > 0 {
			w.flags[name] = rnd.IntN(5) > 0
			spec[fmt.Sprintf("flag%d", i)] = w.flags[name]
		}

		if values := []any{5.0, 5.0, 5.0, 5.0, 7.0, "text", nil}; rnd.IntN(8) > 0 {
			spec[fmt.Sprintf("value%d", i)] = values[rnd.IntN(len(values))]
		}

		if rnd.IntN(3) > 0 {
			w.observed.Resources[name] = chanceObserved(rnd)

			s, err := structpb.NewStruct(w.observed.Resources[name])
			if err != nil {
				t.Fatal(err)
			}

			w.observed.Owned[name] = ansiblerun.Owned(s)
		}
	}

	// The order in which runs are written must not matter.
	rnd.Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })

	w.in["runs"] = runs
	w.observed.XR = map[string]any{"metadata": map[string]any{"namespace": "default", "name": "app"}, "spec": spec}

	return w
}

func chanceObserved(rnd *rand.Rand) map[string]any {
	generation := float64(1 + rnd.IntN(2))
	status := func() string { return []string{"True", "True", "True", "False", "Unknown"}[rnd.IntN(5)] }

	metadata := map[string]any{"generation": 2.0, "namespace": "default"}
	if rnd.IntN(2) == 0 {
		metadata["managedFields"] = []any{map[string]any{
			"manager": "apiextensions.crossplane.io/composed/abc", "operation": "Apply",
			"fieldsV1": map[string]any{"f:spec": map[string]any{
				"f:providerConfigRef": map[string]any{"f:kind": map[string]any{}, "f:name": map[string]any{}},
				"f:forProvider":       map[string]any{"f:role": map[string]any{}, "f:vars": map[string]any{"f:literal": map[string]any{}}, "f:unsafeVars": map[string]any{"f:value": map[string]any{}}},
			}},
		}}
	}

	if rnd.IntN(8) == 0 {
		metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	}

	atProvider := map[string]any{}
	if rnd.IntN(4) > 0 {
		atProvider["outputs"] = map[string]any{"x": "y"}
	}

	return map[string]any{
		"apiVersion": ansiblerun.APIVersionNamespaced,
		"kind":       "AnsibleRun",
		"metadata":   metadata,
		"spec": map[string]any{
			"managementPolicies": []any{"*"},
			"providerConfigRef":  map[string]any{"kind": "ClusterProviderConfig", "name": "default"},
			"forProvider":        map[string]any{"role": "a.b.c", "vars": map[string]any{"literal": "x"}, "unsafeVars": map[string]any{"value": 6.0}},
		},
		"status": map[string]any{
			"atProvider": atProvider,
			"conditions": []any{
				map[string]any{"type": "Ready", "status": status(), "observedGeneration": generation},
				map[string]any{"type": "Synced", "status": status(), "observedGeneration": generation},
			},
		},
	}
}

// unwanted is true for runs whose flag is false, and those that refer to one.
func (w world) unwanted(name string) bool {
	if flag, ok := w.flags[name]; ok && !flag {
		return true
	}

	return slices.ContainsFunc(w.needs[name], w.unwanted)
}

// Whatever the state of an XR: a run that exists is in the desired state unless
// it is not wanted and nothing that exists depends on it; a run that does not
// exist is not there before all that it depends on is ready.
func TestRunsAreNeverDropped(t *testing.T) {
	states := map[desired.Reason]int{}

	for seed := range uint64(500) {
		w := chance(t, rand.New(rand.NewPCG(seed, 0)))

		c, errs := compile.Composition(w.in, true, compile.Schemas{})
		if len(errs) > 0 {
			t.Fatalf("seed %d: Composition(...): %v", seed, errs)
		}

		result := Render(context.Background(), c, w.observed)
		runs := map[string]desired.Outcome{}

		for _, r := range result.Runs {
			runs[r.Name] = r
			states[r.Reason]++
		}

		for name, r := range runs {
			observed, exists := w.observed.Resources[name]

			depended := slices.ContainsFunc(result.Runs, func(d desired.Outcome) bool {
				_, exists := w.observed.Resources[d.Name]
				return exists && slices.Contains(w.needs[d.Name], name)
			})

			if exists && r.Desired == nil && (!w.unwanted(name) || depended) {
				t.Errorf("seed %d: %s exists and was dropped: %s %v", seed, name, r.Reason, r.Messages)
			}

			if exists && r.Desired != nil && (r.Held() || r.Reason == desired.Leaving) {
				want := ansiblerun.Applied(observed, w.observed.Owned[name])
				if diff := cmp.Diff(want, r.Desired); diff != "" {
					t.Errorf("seed %d: %s is held and was changed: -want, +got:\n%s", seed, name, diff)
				}
			}

			if exists || r.Desired == nil {
				continue
			}

			for _, dependency := range w.needs[name] {
				if runs[dependency].Reason != desired.Ready {
					t.Errorf("seed %d: %s was created before %s is ready", seed, name, dependency)
				}
			}
		}
	}

	// The worlds are worth nothing when they do not lead everywhere.
	for _, r := range []desired.Reason{desired.Ready, desired.Skipped, desired.Leaving, desired.Creating, desired.Updating, desired.Running, desired.Deleting, desired.ValueNotSet, desired.InvalidValue, desired.ValuePending, desired.DependencyNotReady, desired.ReconcileError} {
		if states[r] == 0 {
			t.Errorf("no run became %s: %v", r, states)
		}
	}
}
