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
			reason:   "The status has the outputs, replaced by reported fields. Only the conditions of the content are in it.",
			observed: aRun("server", ready(`{type: Checkable, status: "True", reason: Checked}, {type: AnsibleRunsReady, status: "False", reason: Running}, {type: PageServed, status: "False", reason: Broken, message: It is white, lastTransitionTime: x}`, `outputs: {servers: 1, host: a}, reported: {servers: 2}`)),
			shown:    `{servers: 2, host: a}`, conditions: []string{"PageServed|FALSE|Broken|It is white"}, said: "Available",
		},
		"Schema": {
			reason: "Conditions are not validated by the schema of the status.",
			more:   schema, observed: aRun("server", ready(`{type: PageServed, status: "True", reason: Found}`, `reported: {servers: "2"}`)), shown: `{servers: 2}`,
			conditions: []string{"PageServed|TRUE|Found|"}, said: "Available",
		},
		"Undeclared": {
			reason: "A field that the XRD does not declare is a problem.",
			more:   schema, observed: aRun("server", ready(`{type: PageServed, status: "True", reason: Found}`, `reported: {owner: eve}`)),
			conditions: []string{"PageServed|TRUE|Found|"}, said: `InvalidStatus status: the XRD does not declare its field "owner"`,
		},
		"Nothing": {
			reason:   "Content that reports nothing is not a problem.",
			observed: aRun("server", ready("", "")), said: "Available",
		},
		"NotThere": {
			reason:   "A run that does not exist has no status.",
			observed: "{}", said: "Running server: is running",
		},
		"Failed": {
			reason: "The status that content has reported before a failure is kept.",
			observed: aRun("server", `status:
          conditions: [{type: Ready, status: "False", observedGeneration: 1}, {type: Synced, status: "False", observedGeneration: 1}, {type: Upgraded, status: Unknown, reason: Half}]
          atProvider: {lastRun: {phase: Failed, message: it broke}, reported: {servers: 3}}
`),
			shown: `{servers: 3}`, conditions: []string{"Upgraded|UNKNOWN|Half|"}, said: "RunFailed server: it broke",
		},
		"InputWins": {
			reason: "A condition of the input wins over one that content reports.",
			input:  `conditions: [{type: PageServed, status: true}]`, observed: aRun("server", ready(`{type: PageServed, status: "False", reason: Broken}`, ``)),
			conditions: []string{"PageServed|TRUE|Computed|"}, said: "Available",
		},
		"OperatorWins": {
			reason:   "With operatorConditions, content cannot set the condition Successful.",
			input:    `operatorConditions: true`,
			observed: aRun("server", ready(`{type: Successful, status: "False", reason: Broken}`, `lastRun: {phase: Succeeded}`)), said: "Available",
			conditions: []string{
				"Running|TRUE|Successful|Awaiting next reconciliation", "Successful|TRUE|Successful|Last reconciliation succeeded", "Failure|FALSE|Successful|",
			},
		},
		"OperatorSilent": {
			reason: "With operatorConditions, content cannot set the condition Failure while the function does not.",
			input:  `operatorConditions: true`,
			observed: aRun("server", `status:
          conditions: [{type: Ready, status: Unknown, observedGeneration: 1}, {type: Synced, status: Unknown, observedGeneration: 1}, {type: Failure, status: "True", reason: Broken}]
          atProvider: {lastRun: {phase: Running}}
`),
			said: "Running server: is running", conditions: []string{"Running|TRUE|Running|Running reconciliation", "Successful|FALSE|Running|"},
		},
		"Member": {
			reason:   "A single field or condition can be read.",
			input:    "status: {count: '${runs.server.reported.servers}', served: '${runs.server.reported.conditions.exists(c, c.type == \"PageServed\" && c.status == \"True\")}'}",
			observed: aRun("server", ready(`{type: PageServed, status: "True", reason: Found}`, `reported: {servers: 2}`)), shown: `{count: 2, served: true}`,
			said: "Available",
		},
		"Computed": {
			reason:   "Invalid conditions in a computed object are problems, and none of its fields is shown.",
			input:    `status: ` + `"${{'a': 1, 'conditions': [{'type': 'no type', 'status': 'True'}, {'type': 'A', 'status': true}, {'type': 'B', 'status': 'True', 'reason': 'no reason'}, {'type': 'Synced', 'status': 'True'}, 1]}}"`,
			observed: aRun("server", ready("", "")),
			said: `InvalidStatus status.conditions[0]: "no type" cannot be the type of a condition: it is a word such as DatabaseReady
status.conditions[1]: "" cannot be the status of a condition: it is True, False or Unknown
status.conditions[2]: "no reason" cannot be the reason of a condition: it is a word such as ReplicaLost
status.conditions[3]: the condition Synced is set by Crossplane or by function-ansible itself
status.conditions[4]: "" cannot be the type of a condition: it is a word such as DatabaseReady`,
		},
		"NoList": {
			reason: "Conditions that are not a list are a problem.",
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
		"New": {reason: "A run that does not exist yet is not successful.", want: []string{running, unfinished}},
		"Running": {
			reason: "While a run is in progress, Failure is not set and keeps its value.", observed: aRun("server", status("Unknown", "Running", "")),
			want: []string{running, unfinished},
		},
		"Successful": {
			reason:   "After success, the XR waits for the next reconciliation.",
			observed: aRun("server", status("True", "Succeeded", "")),
			want:     []string{"Running|TRUE|Successful|Awaiting next reconciliation", succeeded, "Failure|FALSE|Successful|"},
		},
		"Periodic": {
			reason:   "A run without changed inputs does not change Successful.",
			observed: aRun("server", status("True", "Running", "")),
			want:     []string{running, succeeded, "Failure|FALSE|Successful|"},
		},
		"Failed": {
			reason:   "The message of a failure has the task and the reason.",
			observed: aRun("server", failing("Failed", `task "Start it" failed on host "localhost": broken`)),
			want: []string{
				"Running|FALSE|Running|Running reconciliation", failed,
				`Failure|TRUE|Failed|task "Start it" failed on host "localhost": broken`,
			},
		},
		"Retry": {
			reason:   "Failure stays True while the run is retried.",
			observed: aRun("server", failing("Running", "it broke")),
			want:     []string{running, failed, "Failure|TRUE|Failed|it broke"},
		},
		"Several": {
			reason:   "All runs count, and the message of a failure has the name of the run.",
			runs:     `[{name: server}, {name: other}, {name: third, when: false}]`,
			observed: aRun("server", status("True", "Succeeded", "")) + aRun("other", status("False", "TimedOut", "message: too long")),
			want:     []string{"Running|FALSE|Running|Running reconciliation", failed, "Failure|TRUE|Failed|other: too long"},
		},
		"Dependent": {
			reason:   "A run that waits for a failed run is not in progress.",
			runs:     `[{name: server}, {name: other, dependsOn: [server]}]`,
			observed: aRun("server", failing("Failed", "it broke")),
			want:     []string{"Running|FALSE|Running|Running reconciliation", failed, "Failure|TRUE|Failed|server: it broke"},
		},
		"Beside": {
			reason:   "A run is in progress before its content begins.",
			runs:     `[{name: server}, {name: other}]`,
			observed: aRun("server", failing("Failed", "it broke")),
			want:     []string{running, failed, "Failure|TRUE|Failed|server: it broke"},
		},
		"Held": {
			reason: "A run that cannot be rendered is a failure.",
			runs:   `[{name: server, vars: {size: "${xr.spec.size}"}}]`, observed: "{}",
			want: []string{
				"Running|FALSE|Running|Running reconciliation", failed,
				"Failure|TRUE|Failed|vars.size: xr.spec.size is not set; write xr.spec.?size if it may be missing",
			},
		},
		"NotSelected": {
			reason: "An XR without runs has no conditions of an operator.",
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
