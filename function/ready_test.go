package main

import "testing"

// TestReadyWhen checks that a run is ready when its AnsibleRun is and readyWhen is true.
func TestReadyWhen(t *testing.T) {
	database := existing("db", "", "role: a.b.c")

	cases := map[string]step{
		"Running": {
			reason: "A run with an AnsibleRun that is not ready is not ready, even if readyWhen is true.", runs: "[{name: db, readyWhen: true}]", observed: aRun("db", "status: {}"), want: "db", said: "Running db: is running",
		},
		"Local": {
			reason: "In readyWhen, locals see the run itself.", locals: `url: "${runs.db.outputs.url}"`, runs: `[{name: db, readyWhen: "${locals.url == ''}"}]`, observed: database,
			want: "db", said: "NotReady db: is not ready yet: readyWhen is false",
		},
		"Waits": {
			reason: "Dependents wait until readyWhen is true.", runs: "[{name: db, readyWhen: false}, {name: app, dependsOn: [db]}]", observed: database,
			want: "db", said: "NotReady db: is not ready yet: readyWhen is false\nDependencyNotReady:\napp: waiting for db",
		},
		"Set": {
			reason:   "readyWhen of a member sees only the member of its own key.",
			runs:     `[{name: db, forEach: [eu, us], readyWhen: "${runs.db[each.key].outputs.url == 'there' && (each.key == 'eu' || 'eu' in runs.db)}"}]`,
			observed: existing("db[eu]", "", "role: a.b.c") + existing("db[us]", "", "role: a.b.c"),
			want:     "db[eu], db[us]", said: "NotReady db[us]: is not ready yet: readyWhen is false",
		},
	}

	for name, tc := range map[string]struct{ reason, readyWhen, said string }{
		"True":      {reason: "readyWhen can refer to the outputs of the run itself.", readyWhen: `"${runs.db.outputs.url == 'there'}"`},
		"Literal":   {reason: "readyWhen can be literal.", readyWhen: `true`},
		"False":     {reason: "While readyWhen is false the XR is not ready.", readyWhen: `"${runs.db.outputs.url == 'here'}"`, said: "is not ready yet: readyWhen is false"},
		"Missing":   {reason: "While a value is missing the run is not ready.", readyWhen: `"${runs.db.outputs.leader != ''}"`, said: "readyWhen: runs.db.outputs.leader is not there yet"},
		"None":      {reason: "A run with readyWhen optional.none() is not ready.", readyWhen: `"${runs.db.outputs.?leader}"`, said: "is not ready yet: readyWhen is null"},
		"NoBoolean": {reason: "A run with readyWhen of another type is not ready.", readyWhen: `"${runs.db.outputs.url}"`, said: `is not ready yet: readyWhen is "there"`},
		"Fails":     {reason: "fail() in readyWhen sets the message.", readyWhen: `"${runs.db.outputs.url == 'here' || fail('it is elsewhere')}"`, said: "readyWhen: it is elsewhere"},
	} {
		s := step{reason: tc.reason, runs: "[{name: db, readyWhen: " + tc.readyWhen + "}]", observed: database, want: "db", said: "Available"}
		if tc.said != "" {
			s.said = "NotReady db: " + tc.said
		}

		cases[name] = s
	}

	check(t, cases)
}

func TestReadyWhenInvalid(t *testing.T) {
	step{runs: `
- {name: a, readyWhen: "yes", vars: {b: "${runs.b.outputs}"}}
- {name: b, readyWhen: "${runs.a.ready}"}
- {name: c, readyWhen: "${runs.c.reddy}"}`}.mistakes(t,
		`runs[0].readyWhen: Invalid value: "yes": must be true, false, or an expression`,
		`runs[2].readyWhen: Invalid value: "${runs.c.reddy}": runs.c has no field "reddy"`,
		`cannot depend on itself`,
	)
}
