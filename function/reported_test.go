package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReported checks a status that is one expression, with the fields and conditions that content has reported.
func TestReported(t *testing.T) {
	schema := schemaOf(`status: {type: object, properties: {servers: {type: integer}, conditions: {type: array, items: {type: object,
  required: [lastTransitionTime, type], properties: {lastTransitionTime: {type: string}, type: {type: string}}}}}}`)

	cases := map[string]step{
		"Status": {
			reason:   "The status is what content has set of it, over its outputs; conditions are those of content, and no others.",
			observed: aRun("server", ready(`{type: Checkable, status: "True", reason: Checked}, {type: AnsibleRunsReady, status: "False", reason: Running}, {type: PageServed, status: "False", reason: Broken, message: It is white, lastTransitionTime: x}`, `outputs: {servers: 1, host: a}, reported: {servers: 2}`)),
			shown:    `{servers: 2, host: a}`, conditions: []string{"PageServed|FALSE|Broken|It is white"}, said: "Available",
		},
		"Schema": {
			reason: "The schema of the XR is that of fields; conditions are Crossplane's.",
			more:   schema, observed: aRun("server", ready(`{type: PageServed, status: "True", reason: Found}`, `reported: {servers: "2"}`)), shown: `{servers: 2}`,
			conditions: []string{"PageServed|TRUE|Found|"}, said: "Available",
		},
		"Undeclared": {
			reason: "A field that Crossplane would not keep is said to be none. Conditions are none of the XRD's.",
			more:   schema, observed: aRun("server", ready(`{type: PageServed, status: "True", reason: Found}`, `reported: {owner: eve}`)),
			conditions: []string{"PageServed|TRUE|Found|"}, said: `InvalidStatus status: the XRD does not declare its field "owner"`,
		},
		"Nothing": {
			reason:   "Content that reports nothing is no mistake.",
			observed: aRun("server", ready("", "")), said: "Available",
		},
		"NotThere": {
			reason:   "Nothing is known of a run that is not there.",
			observed: "{}", said: "Running server: is running",
		},
		"Failed": {
			reason: "What content has reported before it failed is there, too.",
			observed: aRun("server", `status:
          conditions: [{type: Ready, status: "False", observedGeneration: 1}, {type: Synced, status: "False", observedGeneration: 1}, {type: Upgraded, status: Unknown, reason: Half}]
          atProvider: {lastRun: {phase: Failed, message: it broke}, reported: {servers: 3}}
`),
			shown: `{servers: 3}`, conditions: []string{"Upgraded|UNKNOWN|Half|"}, said: "RunFailed server: it broke",
		},
		"InputWins": {
			reason: "What the Composition says of a condition wins.",
			input:  `conditions: [{type: PageServed, status: true}]`, observed: aRun("server", ready(`{type: PageServed, status: "False", reason: Broken}`, ``)),
			conditions: []string{"PageServed|TRUE|Computed|"}, said: "Available",
		},
		"OperatorWins": {
			reason:   "Nor can content say how its run goes, if the Composition does.",
			input:    `operatorConditions: true`,
			observed: aRun("server", ready(`{type: Successful, status: "False", reason: Broken}`, `lastRun: {phase: Succeeded}`)), said: "Available",
			conditions: []string{
				"Running|TRUE|Successful|Awaiting next reconciliation", "Successful|TRUE|Successful|Last reconciliation succeeded", "Failure|FALSE|Successful|",
			},
		},
		"OperatorSilent": {
			reason: "Nor while the Composition says nothing of a failure.",
			input:  `operatorConditions: true`,
			observed: aRun("server", `status:
          conditions: [{type: Ready, status: Unknown, observedGeneration: 1}, {type: Synced, status: Unknown, observedGeneration: 1}, {type: Failure, status: "True", reason: Broken}]
          atProvider: {lastRun: {phase: Running}}
`),
			said: "Running server: is running", conditions: []string{"Running|TRUE|Running|Running reconciliation", "Successful|FALSE|Running|"},
		},
		"Member": {
			reason:   "One member of it may be shown, too.",
			input:    "status: {count: '${runs.server.reported.servers}', served: '${runs.server.reported.conditions.exists(c, c.type == \"PageServed\" && c.status == \"True\")}'}",
			observed: aRun("server", ready(`{type: PageServed, status: "True", reason: Found}`, `reported: {servers: 2}`)), shown: `{count: 2, served: true}`,
			said: "Available",
		},
		"Computed": {
			reason:   "Conditions of an object that is computed are checked: nothing of it is shown if they are none.",
			input:    `status: ` + `"${{'a': 1, 'conditions': [{'type': 'no type', 'status': 'True'}, {'type': 'A', 'status': true}, {'type': 'B', 'status': 'True', 'reason': 'no reason'}, {'type': 'Synced', 'status': 'True'}, 1]}}"`,
			observed: aRun("server", ready("", "")),
			said: `InvalidStatus status.conditions[0]: "no type" cannot be the type of a condition: it is a word such as DatabaseReady
status.conditions[1]: "" cannot be the status of a condition: it is True, False or Unknown
status.conditions[2]: "no reason" cannot be the reason of a condition: it is a word such as ReplicaLost
status.conditions[3]: the condition Synced is set by Crossplane or by function-ansible itself
status.conditions[4]: "" cannot be the type of a condition: it is a word such as DatabaseReady`,
		},
		"NoList": {
			reason: "Nor if they are no list.",
			input:  `status: ` + `"${{'a': 1, 'conditions': {}}}"`, observed: aRun("server", ready("", "")), said: `InvalidStatus status.conditions: must be a list`,
		},
	}

	for name, s := range cases {
		s.runs, s.want = "[{name: server}]", "server"
		if !strings.HasPrefix(s.input, "status: ") {
			s.input = "status: '${runs.server.reported}'\n" + s.input
		}

		cases[name] = s
	}

	check(t, cases)
}

