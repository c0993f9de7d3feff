package ansiblerun

import (
	"context"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// To make testdata/observed.yaml again, with the real API server:
//
//	KUBEBUILDER_ASSETS=$PWD/.cache/bin go test ./function/ansiblerun -run TestApplied -update
var update = flag.Bool("update", false, "make the golden files again")

// An edit of an object.
type edit func(map[string]any)

func set(value any, path ...string) edit {
	return func(o map[string]any) { _ = unstructured.SetNestedField(o, value, path...) }
}

func without(path ...string) edit {
	return func(o map[string]any) { unstructured.RemoveNestedField(o, path...) }
}

// entry returns all managed fields, and the entry of core among them.
func entry(o map[string]any) (all []any, core map[string]any) {
	all, _, _ = unstructured.NestedSlice(o, "metadata", "managedFields")
	return all, all[0].(map[string]any)
}

func TestApplied(t *testing.T) {
	if *update {
		observe(t)
	}

	observed := read(t, "testdata/observed.yaml")
	composed := withCoreMetadata(read(t, "testdata/rendered.yaml"))

	// Applied has the whole spec.forProvider, and so the defaults of the API server.
	want := map[string]any{"apiVersion": composed["apiVersion"], "kind": composed["kind"], "metadata": composed["metadata"], "spec": defaulted(composed["spec"])}

	cases := map[string]struct {
		reason string
		edit   edit
		want   map[string]any
		known  bool
	}{
		"Applied": {
			reason: "The result is what core applied, with nulls and empty values, and without the status or fields of other managers.",
			edit:   func(map[string]any) {}, want: want, known: true,
		},
		"WrittenByOthers": {
			reason: "spec.forProvider is whole when the provider owns it, which has written a timeout in another form.",
			edit: func(o map[string]any) {
				all, core := entry(o)
				without("fieldsV1", "f:spec", "f:forProvider")(core)
				set(all, "metadata", "managedFields")(o)
			},
			want: want, known: true,
		},
		"Twice": {
			reason: "Applies of core under two field managers are combined.",
			edit: func(o map[string]any) {
				all, core := entry(o)
				other := runtime.DeepCopyJSON(core)
				without("fieldsV1", "f:metadata", "f:labels")(core)
				without("fieldsV1", "f:metadata", "f:annotations")(other)
				without("fieldsV1", "f:spec")(other)
				set(append(all, other), "metadata", "managedFields")(o)
			},
			want: want, known: true,
		},
		"NoManagedFields": {
			reason: "Without managed fields, the result is the spec and the OwnedAnnotations.",
			edit:   without("metadata", "managedFields"),
			want: map[string]any{
				"apiVersion": observed["apiVersion"],
				"kind":       observed["kind"],
				"metadata":   map[string]any{"annotations": map[string]any{"ansible.crossplane.io/runPolicy": "RunOnChange"}},
				"spec":       observed["spec"],
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			observed := read(t, "testdata/observed.yaml")
			tc.edit(observed)

			applied := appliedOf(t, observed)
			if diff := cmp.Diff(tc.want, Again(observed, applied)); diff != "" {
				t.Errorf("\n%s\nAgain(...): -want, +got:\n%s", tc.reason, diff)
			}

			if known := applied != nil; known != tc.known {
				t.Errorf("\n%s\nApplied(...): want any %t, got %t", tc.reason, tc.known, known)
			}
		})
	}
}

func TestIsApplied(t *testing.T) {
	cases := map[string]struct {
		reason             string
		observed, rendered edit
		want               bool
	}{
		"Same":             {reason: "Fields that core and other managers have added are no difference.", want: true},
		"SameUnmanaged":    {reason: "Defaults of the API server are no difference.", observed: without("metadata", "managedFields"), want: true},
		"LabelOfLaterStep": {reason: "A label that core has applied for a later step is no difference.", rendered: without("metadata", "labels"), want: true},
		"NewLabel":         {reason: "A rendered label that is not applied is a difference.", rendered: set("new", "metadata", "labels", "new")},
		"NoPolicy":         {reason: "An applied run policy that is no longer rendered is a difference.", rendered: without("metadata", "annotations", common.AnnotationRunPolicy)},
		"OtherPolicy":      {reason: "Another run policy, which is an annotation, is a difference.", rendered: set("CheckWhenObserve", "metadata", "annotations", common.AnnotationRunPolicy)},
		"OtherValue":       {reason: "Another value is a difference.", rendered: set(6.0, "spec", "forProvider", "unsafeVars", "size")},
		"OtherUnmanaged":   {reason: "Another value is a difference without managed fields, too.", observed: without("metadata", "managedFields"), rendered: set(6.0, "spec", "forProvider", "unsafeVars", "size")},
		"Removed":          {reason: "An applied value that is no longer rendered is a difference.", rendered: without("spec", "forProvider", "vars", "text")},
		"Changed":          {reason: "A value that another manager has added to spec.forProvider, which is applied as a whole, is a difference.", observed: set(1.0, "spec", "forProvider", "vars", "theirs")},
		"Added":            {reason: "A new value is a difference.", rendered: set(1.0, "spec", "forProvider", "vars", "theirs")},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			observed, rendered := read(t, "testdata/observed.yaml"), read(t, "testdata/rendered.yaml")

			if tc.observed != nil {
				tc.observed(observed)
			}

			if tc.rendered != nil {
				tc.rendered(rendered)
			}

			if got := IsApplied(observed, appliedOf(t, observed), rendered); got != tc.want {
				t.Errorf("\n%s\nisApplied(...): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

func TestIsReady(t *testing.T) {
	conditions := func(ready, synced string, generation float64) map[string]any {
		return map[string]any{
			"metadata": map[string]any{"generation": 2.0},
			"status": map[string]any{"conditions": []any{
				map[string]any{"type": "Ready", "status": ready, "observedGeneration": generation},
				map[string]any{"type": "Synced", "status": synced, "observedGeneration": generation},
			}},
		}
	}

	deleted := conditions("True", "True", 2)
	set("2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")(deleted)

	cases := map[string]struct {
		reason string
		o      map[string]any
		want   bool
	}{
		"Ready":          {reason: "An AnsibleRun that is Ready and Synced in the current generation is ready.", o: conditions("True", "True", 2), want: true},
		"NotReady":       {reason: "Ready must be True.", o: conditions("False", "True", 2)},
		"NotSynced":      {reason: "Synced must be True.", o: conditions("True", "False", 2)},
		"OldGeneration":  {reason: "Conditions of an earlier generation do not count.", o: conditions("True", "True", 1)},
		"NoConditions":   {reason: "Without conditions, an AnsibleRun is not ready.", o: map[string]any{}},
		"BeingDeleted":   {reason: "An AnsibleRun that is being deleted is not ready.", o: deleted},
		"NoObservedGen":  {reason: "A condition without observedGeneration does not count.", o: map[string]any{"metadata": map[string]any{"generation": 1.0}, "status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "Synced", "status": "True"}}}}},
		"WrongStructure": {reason: "An object of another structure is not ready.", o: map[string]any{"status": "x", "metadata": 1.0}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := IsReady(tc.o); got != tc.want {
				t.Errorf("\n%s\nisReady(...): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

// observe writes testdata/observed.yaml: an AnsibleRun that core has applied and other managers have changed.
func observe(t *testing.T) {
	t.Helper()

	env := &envtest.Environment{CRDDirectoryPaths: []string{"../../package-provider/crds"}}

	cfg, err := env.Start()
	needs.OK(t, err)

	defer func() { _ = env.Stop() }()

	c, err := client.New(cfg, client.Options{})
	needs.OK(t, err)

	u := &unstructured.Unstructured{Object: withCoreMetadata(read(t, "testdata/rendered.yaml"))}
	u.SetNamespace("default")
	u.SetName("example")

	core := client.FieldOwner(managerComposed + "0123456789abcdef")

	for _, change := range []func() error{
		func() error {
			return c.Apply(context.Background(), client.ApplyConfigurationFromUnstructured(u), client.ForceOwnership, core)
		},
		func() error {
			return c.Patch(context.Background(), u, client.RawPatch(types.MergePatchType, []byte(`{
				"metadata": {"labels": {"theirs": "1"}, "annotations": {"theirs": "1"}, "finalizers": ["example.org/theirs"]},
				"spec": {"writeConnectionSecretToRef": {"name": "theirs"}}
			}`)))
		},
		func() error {
			return c.Status().Patch(context.Background(), u, client.RawPatch(types.MergePatchType, []byte(`{
				"status": {"atProvider": {"outputs": {"size": 5}}}
			}`)))
		},
	} {
		needs.OK(t, change())
	}

	// Applying what was applied must change nothing.
	again := &unstructured.Unstructured{}
	again.Object = appliedOf(t, u.Object)
	again.SetNamespace("default")
	again.SetName("example")

	needs.OK(t, c.Apply(context.Background(), client.ApplyConfigurationFromUnstructured(again), client.ForceOwnership, core))

	if diff := cmp.Diff(u.Object, again.Object); diff != "" {
		t.Fatalf("Applying what was applied changed something: -before, +after:\n%s", diff)
	}

	b, err := yaml.Marshal(u.Object)
	needs.OK(t, err)

	needs.OK(t, os.WriteFile("testdata/observed.yaml", b, 0o600))
}

// withCoreMetadata adds the label and the annotation that core adds to composed resources.
func withCoreMetadata(o map[string]any) map[string]any {
	o = maps.Clone(o)

	metadata, _ := o["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)

	o["metadata"] = map[string]any{
		"labels":      manifest.Overlay(labels, map[string]any{"crossplane.io/composite": "example"}),
		"annotations": manifest.Overlay(annotations, map[string]any{"crossplane.io/composition-resource-name": "page"}),
	}

	return o
}

// appliedOf returns the applied part of an object with managed fields.
func appliedOf(t *testing.T, o map[string]any) map[string]any {
	t.Helper()

	s, err := structpb.NewStruct(o)
	needs.OK(t, err)

	return Applied(o, s)
}

// read returns an object from a YAML file, with all numbers as float64.
func read(t *testing.T, path string) map[string]any {
	t.Helper()

	b, err := os.ReadFile(path)
	needs.OK(t, err)

	j, err := yaml.YAMLToJSON(b)
	needs.OK(t, err)

	var o map[string]any
	needs.OK(t, json.Unmarshal(j, &o))

	return o
}

// FuzzEqual compares manifest.Equal and manifest.Within with the canonical forms.
func FuzzEqual(f *testing.F) {
	for _, s := range []string{`[null, {}]`, `[{"a": {}}, null]`, `[{"a": [{}, 1]}, {"a": [null, 1.0], "b": null}]`, `[{"a": ""}, {}]`, `["a", {}]`, `[[], {}]`, `[[], null]`, `[{"a": {"b": 1}}, {"a": {"b": 1, "c": {"d": {}}}}]`} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, s string) {
		var pair []any
		if json.Unmarshal([]byte(s), &pair) != nil || len(pair) != 2 {
			return
		}

		a, b := pair[0], pair[1]

		want := reflect.DeepEqual(manifest.Canonical(a), manifest.Canonical(b))
		if manifest.Equal(a, b) != want || manifest.Equal(b, a) != want {
			t.Errorf("equal(%v, %v) is not %t", a, b, want)
		}

		if !manifest.Equal(a, a) || !manifest.Within(a, a) || want && (!manifest.Within(a, b) || !manifest.Within(b, a)) {
			t.Errorf("%v is not within %v", a, b)
		}
	})
}
