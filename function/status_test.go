package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestWholeStatus checks a status that is one expression in consecutive calls. Between them, core applies the response.
func TestWholeStatus(t *testing.T) {
	const outputs = "${runs.server.outputs.status}"

	schema := schemaOf("status: {type: object, required: [from], properties: {host: {type: string}, port: {type: integer}, from: {type: string}}}")

	cases := map[string]struct {
		reason string
		status string
		schema string
		runs   string
		// before is the status of the XR before the first call.
		before string
		calls  []call
	}{
		"Fields": {
			reason: "The status has the fields that the run reports. Fields that it does not report any more are removed.",
			status: outputs,
			calls: []call{
				{said: "Running server: is running"},
				{reports: `{status: {host: a, port: 1, deep: {a: x, b: y}}}`, want: `{host: a, port: 1, deep: {a: x, b: y}}`},
				{reports: `{status: {host: b, deep: {b: z}}}`, want: `{host: b, deep: {b: z}}`},
				{reports: `{status: {}}`},
			},
		},
		"Kept": {
			reason: "While the status has no value, its fields stay. Fields of other field managers are not taken over.",
			status: outputs,
			calls: []call{
				{reports: `{status: {host: a, port: 1}}`, want: `{host: a, port: 1}`},
				{want: `{host: a, port: 1}`, said: "Running server: is running"},
				{reports: `{}`, want: `{host: a, port: 1}`, said: "InvalidStatus status: runs.server.outputs.status is not there yet"},
				{reports: `{status: {port: 2}}`, want: `{port: 2}`},
			},
		},
		"NotSet": {
			reason: "A value that is missing in the XR keeps the status, too.",
			status: "${runs.server.outputs.status.merge({'zone': xr.spec.zone})}",
			calls: []call{
				{reports: `{status: {host: a}}`, said: "InvalidStatus status: xr.spec.zone is not set; write xr.spec.?zone if it may be missing"},
			},
		},
		"None": {
			reason: "A status that is optional.none() is removed.",
			status: "${runs.server.outputs.?status}",
			calls: []call{
				{reports: `{status: {host: a}}`, want: `{host: a}`},
				{reports: `{}`},
			},
		},
		"NotWanted": {
			reason: "The status of an unwanted run is removed.",
			status: outputs,
			runs:   `[{name: server, when: false}]`,
			calls:  []call{{reports: `{status: {host: a}}`}},
		},
		"NoObject": {
			reason: "A status that is not an object is a problem, and changes nothing.",
			status: outputs,
			calls: []call{
				{reports: `{status: {host: a}}`, want: `{host: a}`},
				{reports: `{status: [host, a]}`, want: `{host: a}`, said: "InvalidStatus status: must be an object"},
				{reports: `{status: host}`, want: `{host: a}`, said: "InvalidStatus status: must be an object"},
			},
		},
		"NoObjectWithSchema": {
			reason: "A status that is not an object is a problem with a schema, too.",
			status: outputs,
			schema: schema,
			calls:  []call{{reports: `{status: [host, a]}`, said: "InvalidStatus status: is not of type object, as the XRD says"}},
		},
		"Reserved": {
			reason: "A run cannot set fields and conditions of Crossplane or the function. Other fields stay as they are.",
			status: outputs,
			calls: []call{
				{reports: `{status: {host: a}}`, want: `{host: a}`},
				{
					reports: `{status: {host: b, conditions: [{type: Ready, status: "True"}], crossplane: {a: b}}}`, want: `{host: a}`,
					said: "InvalidStatus status.conditions[0]: the condition Ready is set by Crossplane or by function-ansible itself\nstatus.crossplane: this field is Crossplane's own; leave it out of the value",
				},
			},
		},
		"Misfit": {
			reason: "A status that does not fit the XRD is a problem, and changes nothing.",
			status: outputs,
			schema: schema,
			calls: []call{
				{reports: `{status: {host: 5, port: "80", from: null}}`, want: `{host: "5", port: 80}`},
				{reports: `{status: {host: b, port: many}}`, want: `{host: "5", port: 80}`, said: "InvalidStatus status.port: is not of type integer, as the XRD says"},
				{reports: `{status: {hots: b}}`, want: `{host: "5", port: 80}`, said: `InvalidStatus status: the XRD does not declare its field "hots" (did you mean "host"?)`},
			},
		},
		"KeptMisfit": {
			reason: "A field that does not fit the XRD any more is not kept, since it would block the whole XR.",
			status: outputs,
			before: `{port: many}`,
			schema: schema,
			calls: []call{
				{said: "Running server: is running"},
				{reports: `{status: {host: a}}`, want: `{host: a}`},
			},
		},
		"RequiredOfOthers": {
			reason: "Another step may have a field that the XRD requires.",
			status: outputs,
			schema: schema,
			calls:  []call{{reports: `{status: {host: a}}`, earlier: `{from: step}`, want: `{host: a, from: step}`}},
		},
		"EarlierStep": {
			reason: "Fields of this step win over those of an earlier step, which win over kept fields.",
			status: outputs,
			calls: []call{
				{reports: `{status: {host: a, deep: {b: ours}}}`, earlier: `{from: one, host: theirs, deep: {a: one}}`, want: `{host: a, from: one, deep: {a: one, b: ours}}`},
				{earlier: `{from: two, deep: {a: two}}`, want: `{host: a, from: two, deep: {a: two, b: ours}}`, said: "Running server: is running"},
				{reports: `{status: 5}`, earlier: `{from: three, host: theirs, deep: gone}`, want: `{host: theirs, from: three, deep: gone}`, said: "InvalidStatus status: must be an object"},
				{reports: `{status: {port: 1}}`, earlier: `{from: four}`, want: `{port: 1, from: four}`},
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.runs == "" {
				tc.runs = "[{name: server}]"
			}

			live := apiServer(t, "{type: object, properties: {status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}")
			live.apply(t, object(t, tc.before))

			needs.OK(t, live.Apply(xrWith(map[string]any{"theirs": "kept"}), "another", false))

			for i, c := range tc.calls {
				observed := ""
				if c.reports != "" {
					observed = aRun("server", ready("", "outputs: "+c.reports))
				}

				live.call(t, tc.reason, i, c, step{runs: tc.runs, input: "status: " + quoted(tc.status), observed: observed, more: tc.schema})
			}
		})
	}
}

