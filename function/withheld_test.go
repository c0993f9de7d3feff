package main

import (
	"strings"
	"testing"
)

// endpointOf returns the message about a withheld output that an expression reads.
func endpointOf(place string) string {
	return place + " is withheld: key password of Secret pg is in it; let the content publish it as a connection detail, " +
		"or keep the secret out of the output"
}

// TestWithheld checks that a withheld output is unknown, and not missing: it neither removes nor creates anything.
func TestWithheld(t *testing.T) {
	const (
		one   = "[{name: db}, {name: app, "
		set   = one + "removal: {atMost: 9}, forEach: "
		alone = "[{name: db}]"
		// A required AnsibleRun of another XR.
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
			reason: "A run that reads a withheld output waits, and its AnsibleRun stays as it is.", runs: one + `vars: {e: "${runs.db.outputs.endpoint}"}}]`, observed: withholding + app,
			want: "app, db", said: "OutputWithheld app: vars.e: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"New": {
			reason: "A new run that reads a withheld output is not created.", runs: one + `vars: {e: "at ${runs.db.outputs.endpoint}"}}]`, observed: withholding,
			want: "db", said: "OutputWithheld app: vars.e: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Others": {
			reason: "A withheld output does not affect other outputs.", runs: one + `vars: {e: "${runs.db.outputs.host}"}, when: "${!has(runs.db.outputs.other)}"}]`, observed: withholding,
			want: "app, db", said: "Running app: is running",
		},
		"HasNot": {
			reason: "has() of a withheld output is unknown, so that no run is created.", runs: one + `when: "${!has(runs.db.outputs.endpoint)}"}]`, observed: withholding,
			want: "db", said: "OutputWithheld app: when: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Names": {
			reason: "The names of withheld outputs are known.", runs: one + `when: "${size(runs.db.outputs) == 2 && runs.db.outputs.exists(k, k == 'endpoint')}"}]`, observed: withholding + app,
			want: "app, db", said: "Available",
		},
		"Whole": {
			reason: "A run as a whole includes its withheld outputs.", runs: one + `vars: {db: "${runs.db}"}}]`, observed: withholding + app,
			want: "app, db", said: "OutputWithheld app: vars.db: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Items": {
			reason: "The members of a set stay when an item is withheld.", runs: set + `"${runs.db.outputs}"}]`, observed: withholding + members,
			want: "app[endpoint], app[host], db", said: "OutputWithheld app: forEach: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Keys": {
			reason: "A set of the names of outputs has the withheld ones, too.", runs: set + `"${runs.db.outputs.map(k, k)}"}]`, observed: withholding + members,
			want: "app[endpoint], app[host], db", said: "Available",
		},
		"WhenOfItem": {
			reason: "A member with a when that reads a withheld output stays.", runs: set + `[endpoint, host], when: "${has(runs.db.outputs.endpoint) || each.key == 'host'}"}]`,
			observed: withholding + members,
			want:     "app[endpoint], app[host], db", said: "OutputWithheld app[endpoint]: when: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"PreviousNames": {
			reason: "A previous name that reads a withheld output is unknown.", runs: one + `previousNames: ["${runs.db.outputs.?endpoint.orValue('old')}"]}]`,
			observed: withholding + existing("old", "", "role: a.b.c"),
			want:     "db, old", said: "OutputWithheld app: previousNames[0]: " + endpointOf("runs.db.outputs.endpoint") +
				"\nLeaving:\nold: not wanted any more, but may be what app was called, which is not known yet",
		},
		"ReadyWhen": {
			reason: "A run with a readyWhen that reads a withheld output is not ready, and stays.", runs: `[{name: db, readyWhen: "${runs.db.outputs.?endpoint.hasValue()}"}]`, observed: withholding,
			want: "db", said: "NotReady db: readyWhen: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Conditions": {
			reason: "A condition of the XR that reads a withheld output is not False.", runs: alone, input: `conditions: [{type: Endpoint, status: "${runs.db.outputs.?endpoint.hasValue()}"}]`,
			observed: withholding, want: "db", said: "InvalidStatus conditions[0].status: " + endpointOf("runs.db.outputs.endpoint"),
			conditions: []string{"Endpoint|UNKNOWN|OutputWithheld|conditions[0].status: " + endpointOf("runs.db.outputs.endpoint")},
		},
		"StatusOfXR": {
			reason: "A status field that reads a withheld output keeps its value.", runs: alone, input: `status: {e: "${runs.db.outputs.?endpoint}", h: "${runs.db.outputs.host}"}`, observed: withholding,
			want: "db", said: "InvalidStatus status.e: " + endpointOf("runs.db.outputs.endpoint"), shown: "{e: old, h: a}",
		},
		"WholeStatusOfXR": {
			reason: "A status that is one expression and reads a withheld output keeps its value.", runs: alone, input: `status: "${runs.db.reported}"`,
			observed: db("withheldReported: {endpoint: key password of Secret pg is in it}"),
			want:     "db", said: "InvalidStatus status: " + endpointOf("runs.db.reported.endpoint"), shown: "{e: old}",
		},
	}

	for name, tc := range map[string]struct{ reason, when, said, input, db string }{
		"Has":           {reason: "has() of a withheld output is unknown, so that no run is removed.", when: "has(runs.db.outputs.endpoint)"},
		"In":            {reason: "in for a withheld output is unknown.", when: "'endpoint' in runs.db.outputs"},
		"Optional":      {reason: "The default of an optional field does not replace a withheld output.", when: "runs.?db.?outputs.?endpoint.orValue('') != ''"},
		"Merged":        {reason: "The default does not replace a withheld output in an object that is made of outputs.", when: "runs.db.outputs.merge({'port': 1}).?endpoint.hasValue()"},
		"Encoded":       {reason: "A withheld output in a text makes the text unknown.", when: "json.marshal(runs.db.outputs).contains('endpoint')"},
		"Equal":         {reason: "== with a withheld output is unknown.", when: "runs.db.outputs == {'host': 'a', 'endpoint': 'x'}"},
		"NotEqual":      {reason: "!= with a withheld output is unknown.", when: "runs.db.outputs != {'host': 'a', 'endpoint': 'x'}"},
		"NotEqualAtAll": {reason: "!= is unknown even if another part differs.", when: "runs.db.outputs != {'host': 'b'}"},
		"EqualReversed": {reason: "== is unknown in the other order, too.", when: "{'host': 'a'} == runs.db.outputs"},
		"EqualData":     {reason: "== with a value from elsewhere is unknown.", when: "xr.spec.x == runs.db.outputs"},
		"EqualInList":   {reason: "A list with a withheld output is unknown.", when: "[runs.db.outputs] != [{'host': 'b'}, {'host': 'c'}]"},
		"InList":        {reason: "An element of a list with a withheld output is unknown.", when: "{'host': 'a'} in [runs.db.outputs]"},
		"OneInList":     {reason: "in for a list with a withheld output is unknown.", when: "runs.db.outputs in [xr.spec.x]"},
		"AnyValue":      {reason: "Whether any output has a value is unknown.", when: "runs.db.outputs.exists(k, runs.db.outputs[k] == 'b')"},
		"Status": {
			reason: "A withheld output is unknown in the status of the AnsibleRun, too.", when: "runs.db.status.atProvider.?outputs.?endpoint.hasValue()",
			said: endpointOf("runs.db.status.atProvider.outputs.endpoint"),
		},
		"Local": {
			reason: "The message names the local through which a withheld output is read.", when: "locals.a != ''", input: `locals: {a: "${runs.db.outputs.?endpoint.orValue('')}"}`,
			said: "locals.a: " + endpointOf("runs.db.outputs.endpoint"),
		},
		"Reported": {
			reason: "A reported status field is not an output of the same name.", when: "!has(runs.db.outputs.endpoint) && has(runs.db.reported.endpoint)",
			db: `outputs: {host: a}, withheldReported: {endpoint: key password of Secret pg is in it}`, said: endpointOf("runs.db.reported.endpoint"),
		},
		"Nameless": {
			reason: "If the name of a withheld output is unknown, each missing output is unknown.", when: "has(runs.db.outputs.other)",
			db: `outputs: {host: a}, withheldOutputs: {"": a secret is in its name}`, said: "runs.db.outputs" + nameless,
		},
		"NamelessReported": {
			reason: "If the name of a withheld status field is unknown, each missing status field is unknown.", when: "has(runs.db.reported.other)",
			db: `outputs: {host: a}, withheldReported: {"": a secret is in its name}`, said: "runs.db.reported" + nameless,
		},
		"Required": {
			reason: "A required AnsibleRun of another XR may withhold outputs, too.", when: "has(required.other.status.atProvider.outputs.url)", input: selects + "}", said: ofOther,
		},
		"Selector": {
			reason: "A required resource that is selected by a withheld output is unknown.", when: "has(required.network)", input: selects + network + "}", said: "required.network is not known: " + ofOther,
		},
		"SelectorOfSelector": {
			reason: "A required resource that is selected by an unknown one is unknown.", when: "has(required.subnet)",
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
