package main

import "testing"

// A run is ready when its AnsibleRun is, and what the Composition asks for is true.
func TestReadyWhen(t *testing.T) {
	database := existing("db", "", "role: a.b.c")

	cases := map[string]step{
		"Running": {
			reason: "It does not make ready what is not.", runs: "[{name: db, readyWhen: true}]", observed: aRun("db", "status: {}"), want: "db", said: "Running db: is running",
		},
		"Local": {
			reason: "A local sees the run, too.", locals: `url: "${runs.db.outputs.url}"`, runs: `[{name: db, readyWhen: "${locals.url == ''}"}]`, observed: database,
			want: "db", said: "NotReady db: is not ready yet: readyWhen is false",
		},
		"Waits": {
			reason: "Others wait for it.", runs: "[{name: db, readyWhen: false}, {name: app, dependsOn: [db]}]", observed: database,
			want: "db", said: "NotReady db: is not ready yet: readyWhen is false\nDependencyNotReady:\napp: waiting for db",
		},
		"Set": {
			reason:   "Of a set it sees the run of its own key.",
			runs:     `[{name: db, forEach: [eu, us], readyWhen: "${runs.db[each.key].outputs.url == 'there' && (each.key == 'eu' || 'eu' in runs.db)}"}]`,
			observed: existing("db[eu]", "", "role: a.b.c") + existing("db[us]", "", "role: a.b.c"),
			want:     "db[eu], db[us]", said: "NotReady db[us]: is not ready yet: readyWhen is false",
		},
	}

	for name, tc := range map[string]struct{ reason, readyWhen, said string }{
		"True":      {reason: "It sees what came of the run itself.", readyWhen: `"${runs.db.outputs.url == 'there'}"`},
		"Literal":   {reason: "It may be literal.", readyWhen: `true`},
		"False":     {reason: "Until it is true the XR is not ready.", readyWhen: `"${runs.db.outputs.url == 'here'}"`, said: "is not ready yet: readyWhen is false"},
		"Missing":   {reason: "A value that is missing is not there yet.", readyWhen: `"${runs.db.outputs.leader != ''}"`, said: "readyWhen: runs.db.outputs.leader is not there yet"},
		"None":      {reason: "Nor is one that is left out.", readyWhen: `"${runs.db.outputs.?leader}"`, said: "is not ready yet: readyWhen is null"},
		"NoBoolean": {reason: "What is not true is not.", readyWhen: `"${runs.db.outputs.url}"`, said: `is not ready yet: readyWhen is "there"`},
		"Fails":     {reason: "It may say why.", readyWhen: `"${runs.db.outputs.url == 'here' || fail('it is elsewhere')}"`, said: "readyWhen: it is elsewhere"},
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
