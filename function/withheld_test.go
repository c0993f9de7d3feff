package main

import (
	"strings"
	"testing"
)

// endpointOf says why an output that an expression reads is withheld.
func endpointOf(place string) string {
	return place + " is withheld: key password of Secret pg is in it; let the content publish it as a connection detail, " +
		"or keep the secret out of the output"
}

// An output that the provider withholds is there, and not known: nothing goes because of it, and nothing is made of it.
func TestWithheld(t *testing.T) {
	const (
		one   = "[{name: db}, {name: app, "
		set   = one + "removal: {atMost: 9}, forEach: "
		alone = "[{name: db}]"
		// An AnsibleRun of another XR, which is required.
		other = `
required_resources:
  other: {items: [{resource: {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, metadata: {name: other, namespace: default},
    status: {atProvider: {withheldOutputs: {url: a secret is in it}}}}}]}
`
		selects = "requiredResources: {other: {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, matchName: other}"
		network = `, network: {apiVersion: v1, kind: ConfigMap, matchName: "${required.other.status.atProvider.outputs.url}"}`
		ofOther = "required.other.status.atProvider.outputs.url is withheld: a secret is in it; let the content publish it as a connection detail, " +
			"or keep the secret out of the output"
		nameless = " is withheld: a secret is in its name; let the content publish it as a connection detail, or keep the secret out of the output"
	)

	db := func(atProvider string) string { return aRun("db", ready("", atProvider)) }
	withholding := db(`outputs: {host: a}, withheldOutputs: {endpoint: key password of Secret pg is in it}`)
	app := existing("app", "db", "role: a.b.c")
	members := existing("app[endpoint]", "db", "role: a.b.c") + existing("app[host]", "db", "role: a.b.c")

	cases := map[string]step{
		"Read": {
			reason: "What reads it waits, and what exists stays as it is.", runs: one + `vars: {e: "${runs.db.outputs.endpoint}"}}]`, observed: withholding + app,
			want: "app, db", said: "OutputWithheld app: vars.e: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"New": {
			reason: "A run that reads it is not created.", runs: one + `vars: {e: "at ${runs.db.outputs.endpoint}"}}]`, observed: withholding,
			want: "db", said: "OutputWithheld app: vars.e: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Others": {
			reason: "The other outputs are what they are.", runs: one + `vars: {e: "${runs.db.outputs.host}"}, when: "${!has(runs.db.outputs.other)}"}]`, observed: withholding,
			want: "app, db", said: "Running app: is running",
		},
		"HasNot": {
			reason: "Whether it is there is not known: nothing is created.", runs: one + `when: "${!has(runs.db.outputs.endpoint)}"}]`, observed: withholding,
			want: "db", said: "OutputWithheld app: when: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Names": {
			reason: "The names of outputs are known.", runs: one + `when: "${size(runs.db.outputs) == 2 && runs.db.outputs.exists(k, k == 'endpoint')}"}]`, observed: withholding + app,
			want: "app, db", said: "Available",
		},
		"Whole": {
			reason: "A run as a whole has its outputs.", runs: one + `vars: {db: "${runs.db}"}}]`, observed: withholding + app,
			want: "app, db", said: "OutputWithheld app: vars.db: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Items": {
			reason: "The members of a set stay when one of the items is withheld.", runs: set + `"${runs.db.outputs}"}]`, observed: withholding + members,
			want: "app[endpoint], app[host], db", said: "OutputWithheld app: forEach: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Keys": {
			reason: "A set of the names of outputs has all of them.", runs: set + `"${runs.db.outputs.map(k, k)}"}]`, observed: withholding + members,
			want: "app[endpoint], app[host], db", said: "Available",
		},
		"WhenOfItem": {
			reason: "A member whose own condition reads it stays.", runs: set + `[endpoint, host], when: "${has(runs.db.outputs.endpoint) || each.key == 'host'}"}]`,
			observed: withholding + members,
			want:     "app[endpoint], app[host], db", said: "OutputWithheld app[endpoint]: when: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"PreviousNames": {
			reason: "A previous name that reads it is not known.", runs: one + `previousNames: ["${runs.db.outputs.?endpoint.orValue('old')}"]}]`,
			observed: withholding + existing("old", "", "role: a.b.c"),
			want:     "db, old", said: "OutputWithheld app: previousNames[0]: " + endpointOf("runs.db.outputs.endpoint") +
				"\nLeaving:\nold: not wanted any more, but may be what app was called, which is not known yet",
		},
		"ReadyWhen": {
			reason: "A run whose readiness reads it is not ready, and stays.", runs: `[{name: db, readyWhen: "${runs.db.outputs.?endpoint.hasValue()}"}]`, observed: withholding,
			want: "db", said: "NotReady db: readyWhen: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Conditions": {
			reason: "A condition of the XR is not false because of it.", runs: alone, input: `conditions: [{type: Endpoint, status: "${runs.db.outputs.?endpoint.hasValue()}"}]`,
			observed: withholding, want: "db", said: "InvalidStatus conditions[0].status: " + endpointOf("runs.db.outputs.endpoint"),
			conditions: []string{"Endpoint|UNKNOWN|OutputWithheld|conditions[0].status: " + endpointOf("runs.db.outputs.endpoint")},
		},
		"StatusOfXR": {
			reason: "The status of the XR keeps what it had.", runs: alone, input: `status: {e: "${runs.db.outputs.?endpoint}", h: "${runs.db.outputs.host}"}`, observed: withholding,
			want: "db", said: "InvalidStatus status.e: " + endpointOf("runs.db.outputs.endpoint"), shown: "{e: old, h: a}",
		},
		"WholeStatusOfXR": {
			reason: "The whole status of the XR is what it was, too.", runs: alone, input: `status: "${runs.db.reported}"`,
			observed: db("withheldReported: {endpoint: key password of Secret pg is in it}"),
			want:     "db", said: "InvalidStatus status: " + endpointOf("runs.db.reported.endpoint"), shown: "{e: old}",
		},
	}

	for name, tc := range map[string]struct{ reason, when, said, input, db string }{
		"Has":           {reason: "Whether it is there is not known: nothing is removed.", when: "has(runs.db.outputs.endpoint)"},
		"In":            {reason: "The same, asked with `in`.", when: "'endpoint' in runs.db.outputs"},
		"Optional":      {reason: "What does without a missing one does not do without one that is withheld.", when: "runs.?db.?outputs.?endpoint.orValue('') != ''"},
		"Merged":        {reason: "Nor one in an object made of the outputs.", when: "runs.db.outputs.merge({'port': 1}).?endpoint.hasValue()"},
		"Encoded":       {reason: "Nor in a text made of them.", when: "json.marshal(runs.db.outputs).contains('endpoint')"},
		"Equal":         {reason: "Nor does anything equal them.", when: "runs.db.outputs == {'host': 'a', 'endpoint': 'x'}"},
		"NotEqual":      {reason: "Nor do they differ from anything.", when: "runs.db.outputs != {'host': 'a', 'endpoint': 'x'}"},
		"NotEqualAtAll": {reason: "Also where something else differs.", when: "runs.db.outputs != {'host': 'b'}"},
		"EqualReversed": {reason: "The order is nothing.", when: "{'host': 'a'} == runs.db.outputs"},
		"EqualData":     {reason: "Nor is where the other value is from.", when: "xr.spec.x == runs.db.outputs"},
		"EqualInList":   {reason: "A list of them is not known, either.", when: "[runs.db.outputs] != [{'host': 'b'}, {'host': 'c'}]"},
		"InList":        {reason: "Nor is what is in one.", when: "{'host': 'a'} in [runs.db.outputs]"},
		"OneInList":     {reason: "Nor whether they are in one.", when: "runs.db.outputs in [xr.spec.x]"},
		"AnyValue":      {reason: "Whether there is one of a value is not known, either.", when: "runs.db.outputs.exists(k, runs.db.outputs[k] == 'b')"},
		"Status": {
			reason: "The status of the AnsibleRun is no way around.", when: "runs.db.status.atProvider.?outputs.?endpoint.hasValue()",
			said: endpointOf("runs.db.status.atProvider.outputs.endpoint"),
		},
		"Local": {
			reason: "A local says where it comes from.", when: "locals.a != ''", input: `locals: {a: "${runs.db.outputs.?endpoint.orValue('')}"}`,
			said: "locals.a: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Reported": {
			reason: "A field that content reports for the status is no output of that name.", when: "!has(runs.db.outputs.endpoint) && has(runs.db.reported.endpoint)",
			db: `outputs: {host: a}, withheldReported: {endpoint: key password of Secret pg is in it}`, said: endpointOf("runs.db.reported.endpoint"),
		},
		"Nameless": {
			reason: "Of an output whose name is not known, each output may be the one.", when: "has(runs.db.outputs.other)",
			db: `outputs: {host: a}, withheldOutputs: {"": a secret is in its name}`, said: "runs.db.outputs" + nameless,
		},
		"NamelessReported": {
			reason: "Likewise of a field that content reports for the status.", when: "has(runs.db.reported.other)",
			db: `outputs: {host: a}, withheldReported: {"": a secret is in its name}`, said: "runs.db.reported" + nameless,
		},
		"Required": {
			reason: "An AnsibleRun of another XR may withhold something, too.", when: "has(required.other.status.atProvider.outputs.url)", input: selects + "}", said: ofOther,
		},
		"Selector": {
			reason: "What is selected by it may be there.", when: "has(required.network)", input: selects + network + "}", said: "required.network is not known: " + ofOther,
		},
		"SelectorOfSelector": {
			reason: "So may what is selected by that.", when: "has(required.subnet)",
			input: selects + network + `, subnet: {apiVersion: v1, kind: ConfigMap, matchName: "${required.network.data.subnet}"}}`,
			said:  "required.subnet is not known: " + ofOther,
		},
	} {
		s := step{reason: tc.reason, runs: one + `when: "${` + tc.when + `}"}]`, input: tc.input, observed: withholding + app, want: "app, db"}

		if tc.db != "" {
			s.observed = db(tc.db) + app
		}

		if tc.said == "" {
			tc.said = endpointOf("runs.db.outputs.endpoint")
		}

		s.said = "OutputWithheld app: when: " + tc.said
		cases["When"+name] = s
	}

	for name, s := range cases {
		s.defaults, s.spec, s.status, s.more = "usages: false", "x: {host: a}", "e: old", strings.TrimPrefix(other, "\n")
		cases[name] = s
	}

	check(t, cases)
}
