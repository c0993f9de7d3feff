package main

import "testing"

// Conditions that the input computes for the XR.
func TestConditions(t *testing.T) {
	database := existing("db", "", "role: a.b.c")
	of := func(conditions string) string { return "conditions: [" + conditions + "]" }

	check(t, map[string]step{
		"True": {
			reason: "A condition follows from what a run reports.", runs: "[{name: db}]", observed: database, input: of(`{type: A, status: "${runs.db.outputs.url == 'there'}", reason: Reached, message: "at ${runs.db.outputs.url}"}`),
			want: "db", conditions: []string{"A|TRUE|Reached|at there"}, said: "Available",
		},
		"False": {
			reason: "It may be false, and say why.", runs: "[{name: db}]", observed: database, input: of(`{type: A, status: "${runs.db.outputs.url == 'here'}", reason: "${runs.db.outputs.url == 'there' ? 'Elsewhere' : 'Here'}"}`),
			want: "db", conditions: []string{"A|FALSE|Elsewhere|"}, said: "Available",
		},
		"Literal": {reason: "It may be literal.", runs: "[{name: db}]", observed: database, input: of(`{type: A, status: true}`), want: "db", conditions: []string{"A|TRUE|Computed|"}, said: "Available"},
		"Pending": {
			reason: "What is not there yet is not known, and is no mistake.", runs: "[{name: db}]", input: of(`{type: A, status: "${runs.db.outputs.url == 'there'}", reason: Reached, message: there}`),
			want: "db", conditions: []string{"A|UNKNOWN|ValuePending|"}, said: "Running db: is running",
		},
		"NeverThere": {
			reason: "What is not there although the run is ready says so.", runs: "[{name: db}]", observed: database, input: of(`{type: A, status: "${runs.db.outputs.port == 1}"}`),
			want: "db", conditions: []string{"A|UNKNOWN|ValuePending|conditions[0].status: runs.db.outputs.port is not there yet"},
			said: "InvalidStatus conditions[0].status: runs.db.outputs.port is not there yet",
		},
		"NotSet": {
			reason: "So does what the XR lacks.", runs: "[{name: db}]", observed: database, input: of(`{type: A, status: "${xr.spec.port == 1}"}`),
			want: "db", conditions: []string{"A|UNKNOWN|ValueNotSet|conditions[0].status: xr.spec.port is not set; write xr.spec.?port if it may be missing"},
			said: "InvalidStatus conditions[0].status: xr.spec.port is not set; write xr.spec.?port if it may be missing",
		},
		"Skipped": {
			reason: "Of a run that is not wanted nothing is known.", runs: "[{name: db, when: false}]", input: of(`{type: A, status: "${runs.db.ready}"}`),
			conditions: []string{"A|UNKNOWN|Skipped|db is not wanted"}, said: "Available",
		},
		"BadReason": {
			reason: "A reason that the API server refuses would stop the XR.", runs: "[{name: db}]", observed: database, input: of(`{type: A, status: true, reason: "${runs.db.outputs.url + ' is wrong'}"}`),
			want: "db", conditions: []string{"A|TRUE|Computed|"}, said: `InvalidStatus conditions[0].reason: "there is wrong" cannot be the reason of a condition: it is a word such as ReplicaLost`,
		},
		"NoBoolean": {
			reason: "Only true and false are a status.", runs: "[{name: db}]", observed: database, input: of(`{type: A, status: "${runs.db.outputs.url}"}`),
			want: "db", conditions: []string{"A|UNKNOWN|InvalidValue|conditions[0].status: must be true or false"}, said: "InvalidStatus conditions[0].status: must be true or false",
		},
		"Reserved": {reason: "Crossplane's own are not for Compositions.", runs: "[{name: db}]", observed: database, input: of(`{type: Ready, status: true}`), said: "invalid input:\nconditions[0].type: Forbidden: this condition is set by Crossplane or by function-ansible itself"},
		"Twice":    {reason: "One condition has one value.", runs: "[{name: db}]", observed: database, input: of(`{type: A, status: true}, {type: A, status: false}`), said: "invalid input:\nconditions[1].type: Duplicate value: \"A\""},
		"Text":     {reason: "The type of a status is known before.", runs: "[{name: db}]", observed: database, input: of(`{type: A, status: "${string(1)}"}`), said: "invalid input:\nconditions[0].status: Invalid value: \"${string(1)}\": must be of type boolean, and is of type string"},
	})
}
