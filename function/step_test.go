package main

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// A step is a request for an XR in a short form, and the wanted response.
type step struct {
	reason string

	// runs are the runs of the input, with a role by default. input has its other fields, or all without runs.
	defaults, locals, runs, input string
	// spec, annotations and status are fields of the XR. xr is the whole XR instead.
	spec, annotations, status, xr string
	// observed are the observed resources. departing are AnsibleRuns that are required, but not observed any more.
	observed, departing string
	// earlier are the desired resources of earlier steps, context is the context, and more has other fields of the
	// request.
	earlier, context, more string

	// want are the names of the desired resources. said is the reason and the message of AnsibleRunsReady, or a Fatal
	// result.
	want, said string
	// conditions are the other conditions of the XR, and shown is its status.
	conditions []string
	shown      string
	// fields has fields of desired resources in YAML, by the name and a path, as in "app spec.forProvider".
	fields map[string]string
	// response is the whole response, if it is compared.
	response string
}

// check checks steps by name.
func check(t *testing.T, steps map[string]step) {
	t.Helper()

	for name, s := range steps {
		t.Run(name, func(t *testing.T) { s.check(t) })
	}
}

func (s step) check(t *testing.T) {
	t.Helper()

	rsp := s.respond(t)

	if s.response != "" {
		same(t, s.reason, s.response, rsp)
		return
	}

	want := map[string]any{"composed": s.want, "said": s.said, "conditions": s.conditions, "status": object(t, s.shown)}
	got := map[string]any{"composed": namesOf(rsp), "said": said(rsp), "conditions": conditionsOf(rsp), "status": statusOf(rsp)}

	if len(rsp.GetConditions()) > 0 && !strings.HasPrefix(said(rsp), "invalid input:") {
		want["ready"] = rsp.GetConditions()[0].GetStatus() == fnv1.Status_STATUS_CONDITION_TRUE
		got["ready"] = isReady(rsp)
	}

	for at, value := range s.fields {
		i := strings.LastIndex(at, " ")
		want[at] = object(t, "value: "+value)["value"]
		got[at] = manifest.Nested(rsp.GetDesired().GetResources()[at[:i]].GetResource().AsMap(), strings.Split(at[i+1:], ".")...)
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("\n%s\n-want, +got:\n%s", s.reason, diff)
	}
}

// respond returns the response to the step.
func (s step) respond(t *testing.T) *fnv1.RunFunctionResponse {
	t.Helper()

	return respond(t, s.request(t))
}

// request returns the request of the step.
func (s step) request(t *testing.T) *fnv1.RunFunctionRequest {
	t.Helper()

	in := s.input
	if s.runs != "" {
		in = "defaults: {role: a.b.c, " + s.defaults + "}\nlocals: {" + s.locals + "}\nruns: " + s.runs + "\n" + s.input
	}

	xr := s.xr
	if xr == "" {
		xr = "apiVersion: example.org/v1, kind: App, metadata: {name: app, namespace: default, uid: xr, annotations: {" + s.annotations + "}}, spec: {" +
			s.spec + "}"
		if s.status != "" {
			xr += ", status: {" + s.status + "}"
		}
	}

	text := "input:\n  apiVersion: ansible.fn.crossplane.io/v1alpha1\n  kind: AnsibleRuns\n" + indent(in, "  ") +
		"\nobserved:\n  composite: {resource: {" + xr + "}}\n  resources: " + s.observed + "\n" + s.more

	for _, part := range [][2]string{
		{"required_resources:\n  ansible.fn.crossplane.io/runs/ansible.m.crossplane.io/v1alpha1:\n    items: ", s.departing},
		{"desired:\n  resources: ", s.earlier},
		{"context: ", s.context},
	} {
		if part[1] != "" {
			text += "\n" + part[0] + part[1] + "\n"
		}
	}

	return request(t, text)
}

// isReady is true for a response with which core makes the XR ready.
func isReady(rsp *fnv1.RunFunctionResponse) bool {
	ready := rsp.GetDesired().GetComposite().GetReady() != fnv1.Ready_READY_FALSE
	for _, r := range rsp.GetDesired().GetResources() {
		ready = ready && r.GetReady() != fnv1.Ready_READY_FALSE
	}

	return ready
}

// namesOf returns the names of the desired resources in a response.
func namesOf(rsp *fnv1.RunFunctionResponse) string {
	return strings.Join(slices.Sorted(maps.Keys(rsp.GetDesired().GetResources())), ", ")
}