// TestOperatorConditions checks the conditions of an Ansible operator.
func TestOperatorConditions(t *testing.T) {
	const (
		running    = "Running|TRUE|Running|Running reconciliation"
		unfinished = "Successful|FALSE|Running|"
		failed     = "Successful|FALSE|Failed|"
		succeeded  = "Successful|TRUE|Successful|Last reconciliation succeeded"
	)

	status := func(ready, phase, more string) string {
		return `status:
          conditions: [{type: Ready, status: "` + ready + `", observedGeneration: 1}, {type: Synced, status: "` + ready + `", observedGeneration: 1}]
          atProvider: {lastRun: {phase: ` + phase + `, ` + more + `}}
`
	}

	cases := map[string]struct {
		reason   string
		runs     string
		observed string
		want     []string
	}{
		"New": {reason: "What does not run yet is not successful.", want: []string{running, unfinished}},
		"Running": {
			reason: "While it runs nothing is said of a failure: what the XR has stays.", observed: aRun("server", status("Unknown", "Running", "")),
			want: []string{running, unfinished},
		},
		"Successful": {
			reason:   "After that it waits for the next time.",
			observed: aRun("server", status("True", "Succeeded", "")),
			want:     []string{"Running|TRUE|Successful|Awaiting next reconciliation", succeeded, "Failure|FALSE|Successful|"},
		},
		"Periodic": {
			reason:   "A run of what has not changed does not take its success away.",
			observed: aRun("server", status("True", "Running", "")),
			want:     []string{running, succeeded, "Failure|FALSE|Successful|"},
		},
		"Failed": {
			reason:   "A failure says which task failed, and why.",
			observed: aRun("server", failing("Failed", `task "Start it" failed on host "localhost": broken`)),
			want: []string{
				"Running|FALSE|Running|Running reconciliation", failed,
				`Failure|TRUE|Failed|task "Start it" failed on host "localhost": broken`,
			},
		},
		"Retry": {
			reason:   "It stays one while it is tried again.",
			observed: aRun("server", failing("Running", "it broke")),
			want:     []string{running, failed, "Failure|TRUE|Failed|it broke"},
		},
		"Several": {
			reason:   "All runs count, and a failure names its run.",
			runs:     `[{name: server}, {name: other}, {name: third, when: false}]`,
			observed: aRun("server", status("True", "Succeeded", "")) + aRun("other", status("False", "TimedOut", "message: too long")),
			want:     []string{"Running|FALSE|Running|Running reconciliation", failed, "Failure|TRUE|Failed|other: too long"},
		},
		"Dependent": {
			reason:   "What waits for a run that has failed is not in progress.",
			runs:     `[{name: server}, {name: other, dependsOn: [server]}]`,
			observed: aRun("server", failing("Failed", "it broke")),
			want:     []string{"Running|FALSE|Running|Running reconciliation", failed, "Failure|TRUE|Failed|server: it broke"},
		},
		"Beside": {
			reason:   "What is to run at once is in progress before it begins.",
			runs:     `[{name: server}, {name: other}]`,
			observed: aRun("server", failing("Failed", "it broke")),
			want:     []string{running, failed, "Failure|TRUE|Failed|server: it broke"},
		},
		"Held": {
			reason: "A run that cannot be made is a failure, too.",
			runs:   `[{name: server, vars: {size: "${xr.spec.size}"}}]`, observed: "{}",
			want: []string{
				"Running|FALSE|Running|Running reconciliation", failed,
				"Failure|TRUE|Failed|vars.size: xr.spec.size is not set; write xr.spec.?size if it may be missing",
			},
		},
		"NotSelected": {
			reason: "Nothing is said of what an operator would leave alone.",
			runs:   `[{name: server, when: false}]`, observed: "{}",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.runs == "" {
				tc.runs = "[{name: server}]"
			}

			rsp := step{runs: tc.runs, input: "operatorConditions: true", observed: tc.observed}.respond(t)

			if diff := cmp.Diff(tc.want, conditionsOf(rsp)); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// An operator's conditions are not to be had twice.
func TestOperatorConditionsTwice(t *testing.T) {
	step{runs: "[{name: server}]", input: "operatorConditions: true\nconditions: [{type: Failure, status: false}]"}.
		mistakes(t, `conditions[0].type: Duplicate value: "Failure"`)
}
