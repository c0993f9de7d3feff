package main

import (
	stdcmp "cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// endpointOf says why an output that an expression reads is withheld.
func endpointOf(place string) string {
	return place + " is withheld: key password of Secret pg is in it; let the content publish it as a connection detail, " +
		"or keep the secret out of the output"
}

// An output that the provider withholds is there, and not known: nothing goes because of it, and nothing is made of it.
func TestWithheld(t *testing.T) {
	const (
		one  = `apiVersion: ansible.fn.crossplane.io/v1alpha1, kind: AnsibleRuns, defaults: {usages: false}, `
		runs = one + `runs: [{name: db, role: a.b.c}, {name: app, role: a.b.c, `
		set  = runs + `removal: {atMost: 9}, forEach: `
	)

	withholding := aRun("db", ready("", `outputs: {host: a}, withheldOutputs: {endpoint: key password of Secret pg is in it}`))
	app, members := existing("app", "db", "role: a.b.c"), existing("app[endpoint]", "db", "role: a.b.c")+existing("app[host]", "db", "role: a.b.c")

	cases := map[string]struct {
		reason   string
		input    string
		observed string
		// db is the AnsibleRun that withholds something; by default its output endpoint.
		db string
		// want is the state of the runs, and said the reason and the message of AnsibleRunsReady.
		want, said string
		// conditions and the status of the XR.
		conditions []string
		status     string
	}{
		"Read": {
			reason: "What reads it waits, and what exists stays as it is.",
			input:  runs + `vars: {e: "${runs.db.outputs.endpoint}"}}]`, observed: app,
			want: "app db", said: "OutputWithheld app: vars.e: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"New": {
			reason: "A run that reads it is not created.",
			input:  runs + `vars: {e: "at ${runs.db.outputs.endpoint}"}}]`,
			want:   "db", said: "OutputWithheld app: vars.e: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Others": {
			reason: "The other outputs are what they are.",
			input:  runs + `vars: {e: "${runs.db.outputs.host}"}, when: "${!has(runs.db.outputs.other)}"}]`,
			want:   "app db", said: "Running app: is running",
		},
		"Has": {
			reason: "Whether it is there is not known: nothing is removed.",
			input:  runs + `when: "${has(runs.db.outputs.endpoint)}"}]`, observed: app,
			want: "app db", said: "OutputWithheld app: when: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"HasNot": {
			reason: "Nor is anything created.",
			input:  runs + `when: "${!has(runs.db.outputs.endpoint)}"}]`,
			want:   "db", said: "OutputWithheld app: when: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Nameless": {
			reason:   "Of an output whose name is not known, each output may be the one.",
			input:    runs + `when: "${has(runs.db.outputs.other)}"}]`,
			observed: app, db: aRun("db", ready("", `outputs: {host: a}, withheldOutputs: {"": a secret is in its name}`)),
			want: "app db", said: "OutputWithheld app: when: runs.db.outputs is withheld: a secret is in its name; let the content publish it as a " +
				"connection detail, or keep the secret out of the output",
		},
		"NamelessReported": {
			reason:   "Likewise of a field that content reports for the status.",
			input:    runs + `when: "${has(runs.db.reported.other)}"}]`,
			observed: app, db: aRun("db", ready("", `outputs: {host: a}, withheldReported: {"": a secret is in its name}`)),
			want: "app db", said: "OutputWithheld app: when: runs.db.reported is withheld: a secret is in its name; let the content publish it as a " +
				"connection detail, or keep the secret out of the output",
		},
		"ReportedField": {
			reason:   "A field that content reports for the status is no output of that name.",
			input:    runs + `when: "${!has(runs.db.outputs.endpoint) && has(runs.db.reported.endpoint)}"}]`,
			observed: app, db: aRun("db", ready("", `outputs: {host: a}, withheldReported: {endpoint: key password of Secret pg is in it}`)),
			want: "app db", said: "OutputWithheld app: when: " + endpointOf("runs.db.reported.endpoint"),
		},
		"In": {
			reason: "The same, asked with `in`.",
			input:  runs + `when: "${'endpoint' in runs.db.outputs}"}]`, observed: app,
			want: "app db", said: "OutputWithheld app: when: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Optional": {
			reason: "An expression that does without a missing one does not do without one that is withheld.",
			input:  runs + `when: "${runs.?db.?outputs.?endpoint.orValue('') != ''}"}]`, observed: app,
			want: "app db", said: "OutputWithheld app: when: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Merged": {
			reason: "Nor one in an object made of the outputs.",
			input:  runs + `when: "${runs.db.outputs.merge({'port': 1}).?endpoint.hasValue()}"}]`, observed: app,
			want: "app db", said: "OutputWithheld app: when: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Encoded": {
			reason: "Nor in a text made of them.",
			input:  runs + `when: "${json.marshal(runs.db.outputs).contains('endpoint')}"}]`, observed: app,
			want: "app db", said: "OutputWithheld app: when: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Equal": {
			reason: "Nor does anything equal them.",
			input:  runs + `when: "${runs.db.outputs == {'host': 'a', 'endpoint': 'x'}}"}]`, observed: app,
			want: "app db", said: "OutputWithheld app: when: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"NotEqual": {
			reason: "Nor do they differ from anything.",
			input:  runs + `when: "${runs.db.outputs != {'host': 'a', 'endpoint': 'x'}}"}]`, observed: app,
			want: "app db", said: "OutputWithheld app: when: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"NotEqualAtAll": {
			reason: "Also where something else differs.",
			input:  runs + `when: "${runs.db.outputs != {'host': 'b'}}"}]`, observed: app,
			want: "app db", said: "OutputWithheld app: when: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"EqualReversed": {
			reason: "The order is nothing.",
			input:  runs + `when: "${{'host': 'a'} == runs.db.outputs}"}]`, observed: app,
			want: "app db", said: "OutputWithheld app: when: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"EqualData": {
			reason: "Nor is where the other value is from.",
			input:  runs + `when: "${xr.spec.x == runs.db.outputs}"}]`, observed: app,
			want: "app db", said: "OutputWithheld app: when: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"EqualInList": {
			reason: "A list of them is not known, either.",
			input:  runs + `when: "${[runs.db.outputs] != [{'host': 'b'}, {'host': 'c'}]}"}]`, observed: app,
			want: "app db", said: "OutputWithheld app: when: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"InList": {
			reason: "Nor is what is in one.",
			input:  runs + `when: "${{'host': 'a'} in [runs.db.outputs]}"}]`, observed: app,
			want: "app db", said: "OutputWithheld app: when: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"OneInList": {
			reason: "Nor whether they are in one.",
			input:  runs + `when: "${runs.db.outputs in [xr.spec.x]}"}]`, observed: app,
			want: "app db", said: "OutputWithheld app: when: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"AnyValue": {
			reason: "Whether there is one of a value is not known, either.",
			input:  runs + `when: "${runs.db.outputs.exists(k, runs.db.outputs[k] == 'b')}"}]`, observed: app,
			want: "app db", said: "OutputWithheld app: when: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Names": {
			reason: "The names of outputs are known.",
			input:  runs + `when: "${size(runs.db.outputs) == 2 && runs.db.outputs.exists(k, k == 'endpoint')}"}]`, observed: app,
			want: "app db", said: "Available",
		},
		"Status": {
			reason: "The status of the AnsibleRun is no way around.",
			input:  runs + `when: "${runs.db.status.atProvider.?outputs.?endpoint.hasValue()}"}]`, observed: app,
			want: "app db", said: "OutputWithheld app: when: " + endpointOf("runs.db.status.atProvider.outputs.endpoint"),
		},
		"Reported": {
			reason: "Nor is what content reports for the status.",
			input:  runs + `when: "${has(runs.db.reported.endpoint)}"}]`, observed: app,
			want: "app db", said: "OutputWithheld app: when: " + endpointOf("runs.db.reported.endpoint"),
		},
		"Whole": {
			reason: "A run as a whole has its outputs.",
			input:  runs + `vars: {db: "${runs.db}"}}]`, observed: app,
			want: "app db", said: "OutputWithheld app: vars.db: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Local": {
			reason: "A local says where it comes from.",
			input:  runs + `when: "${locals.a != ''}"}], locals: {a: "${runs.db.outputs.?endpoint.orValue('')}"}`, observed: app,
			want: "app db", said: "OutputWithheld app: when: locals.a: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Members": {
			reason: "The members of a set stay.",
			input:  set + `"${runs.db.outputs.?endpoint.orValue([])}"}]`, observed: members,
			want: "app[endpoint] app[host] db", said: "OutputWithheld app: forEach: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Items": {
			reason: "They stay when one of the items is withheld, too.",
			input:  set + `"${runs.db.outputs}"}]`, observed: members,
			want: "app[endpoint] app[host] db", said: "OutputWithheld app: forEach: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Keys": {
			reason: "A set of the names of outputs has all of them.",
			input:  set + `"${runs.db.outputs.map(k, k)}"}]`, observed: members,
			want: "app[endpoint] app[host] db", said: "Available",
		},
		"WhenOfItem": {
			reason: "A member whose own condition reads it stays.",
			input:  set + `[endpoint, host], when: "${has(runs.db.outputs.endpoint) || each.key == 'host'}"}]`, observed: members,
			want: "app[endpoint] app[host] db", said: "OutputWithheld app[endpoint]: when: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"PreviousNames": {
			reason: "A previous name that reads it is not known.",
			input:  runs + `previousNames: ["${runs.db.outputs.?endpoint.orValue('old')}"]}]`, observed: existing("old", "", "role: a.b.c"),
			want: "db old", said: "OutputWithheld app: previousNames[0]: " + endpointOf("runs.db.outputs.endpoint") +
				"\nold: not wanted any more, but may be what app was called, which is not known yet",
		},
		"ReadyWhen": {
			reason: "A run whose readiness reads it is not ready, and stays.",
			input:  one + `runs: [{name: db, role: a.b.c, readyWhen: "${runs.db.outputs.?endpoint.hasValue()}"}]`,
			want:   "db", said: "NotReady db: readyWhen: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Conditions": {
			reason: "A condition of the XR is not false because of it.",
			input: one + `runs: [{name: db, role: a.b.c}],
conditions: [{type: Endpoint, status: "${runs.db.outputs.?endpoint.hasValue()}"}]`,
			want: "db", said: "InvalidStatus conditions[0].status: " + endpointOf("runs.db.outputs.endpoint"),
			conditions: []string{"Endpoint|UNKNOWN|OutputWithheld|conditions[0].status: " + endpointOf("runs.db.outputs.endpoint")},
		},
		"StatusOfXR": {
			reason: "The status of the XR keeps what it had.",
			input:  one + `runs: [{name: db, role: a.b.c}], status: {e: "${runs.db.outputs.?endpoint}", h: "${runs.db.outputs.host}"}`,
			want:   "db", said: "InvalidStatus status.e: " + endpointOf("runs.db.outputs.endpoint"), status: "e h",
		},
		"WholeStatusOfXR": {
			reason: "The whole status of the XR is what it was, too.",
			input:  one + `runs: [{name: db, role: a.b.c}], status: "${runs.db.reported}"`,
			want:   "db", said: "InvalidStatus status: " + endpointOf("runs.db.reported.endpoint"), status: "e",
		},
		"Required": {
			reason: "An AnsibleRun of another XR may withhold something, too.",
			input: runs + `when: "${has(required.other.status.atProvider.outputs.url)}"}],
requiredResources: {other: {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, matchName: other}}`,
			observed: app,
			want:     "app db", said: "OutputWithheld app: when: required.other.status.atProvider.outputs.url is withheld: a secret is in it; " +
				"let the content publish it as a connection detail, or keep the secret out of the output",
		},
		"Selector": {
			reason: "What is selected by it may be there.",
			input: runs + `when: "${has(required.network)}"}], requiredResources: {
  other: {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, matchName: other},
  network: {apiVersion: v1, kind: ConfigMap, matchName: "${required.other.status.atProvider.outputs.url}"}}`,
			observed: app,
			want:     "app db", said: "OutputWithheld app: when: required.network is not known: required.other.status.atProvider.outputs.url is withheld: " +
				"a secret is in it; let the content publish it as a connection detail, or keep the secret out of the output",
		},
		"SelectorOfSelector": {
			reason: "So may what is selected by that.",
			input: runs + `when: "${has(required.subnet)}"}], requiredResources: {
  other: {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, matchName: other},
  network: {apiVersion: v1, kind: ConfigMap, matchName: "${required.other.status.atProvider.outputs.url}"},
  subnet: {apiVersion: v1, kind: ConfigMap, matchName: "${required.network.data.subnet}"}}`,
			observed: app,
			want:     "app db", said: "OutputWithheld app: when: required.subnet is not known: required.other.status.atProvider.outputs.url is " +
				"withheld: a secret is in it; let the content publish it as a connection detail, or keep the secret out of the output",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := respond(t, request(t, `
input: {`+tc.input+`}
required_resources:
  other: {items: [{resource: {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, metadata: {name: other, namespace: default},
    status: {atProvider: {withheldOutputs: {url: a secret is in it}}}}}]}
observed:
  composite:
    resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app, namespace: default, uid: xr}, spec: {x: {host: a}}, status: {e: old}}
  resources: `+stdcmp.Or(tc.db, withholding)+tc.observed+`
`))

			if got := strings.Join(slices.Sorted(maps.Keys(rsp.GetDesired().GetResources())), " "); got != tc.want {
				t.Errorf("\n%s\nwant %q, got %q", tc.reason, tc.want, got)
			}

			c := rsp.GetConditions()[0]
			if said := strings.TrimSpace(c.GetReason() + " " + c.GetMessage()); said != tc.said {
				t.Errorf("\n%s\nwant %s\n%s, got\n%s", tc.reason, c.GetType(), tc.said, said)
			}

			if diff := cmp.Diff(tc.conditions, conditionsOf(rsp)); diff != "" {
				t.Errorf("\n%s\nconditions: -want, +got:\n%s", tc.reason, diff)
			}

			status := rsp.GetDesired().GetComposite().GetResource().GetFields()["status"].GetStructValue().GetFields()
			if got := strings.Join(slices.Sorted(maps.Keys(status)), " "); got != tc.status {
				t.Errorf("\n%s\nwant a status with %q, got %q", tc.reason, tc.status, got)
			}
		})
	}
}