// said returns the reason and the message of AnsibleRunsReady, or a Fatal result.
func said(rsp *fnv1.RunFunctionResponse) string {
	for _, r := range rsp.GetResults() {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			return r.GetMessage()
		}
	}

	if len(rsp.GetConditions()) == 0 {
		return ""
	}

	return strings.TrimSpace(rsp.GetConditions()[0].GetReason() + " " + rsp.GetConditions()[0].GetMessage())
}

// conditionsOf returns the conditions of a response except AnsibleRunsReady, in one line each.
func conditionsOf(rsp *fnv1.RunFunctionResponse) []string {
	var all []string
	for _, c := range rsp.GetConditions()[min(1, len(rsp.GetConditions())):] {
		all = append(all, strings.Join([]string{c.GetType(), strings.TrimPrefix(c.GetStatus().String(), "STATUS_CONDITION_"), c.GetReason(), c.GetMessage()}, "|"))
	}

	return all
}

// statusOf returns the status of the XR in a response.
func statusOf(rsp *fnv1.RunFunctionResponse) map[string]any {
	status, _ := rsp.GetDesired().GetComposite().GetResource().AsMap()["status"].(map[string]any)
	return status
}

// mistakes checks that the input of a step is invalid, with all of these mistakes.
func (s step) mistakes(t *testing.T, want ...string) {
	t.Helper()

	got := said(s.respond(t))
	for _, mistake := range want {
		if !strings.Contains(got, mistake) {
			t.Errorf("want %s, got:\n%s", mistake, got)
		}
	}
}

// same fails unless a response is as wanted, without the fields of all responses.
func same(t *testing.T, reason, want string, got *fnv1.RunFunctionResponse) {
	t.Helper()

	rsp := &fnv1.RunFunctionResponse{}
	fromYAML(t, want, rsp)

	if diff := cmp.Diff(withDefaults(rsp), withDefaults(got), protocmp.Transform()); diff != "" {
		t.Errorf("\n%s\nf.RunFunction(...): -want rsp, +got rsp:\n%s", reason, diff)
	}
}

// withDefaults adds the fields that are the same in all responses.
func withDefaults(rsp *fnv1.RunFunctionResponse) *fnv1.RunFunctionResponse {
	if rsp.GetMeta() == nil {
		rsp.Meta = &fnv1.ResponseMeta{}
	}

	rsp.Meta.Ttl = durationpb.New(0)

	// The steps in the context have the same content as the condition.
	if delete(rsp.GetContext().GetFields(), "ansible.fn.crossplane.io/steps"); len(rsp.GetContext().GetFields()) == 0 {
		rsp.Context = nil
	}

	// Required AnsibleRuns are selected by this label.
	for _, r := range rsp.GetDesired().GetResources() {
		metadata := r.GetResource().GetFields()["metadata"].GetStructValue()
		labels := metadata.GetFields()["labels"].GetStructValue()

		if delete(labels.GetFields(), "ansible.fn.crossplane.io/composite-uid"); labels != nil && len(labels.GetFields()) == 0 {
			delete(metadata.GetFields(), "labels")
		}
	}

	required := rsp.GetRequirements().GetResources()
	maps.DeleteFunc(required, func(name string, _ *fnv1.ResourceSelector) bool { return strings.HasPrefix(name, "ansible.fn.") })

	if len(required)+len(rsp.GetRequirements().GetSchemas()) == 0 {
		rsp.Requirements = nil
	}

	return rsp
}

// respond returns the response of a new function to a request. It checks that the same request has the same response:
// otherwise, core would compose the XR again and again.
func respond(t *testing.T, req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	t.Helper()

	first, again := respondOnce(t, req), respondOnce(t, req)
	if !proto.Equal(first, again) {
		t.Errorf("f.RunFunction(...): -once, +again:\n%s", cmp.Diff(first, again, protocmp.Transform()))
	}

	return again
}

func respondOnce(t *testing.T, req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	t.Helper()

	rsp, err := newFunction(t).RunFunction(t.Context(), proto.CloneOf(req))
	needs.OK(t, err)

	return rsp
}

// newFunction returns a function with a constant time.
func newFunction(tb testing.TB) *Function {
	tb.Helper()

	f := NewFunction(logging.NewNopLogger())
	f.now = func() time.Time { return time.Date(2026, 11, 21, 10, 0, 0, 5e8, time.FixedZone("CET", 3600)) }

	return f
}

func request(t *testing.T, y string) *fnv1.RunFunctionRequest {
	t.Helper()

	req := &fnv1.RunFunctionRequest{}
	fromYAML(t, y, req)

	return req
}

func fromYAML(t *testing.T, y string, m proto.Message) {
	t.Helper()

	j, err := yaml.YAMLToJSON([]byte(y))
	if err != nil {
		t.Fatalf("%v:\n%s", err, y)
	}

	if err := protojson.Unmarshal(j, m); err != nil {
		t.Fatalf("%v:\n%s", err, j)
	}
}