// Without managed fields, all fields that Crossplane does not own stay.
func TestWholeStatusUnmanaged(t *testing.T) {
	step{
		reason: "Without managed fields, all fields that Crossplane does not own stay.", runs: "[{name: server}]", input: `status: "${runs.server.outputs}"`,
		status: "host: a, conditions: [], claimConditionTypes: [a], crossplane: {}", want: "server", said: "Running server: is running", shown: "{host: a}",
	}.check(t)
}

// TestStatusApplies applies the status of consecutive calls with the code of the API server. A map without entries is
// removed, and not null. A status that the API server would refuse is a problem, and keeps the observed one.
func TestStatusApplies(t *testing.T) {
	const xrd = `
type: object
properties:
  status:
    type: object
    x-kubernetes-validations:
    - {rule: "!has(self.low) || !has(self.high) || self.low <= self.high", message: low must not be above high}
    - {rule: "!has(oldSelf.high) || has(self.high)", message: high stays}
    properties:
      tags: {type: object, additionalProperties: {type: string}}
      deep: {type: object, properties: {a: {type: string}, tags: {type: object, additionalProperties: {type: string}}}}
      atomic: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string}}
      list: {type: array, items: {type: object, properties: {tags: {type: object, additionalProperties: {type: string}}}}}
      set: {type: array, x-kubernetes-list-type: set, items: {type: string}}
      named: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id], items: {type: object, required: [id], properties: {id: {type: string}, tags: {type: object, additionalProperties: {type: string}}}}}
      any: {type: object, x-kubernetes-preserve-unknown-fields: true}
      pair: {type: object, required: [tags], properties: {a: {type: string}, tags: {type: object, additionalProperties: {type: string}}}}
      low: {type: integer, x-kubernetes-validations: [{rule: "self > 0", message: must be positive}]}
      high: {type: integer}
      must: {type: integer}
      conditions: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [type], items: {type: object, required: [type], properties: {type: {type: string}}}}
`

	cases := map[string]struct {
		reason string
		status string
		// required has the required fields of the status.
		required string
		// unknown is true if core has no schema.
		unknown bool
		calls   []call
	}{
		"Map":     {reason: "A map without entries is removed.", calls: []call{{spec: `{tags: {a: b}}`, want: `{tags: {a: b}}`}, {spec: `{tags: {}, high: 1}`, want: `{high: 1}`}, {spec: `{tags: {c: d}, high: 1}`, want: `{tags: {c: d}, high: 1}`}}},
		"Unknown": {reason: "A map without entries is removed without a schema, too.", unknown: true, calls: []call{{spec: `{tags: {a: b}, any: {a: {b: c}}}`, want: `{tags: {a: b}, any: {a: {b: c}}}`}, {spec: `{tags: {}, any: {a: {}, d: e}}`, want: `{any: {d: e}}`}}},
		"Whole":   {reason: "A map without entries is removed from a status that is one expression.", status: `"${xr.spec}"`, calls: []call{{spec: `{tags: {a: b}, high: 1}`, want: `{tags: {a: b}, high: 1}`}, {spec: `{tags: {}, high: 1}`, want: `{high: 1}`}}},
		"Deep":    {reason: "A map without entries is removed at any depth.", calls: []call{{spec: `{deep: {a: x, tags: {a: b}}}`, want: `{deep: {a: x, tags: {a: b}}}`}, {spec: `{deep: {a: x, tags: {}}}`, want: `{deep: {a: x}}`}, {spec: `{deep: {tags: {}}, high: 1}`, want: `{high: 1}`}}},
		"Set":     {reason: "A merged list without items is removed.", calls: []call{{spec: `{set: [a], named: [{id: a, tags: {a: b}}]}`, want: `{set: [a], named: [{id: a, tags: {a: b}}]}`}, {spec: `{set: [], named: [{id: a, tags: {}}]}`, want: `{named: [{id: a}]}`}}},
		"Atomic": {
			reason: "An atomic value may be empty.",
			calls: []call{
				{spec: `{atomic: {a: b}, list: [{tags: {a: b}}]}`, want: `{atomic: {a: b}, list: [{tags: {a: b}}]}`},
				{spec: `{atomic: {}, list: [{tags: {}}]}`, want: `{atomic: {}, list: [{tags: {}}]}`},
				{spec: `{list: []}`, want: `{list: []}`},
			},
		},
		"Duplicates": {
			reason: "A duplicate in a set is refused.",
			calls:  []call{{spec: `{set: [a], high: 1}`, want: `{set: [a], high: 1}`}, {spec: `{set: [b, b], high: 2}`, want: `{set: [a], high: 2}`, said: `InvalidStatus status.set[1]: does not fit the XRD: Duplicate value: "b"`}},
		},
		"Rule":     {reason: "A rule of a field is checked.", calls: []call{{spec: `{low: 1}`, want: `{low: 1}`}, {spec: `{low: 0, tags: {a: b}}`, want: `{low: 1, tags: {a: b}}`, said: `InvalidStatus status.low: does not fit the XRD: Invalid value: 0: must be positive`}}},
		"Fields":   {reason: "A rule of several fields is checked.", calls: []call{{spec: `{low: 1, high: 2}`, want: `{low: 1, high: 2}`}, {spec: `{low: 3, high: 2}`, want: `{low: 1, high: 2}`, said: `InvalidStatus status: does not fit the XRD: Invalid value: low must not be above high`}, {spec: `{low: 3, high: 4}`, want: `{low: 3, high: 4}`}}},
		"Required": {reason: "A field that the XRD requires is not removed.", required: "[must]", calls: []call{{spec: `{deep: {a: x}, must: 1}`, want: `{deep: {a: x}, must: 1}`}, {spec: `{deep: {a: y}}`, want: `{deep: {a: x}, must: 1}`, said: `InvalidStatus status.must: does not fit the XRD: Required value`}}},
		"RequiredMap": {
			reason: "A map that the XRD requires is not removed when it has no entries.",
			calls: []call{
				{spec: `{pair: {a: x, tags: {a: b}}}`, want: `{pair: {a: x, tags: {a: b}}}`},
				{spec: `{pair: {a: y, tags: {}}}`, want: `{pair: {a: x, tags: {a: b}}}`, said: `InvalidStatus status.pair: tags has no entries, and the XRD requires it`},
			},
		},
		"Transition": {reason: "A transition rule is checked.", calls: []call{{spec: `{low: 1, high: 2}`, want: `{low: 1, high: 2}`}, {spec: `{low: 1}`, want: `{low: 1, high: 2}`, said: `InvalidStatus status: does not fit the XRD: Invalid value: high stays`}}},
		"Stale": {
			reason: "A field that is no longer in the template is removed, and does not block the status.",
			calls: []call{
				{spec: `{low: 3, high: 4}`, want: `{low: 3, high: 4}`},
				{status: `{high: "${xr.spec.high}"}`, spec: `{high: 2}`, want: `{high: 4}`, said: `InvalidStatus status: does not fit the XRD: Invalid value: low must not be above high`},
				{spec: `{high: 2}`, want: `{high: 2}`},
			},
		},
		"Earlier": {
			reason: "A refused status keeps its fields. Fields of an earlier step change, unless these would be refused, too.",
			status: `{high: "${xr.spec.high}", tags: "${xr.spec.?tags}"}`,
			calls: []call{
				{spec: `{high: 3, tags: {a: b}}`, earlier: `{low: 1}`, want: `{low: 1, high: 3, tags: {a: b}}`},
				{spec: `{high: 0}`, earlier: `{low: 2}`, want: `{low: 2, high: 3, tags: {a: b}}`, said: `InvalidStatus status: does not fit the XRD: Invalid value: low must not be above high`},
				{spec: `{high: 3}`, earlier: `{low: 4}`, want: `{low: 2, high: 3, tags: {a: b}}`, said: `InvalidStatus status: does not fit the XRD: Invalid value: low must not be above high`},
			},
		},
		"EarlierOfWhole": {
			reason: "A refused status that is one expression keeps its fields.",
			status: `"${xr.spec}"`,
			calls: []call{
				{spec: `{high: 3, deep: {a: x}}`, earlier: `{low: 1}`, want: `{low: 1, high: 3, deep: {a: x}}`},
				{spec: `{high: 0}`, earlier: `{low: 2}`, want: `{low: 2, high: 3, deep: {a: x}}`, said: `InvalidStatus status: does not fit the XRD: Invalid value: low must not be above high`},
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			xrd := xrd
			if tc.required != "" {
				xrd = strings.Replace(xrd, "    x-kubernetes", "    required: "+tc.required+"\n    x-kubernetes", 1)
			}

			live := apiServer(t, xrd)

			if tc.status == "" {
				var fields []string
				for _, f := range []string{"tags", "deep", "atomic", "list", "set", "named", "any", "pair", "low", "high", "must"} {
					fields = append(fields, f+`: "${xr.spec.?`+f+`}"`)
				}

				tc.status = "{" + strings.Join(fields, ", ") + "}"
			}

			for i, c := range tc.calls {
				if c.status != "" {
					tc.status = c.status
				}

				s := step{
					runs: "[{name: server}]", input: "status: " + tc.status, spec: strings.TrimSuffix(strings.TrimPrefix(c.spec, "{"), "}"), observed: existing("server", "", "role: a.b.c"),
				}
				if !tc.unknown {
					s.more = "required_schemas: {xr: {openapi_v3: " + asJSON(t, xrd) + "}}\n"
				}

				live.call(t, tc.reason, i, c, s)
			}
		})
	}
}

