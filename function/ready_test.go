package main

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// A run is ready when its AnsibleRun is, and what the Composition asks for is true.
func TestReadyWhen(t *testing.T) {
	const database = "- {name: database, runPolicy: RunOnChange, role: acme.postgres.server, vars: {size: \"${xr.spec.size}\"}, readyWhen: %}\n"

	single := "observed:\n  resources:\n    database:" + observedRun
	members := "observed:\n  resources:" + zone("eu", readyStatus) + zone("us", readyStatus)
	set := strings.NewReplacer("role:", "forEach: \"${xr.spec.zones}\", role:", "xr.spec.size", "each.value").Replace(database)

	cases := map[string]struct {
		reason    string
		input     string
		readyWhen string
		observed  string
		// want is the message of the condition; "" for a ready XR.
		want string
	}{
		"True":      {reason: "It sees what came of the run itself.", readyWhen: `"${runs.database.outputs.port == 5432}"`, observed: single + readyStatus},
		"Literal":   {reason: "It may be literal.", readyWhen: `true`, observed: single + readyStatus},
		"False":     {reason: "Until it is true the XR is not ready.", readyWhen: `"${runs.database.outputs.port == 1}"`, observed: single + readyStatus, want: "database: is not ready yet: readyWhen is false"},
		"Missing":   {reason: "A value that is missing is not there yet.", readyWhen: `"${runs.database.outputs.leader != ''}"`, observed: single + readyStatus, want: "database: readyWhen: runs.database.outputs.leader is not there yet"},
		"None":      {reason: "Nor is one that is left out.", readyWhen: `"${runs.database.outputs.?leader}"`, observed: single + readyStatus, want: "database: is not ready yet: readyWhen is null"},
		"NoBoolean": {reason: "What is not true is not.", readyWhen: `"${runs.database.outputs.port}"`, observed: single + readyStatus, want: "database: is not ready yet: readyWhen is 5432"},
		"Fails":     {reason: "It may say why.", readyWhen: `"${runs.database.outputs.port == 1 || fail('the port is not 1')}"`, observed: single + readyStatus, want: "database: readyWhen: the port is not 1"},
		"Running":   {reason: "It does not make ready what is not.", readyWhen: `true`, observed: single, want: "database: is running"},
		"Local":     {reason: "A local sees the run, too.", input: "locals: {port: \"${runs.database.outputs.port}\"}\nruns:\n" + database, readyWhen: `"${locals.port == 1}"`, observed: single + readyStatus, want: "database: is not ready yet: readyWhen is false"},
		"Waits":     {reason: "Others wait for it.", input: "runs:\n" + database + "- {name: app, role: acme.app.server, dependsOn: [database]}\n", readyWhen: `false`, observed: single + readyStatus, want: "database: is not ready yet: readyWhen is false\napp: waiting for database"},
		"Set":       {reason: "Of a set it sees the run of its own key.", input: "runs:\n" + set, readyWhen: `"${runs.database[each.key].outputs.port == 5432 && (each.key == 'eu' || 'eu' in runs.database)}"`, observed: members, want: "database[us]: is not ready yet: readyWhen is false"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			input := tc.input
			if input == "" {
				input = "runs:\n" + database
			}

			req := request(t, tc.observed+"\n  composite: {resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app, namespace: default}, spec: {size: 5, zones: {eu: 5, us: 5}}}}\n")
			req.Input = request(t, "input:\n  apiVersion: ansible.fn.crossplane.io/v1alpha1\n  kind: AnsibleRuns\n"+indent(strings.Replace(input, "%", tc.readyWhen, 1), "  ")).GetInput()

			rsp := respond(t, req)

			if got := rsp.GetConditions()[0].GetMessage(); got != tc.want {
				t.Errorf("\n%s\nRunFunction(...): want %q, got %q, %v", tc.reason, tc.want, got, rsp.GetResults())
			}

			ready := rsp.GetDesired().GetComposite().GetReady() != fnv1.Ready_READY_FALSE
			for _, r := range rsp.GetDesired().GetResources() {
				ready = ready && r.GetReady() == fnv1.Ready_READY_TRUE
			}

			if ready != (tc.want == "") || len(rsp.GetDesired().GetResources()) == 0 {
				t.Errorf("\n%s\nRunFunction(...): want readiness %t, got %v", tc.reason, tc.want == "", rsp.GetDesired())
			}
		})
	}
}

func TestReadyWhenInvalid(t *testing.T) {
	const input = `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  runs:
  - {name: a, role: acme.app.server, readyWhen: "yes", vars: {b: "${runs.b.outputs}"}}
  - {name: b, role: acme.app.server, readyWhen: "${runs.a.ready}"}
  - {name: c, role: acme.app.server, readyWhen: "${runs.c.ready}"}
  - {name: d, role: acme.app.server, readyWhen: "${runs.d.reddy}"}
observed: {composite: {resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app, namespace: default}}}}
`

	rsp := respond(t, request(t, input))

	got := rsp.GetResults()[0].GetMessage()
	for _, want := range []string{
		`runs[0].readyWhen: Invalid value: "yes": must be true, false, or an expression`,
		`runs[3].readyWhen: Invalid value: "${runs.d.reddy}": runs.d has no field "reddy"`,
		`cannot depend on itself`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %s, got:\n%s", want, got)
		}
	}

	if strings.Contains(got, "runs[2]") {
		t.Errorf("a run may look at itself, got:\n%s", got)
	}
}