// object returns an object from YAML; nil for "".
func object(t *testing.T, s string) map[string]any {
	t.Helper()

	var o map[string]any
	needs.OK(t, yaml.Unmarshal([]byte(s), &o))

	return o
}

func indent(s, by string) string {
	return by + strings.ReplaceAll(strings.Trim(s, "\n"), "\n", "\n"+by)
}

// quoted returns a string in JSON, which is valid YAML.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}

	return string(b)
}

// condition returns the condition AnsibleRunsReady of a response, in YAML.
func condition(status, reason, message string) string {
	return "\nconditions: [{type: AnsibleRunsReady, status: STATUS_CONDITION_" + status + ", reason: " + reason + ", message: " + quoted(message) +
		", target: TARGET_COMPOSITE_AND_CLAIM}]\n"
}

// event returns a result of a response that becomes an event, in YAML.
func event(severity, reason, message string) string {
	return "results: [{severity: SEVERITY_" + severity + ", reason: " + reason + ", message: " + quoted(message) + ", target: TARGET_COMPOSITE_AND_CLAIM}]\n"
}

// warned returns a condition and an event with its message.
func warned(status, reason, message string) string {
	return condition(status, reason, message) + event("WARNING", reason, message)
}

// one returns a response with one running AnsibleRun, in YAML, with its parameters and metadata.
func one(parameters string, more ...string) string {
	metadata, spec := "", ""
	if len(more) > 0 {
		metadata = more[0]
	}

	if len(more) > 1 {
		spec = more[1]
	}

	return "desired:\n  resources:" + rendered("app", parameters, metadata, spec) + condition("FALSE", "Running", "app: is running")
}

// rendered returns a desired AnsibleRun that is not ready.
func rendered(name, parameters, metadata, spec string) string {
	return `
    ` + name + `:
      ready: READY_FALSE
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata: {` + metadata + `}
        spec: {providerConfigRef: {kind: ClusterProviderConfig, name: default}, forProvider: {role: a.b.c, ` + parameters + `}, ` + spec + `}`
}

// readyOf is the status of a ready AnsibleRun with outputs.
const readyOf = `status: {atProvider: {outputs: {url: there}}, conditions: [{type: Ready, status: "True", observedGeneration: 1}, {type: Synced, status: "True", observedGeneration: 1}]}`

// existing returns a ready AnsibleRun of the XR with UID xr that core has applied.
func existing(name, on, parameters string) string {
	after := ""
	if on != "" {
		after = `, ansible.fn.crossplane.io/depends-on: "` + on + `"`
	}

	return `
    ` + name + `:
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata:
          name: app-` + name + `
          namespace: default
          uid: ` + name + `
          generation: 1
          ownerReferences: [{uid: xr, controller: true}]
          labels: {ansible.fn.crossplane.io/composite-uid: xr}
          annotations: {crossplane.io/composition-resource-name: "` + name + `"` + after + `}
        spec: {providerConfigRef: {kind: ClusterProviderConfig, name: default}, forProvider: {` + parameters + `}}
        ` + readyOf
}

// using returns the observed Usage of an AnsibleRun by another one.
func using(by, of string) string {
	return `
    ` + by + ` uses ` + of + `:
      resource:
        apiVersion: protection.crossplane.io/v1beta1
        kind: Usage
        metadata: {namespace: default, name: "` + by + `-` + of + `"}
        spec:
          of: {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, resourceRef: {name: "app-` + of + `"}}
          by: {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, resourceRef: {name: "app-` + by + `"}}
`
}

// asDeparting returns existing AnsibleRuns as required ones that are not observed any more.
func asDeparting(resources string) string {
	return regexp.MustCompile(`(?m)^    [^ ]*:$`).ReplaceAllString(resources, "    -")
}

// schemaOf returns the schema of the XR with these properties, as a request has it.
func schemaOf(properties string) string {
	return "meta: {capabilities: [CAPABILITY_CAPABILITIES, CAPABILITY_REQUIRED_SCHEMAS]}\nrequired_schemas: {xr: {openapi_v3: {type: object, properties: {" + properties + "}}}}\n"
}

// aRun returns an observed AnsibleRun with a status.
func aRun(name, status string) string {
	return strings.Replace(existing(name, "", "role: a.b.c"), readyOf, status, 1)
}

// ready returns the status of a ready AnsibleRun with further conditions and fields.
func ready(conditions, atProvider string) string {
	return `status:
          conditions: [{type: Ready, status: "True", observedGeneration: 1}, {type: Synced, status: "True", observedGeneration: 1}, ` + conditions + `]
          atProvider: {` + atProvider + `}
`
}