// A call is a call of the function for an XR.
type call struct {
	// spec is the spec of the XR.
	spec string
	// reports has the outputs of the run; "" while the run does not exist.
	reports string
	// earlier is the status of an earlier step of the pipeline.
	earlier string
	// status is the template from this call on, if it changes.
	status string
	// want is the applied status; "" for none.
	want string
	// said is the reason and the message of the condition; "" for Available.
	said string
}

// call calls the function with a step, and applies the status as core does.
func (s server) call(t *testing.T, reason string, i int, c call, of step) {
	t.Helper()

	of.more += "desired: {composite: {resource: {status: " + cmp.Or(c.earlier, "{}") + "}}}"
	req := of.request(t)

	xr := req.GetObserved().GetComposite().GetResource().AsMap()
	xr["status"], xr["metadata"].(map[string]any)["managedFields"] = s.read(t)
	req.Observed.Composite.Resource = structOf(xr)

	rsp := respond(t, req)

	s.apply(t, statusOf(rsp))

	got, _ := s.read(t)
	delete(got, "conditions")
	delete(got, "theirs")

	want := object(t, c.want)
	if diff := gocmp.Diff([]any{want, want, cmp.Or(c.said, "Available")}, []any{statusOf(rsp), got, said(rsp)}, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("\n%s\ncall %d: status in the response, that of the XR, and condition: -want, +got:\n%s", reason, i, diff)
	}
}

