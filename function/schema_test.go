package main

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// TestRequireSchema checks that the schema of the XR is required only if core supports that.
func TestRequireSchema(t *testing.T) {
	type want struct {
		Requirements *fnv1.Requirements
		// half is nil when the run is held.
		Half  any
		Fatal string
	}

	required := &fnv1.Requirements{Schemas: map[string]*fnv1.SchemaSelector{"xr": {ApiVersion: "example.org/v1", Kind: "App"}}}

	half := step{runs: `[{name: app, vars: {half: "${xr.spec.ratio / 2.0}"}}]`, spec: "ratio: 3"}

	const asked = "meta: {capabilities: [CAPABILITY_REQUIRED_SCHEMAS]}\n"

	cases := map[string]struct {
		reason string
		given  string
		want   want
	}{
		"CannotGive": {
			reason: "An older core is not asked for the schema, and integral values are integers.",
		},
		"NotAsked": {
			reason: "At first the schema is required. A response without it keeps existing AnsibleRuns.",
			given:  asked,
			want:   want{Requirements: required},
		},
		"Given": {
			reason: "With the schema, a number is a double.",
			given:  schemaOf("spec: {type: object, properties: {ratio: {type: number}}}"),
			want:   want{Requirements: required, Half: 1.5},
		},
		"Misspelt": {
			reason: "With the schema, a misspelt field is a mistake of the Composition.",
			given:  schemaOf("spec: {type: object, properties: {rations: {type: number}}}"),
			want:   want{Requirements: required, Fatal: "invalid input:\n" + `runs[0].vars.half: Invalid value: "${xr.spec.ratio / 2.0}": xr.spec has no field "ratio" (did you mean "rations"?), here: xr.spec▸.ratio / 2.0`},
		},
		"NotFound": {
			reason: "If core has no schema, expressions are compiled without one.",
			given:  asked + "requiredSchemas: {xr: {}}",
			want:   want{Requirements: required},
		},
	}

	// All requests go to one function, which caches compiled inputs.
	f := newFunction(t)

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			half.more = tc.given

			rsp, err := f.RunFunction(t.Context(), half.request(t))
			if err != nil {
				t.Fatalf("\n%s\nf.RunFunction(...): %v", tc.reason, err)
			}

			got := want{Requirements: withDefaults(rsp).GetRequirements()}
			got.Half = manifest.Nested(rsp.GetDesired().GetResources()["app"].GetResource().AsMap(), "spec", "forProvider", "unsafeVars", "half")

			for _, r := range rsp.GetResults() {
				if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
					got.Fatal = r.GetMessage()
				}
			}

			if diff := cmp.Diff(tc.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("\n%s\nf.RunFunction(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// A canceled request has an error and no response.
func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()

	rsp, err := newFunction(t).RunFunction(ctx, step{runs: "[{name: app}]"}.request(t))
	if err == nil {
		t.Errorf("f.RunFunction(...): want an error, got %v", rsp)
	}
}
