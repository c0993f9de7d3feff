package main

import "testing"

// TestConditions checks the conditions of the input.
func TestConditions(t *testing.T) {
	database := existing("db", "", "role: a.b.c")
	of := func(conditions string) string { return "conditions: [" + conditions + "]" }

	check(t, map[string]step{
		"True": {
			reason: "A condition follows from the outputs of a run.", runs: "[{name: db}]", observed: database, input: of(`{type: A, status: "${runs.db.outputs.url == 'there'}", reason: Reached, message: "at ${runs.db.outputs.url}"}`),
			want: "db", conditions: []string{"A|TRUE|Reached|at there"}, said: "Available",
		},
		"False": {
			reason: "A condition can be False, with a computed reason.", runs: "[{name: db}]", observed: database, input: of(`{type: A, status: "${runs.db.outputs.url == 'here'}", reason: "${runs.db.outputs.url == 'there' ? 'Elsewhere' : 'Here'}"}`),
			want: "db", conditions: []string{"A|FALSE|Elsewhere|"}, said: "Available",
		},
		"Literal": {reason: "A condition can be literal.", runs: "[{name: db}]", observed: database, input: of(`{type: A, status: true}`), want: "db", conditions: []string{"A|TRUE|Computed|"}, said: "Available"},
		"Pending": {
			reason: "A condition is Unknown while a run has not reported a value, which is no problem.", runs: "[{name: db}]", input: of(`{type: A, status: "${runs.db.outputs.url == 'there'}", reason: Reached, message: there}`),
			want: "db", conditions: []string{"A|UNKNOWN|ValuePending|"}, said: "Running db: is running",
		},
		"NeverThere": {
			reason: "A value that is missing in a ready run is a problem.", runs: "[{name: db}]", observed: database, input: of(`{type: A, status: "${runs.db.outputs.port == 1}"}`),
			want: "db", conditions: []string{"A|UNKNOWN|ValuePending|conditions[0].status: runs.db.outputs.port is not there yet"},
			said: "InvalidStatus conditions[0].status: runs.db.outputs.port is not there yet",
		},
		"NotSet": {
			reason: "A value that is missing in the XR is a problem.", runs: "[{name: db}]", observed: database, input: of(`{type: A, status: "${xr.spec.port == 1}"}`),
			want: "db", conditions: []string{"A|UNKNOWN|ValueNotSet|conditions[0].status: xr.spec.port is not set; write xr.spec.?port if it may be missing"},
			said: "InvalidStatus conditions[0].status: xr.spec.port is not set; write xr.spec.?port if it may be missing",
		},
		"Skipped": {
			reason: "A condition that needs an unwanted run is Unknown.", runs: "[{name: db, when: false}]", input: of(`{type: A, status: "${runs.db.ready}"}`),
			conditions: []string{"A|UNKNOWN|Skipped|db is not wanted"}, said: "Available",
		},
		"BadReason": {
			reason: "An invalid reason, which the API server would refuse, is a problem.", runs: "[{name: db}]", observed: database, input: of(`{type: A, status: true, reason: "${runs.db.outputs.url + ' is wrong'}"}`),
			want: "db", conditions: []string{"A|TRUE|Computed|"}, said: `InvalidStatus conditions[0].reason: "there is wrong" cannot be the reason of a condition: it is a word such as ReplicaLost`,
		},
		"NoBoolean": {
			reason: "A status must be true or false.", runs: "[{name: db}]", observed: database, input: of(`{type: A, status: "${runs.db.outputs.url}"}`),
			want: "db", conditions: []string{"A|UNKNOWN|InvalidValue|conditions[0].status: must be true or false"}, said: "InvalidStatus conditions[0].status: must be true or false",
		},
		"Reserved": {reason: "A Composition cannot set the conditions of Crossplane.", runs: "[{name: db}]", observed: database, input: of(`{type: Ready, status: true}`), said: "invalid input:\nconditions[0].type: Forbidden: this condition is set by Crossplane or by function-ansible itself"},
		"Twice":    {reason: "A Composition cannot have two conditions of a type.", runs: "[{name: db}]", observed: database, input: of(`{type: A, status: true}, {type: A, status: false}`), said: "invalid input:\nconditions[1].type: Duplicate value: \"A\""},
		"Text":     {reason: "The type of a status is checked when the input is compiled.", runs: "[{name: db}]", observed: database, input: of(`{type: A, status: "${string(1)}"}`), said: "invalid input:\nconditions[0].status: Invalid value: \"${string(1)}\": must be true, false, or an expression that is one of them"},
	})
}