// A server applies the status of one XR as the API server does.
type server struct {
	managedfieldstest.TestFieldManager
}

// apiServer returns a server for an XR with a schema.
func apiServer(t *testing.T, definition string) server {
	t.Helper()

	props, internal := &apiextensionsv1.JSONSchemaProps{}, &apiextensions.JSONSchemaProps{}
	needs.OK(t, yaml.Unmarshal([]byte(definition), props))

	needs.OK(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil))

	structural, err := structuralschema.NewStructural(internal)
	needs.OK(t, err)

	gvk := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "App"}
	openAPI := structural.ToKubeOpenAPI()
	openAPI.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}})
	openAPI.SetProperty("apiVersion", *spec.StringProperty())
	openAPI.SetProperty("kind", *spec.StringProperty())
	openAPI.SetProperty("metadata", spec.Schema{
		SchemaProps: spec.SchemaProps{Type: []string{"object"}}, VendorExtensible: spec.VendorExtensible{Extensions: spec.Extensions{"x-kubernetes-preserve-unknown-fields": true}},
	})

	types, err := managedfields.NewTypeConverter(map[string]*spec.Schema{"App": openAPI}, false)
	needs.OK(t, err)

	return server{managedfieldstest.NewTestFieldManagerSubresource(types, gvk, "status")}
}

// apply applies a status as core does.
func (s server) apply(t *testing.T, status map[string]any) {
	t.Helper()

	with := map[string]any{"conditions": []any{map[string]any{"type": "Ready"}}}
	maps.Copy(with, status)

	if err := s.Apply(xrWith(with), "apiextensions.crossplane.io/composite", true); err != nil {
		t.Error(err)
	}
}

// xrWith returns an XR with a status.
func xrWith(status map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.org/v1", "kind": "App", "metadata": map[string]any{"name": "app"}, "status": status,
	}}
}

// read returns the status and its managed fields.
func (s server) read(t *testing.T) (status map[string]any, managed []any) {
	t.Helper()

	b, err := json.Marshal(map[string]any{"live": s.Live(), "managed": s.ManagedFields()})
	needs.OK(t, err)

	all := object(t, string(b))
	status, _ = all["live"].(map[string]any)["status"].(map[string]any)
	managed, _ = all["managed"].([]any)

	return status, managed
}
