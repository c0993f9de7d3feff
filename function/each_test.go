package main

import (
	"strings"
	"testing"
)

// zone is an observed member of the set of databases.
func zone(key, status string) string {
	return strings.NewReplacer("name: app-abc", "name: app-"+key, "composition-resource-name: database", "composition-resource-name: 'database["+key+"]'").
		Replace("\n    database[" + key + "]:" + observedRun + status)
}

// renderedZone is what a member becomes, and what it was.
const renderedZone = `
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata:
          annotations: {ansible.crossplane.io/runPolicy: RunOnChange}
        spec:
          providerConfigRef: {kind: ClusterProviderConfig, name: default}
          forProvider:
            role: acme.postgres.server
            unsafeVars: {size: 5}
`

const inputZones = `
runs:
- {name: database, runPolicy: RunOnChange, role: acme.postgres.server, forEach: "${xr.spec.zones}", vars: {size: "${each.value}"}}
- name: app
  role: acme.app.server
  vars: {endpoints: "${runs.database.map(k, runs.database[k].outputs.endpoint).sort()}"}
status:
  endpoints: "${runs.database.transformMap(k, r, r.outputs.endpoint)}"
`

func TestForEach(t *testing.T) {
	cases := map[string]struct {
		reason string
		rendering
	}{
		"Map": {
			reason: "Each item of a map is a run; what depends on the set waits for all of it; a key that is gone takes its run with it.",
			rendering: rendering{
				input:    inputZones,
				spec:     `zones: {eu: 5, us: 5}`,
				observed: "observed:\n  resources:" + zone("eu", readyStatus) + strings.Replace(zone("gone", readyStatus), "size: 5", "size: 4", 1),
				want: `
desired:
  composite:
    ready: READY_FALSE
    resource: {status: {endpoints: {eu: "db:5432"}}}
  resources:
    database[eu]:
      ready: READY_TRUE` + renderedZone + `
    database[us]:
      ready: READY_FALSE` + strings.Replace(renderedZone, "metadata:\n", "metadata:\n          labels: {crossplane.io/in-use: \"true\"}\n", 1) + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: Running, message: "database[us]: is running\napp: waiting for database", target: TARGET_COMPOSITE_AND_CLAIM}
` + "results:" + removing("database[gone]"),
			},
		},
		"SetReady": {
			reason: "When all of it is ready it can be used as a map by key.",
			rendering: rendering{
				input:    inputZones,
				spec:     `zones: {eu: 5, us: 5}`,
				observed: "observed:\n  resources:" + zone("eu", readyStatus) + zone("us", readyStatus),
				want: `
desired:
  composite:
    resource: {status: {endpoints: {eu: "db:5432", us: "db:5432"}}}
  resources:
    database[eu]:
      ready: READY_TRUE` + renderedZone + `
    database[us]:
      ready: READY_TRUE` + renderedZone + `
    app:
      ready: READY_FALSE
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata:
          annotations: {ansible.fn.crossplane.io/depends-on: "database[]"}
        spec:
          providerConfigRef: {kind: ClusterProviderConfig, name: default}
          forProvider:
            role: acme.app.server
            unsafeVars: {endpoints: ["db:5432", "db:5432"]}
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: Running, message: "app: is running", target: TARGET_COMPOSITE_AND_CLAIM}
`,
			},
		},
		"Unresolved": {
			reason: "While the list is not there nothing of the set is removed.",
			rendering: rendering{
				input:    strings.SplitAfter(inputZones, "each.value}\"}}\n")[0],
				spec:     ``,
				observed: "observed:\n  resources:" + zone("eu", readyStatus),
				want: `
desired:
  composite: {ready: READY_FALSE}
  resources:
    database[eu]:` + strings.Replace(appliedDatabase, "composition-resource-name: database", "composition-resource-name: 'database[eu]'", 1) + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: ValueNotSet, message: "database: forEach: xr.spec.zones is not set; write xr.spec.?zones if it may be missing", target: TARGET_COMPOSITE_AND_CLAIM}
results:
- {severity: SEVERITY_WARNING, reason: ValueNotSet, message: "database: forEach: xr.spec.zones is not set; write xr.spec.?zones if it may be missing", target: TARGET_COMPOSITE_AND_CLAIM}
`,
			},
		},
		"Keyed": {
			reason: "A list of anything has keys of its own; an item can be left out by when.",
			rendering: rendering{
				input: `
runs:
- {name: database, runPolicy: RunOnChange, role: acme.postgres.server, forEach: "${xr.spec.zones}", forEachKey: "${each.value.id}", when: "${each.value.wanted}", vars: {size: "${each.value.size}"}}
`,
				spec: `zones: [{id: a, wanted: false, size: 1}, {id: 7, wanted: true, size: 5}]`,
				want: `
desired:
  resources:
    database[7]:
      ready: READY_FALSE` + renderedZone + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: Running, message: "database[7]: is running", target: TARGET_COMPOSITE_AND_CLAIM}
`,
			},
		},
		"Empty": {
			reason: "A set may be empty; nothing waits for it.",
			rendering: rendering{
				input: `
runs:
- {name: database, role: acme.postgres.server, forEach: "${xr.spec.zones}"}
- {name: app, role: acme.app.server, vars: {"n": "${size(runs.database)}"}}
`,
				spec: `zones: []`,
				want: one(`unsafeVars: {"n": 0}`, `{annotations: {ansible.fn.crossplane.io/depends-on: "database[]"}}`),
			},
		},
		"NotWanted": {
			reason: "A set that is not wanted is gone as a whole, whatever its list.",
			rendering: rendering{
				input: `
runs:
- {name: database, role: acme.postgres.server, forEach: "${xr.spec.zones}", when: "${xr.spec.wanted}"}
`,
				spec:     `wanted: false`,
				observed: "observed:\n  resources:" + zone("eu", readyStatus),
				want: `
desired: {}
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_TRUE, reason: Available, message: "", target: TARGET_COMPOSITE_AND_CLAIM}
` + "results:" + removing("database[eu]"),
			},
		},
		"Duplicates": {
			reason: "What cannot be a set holds it.",
			rendering: rendering{
				input: `
runs:
- {name: database, role: acme.postgres.server, forEach: "${xr.spec.zones}"}
`,
				spec: `zones: [a, b, a]`,
				want: held("InvalidValue", `database: forEach: there is more than one item with key "a"`),
			},
		},
		"NoKey": {
			reason: "Items that are no strings need a key.",
			rendering: rendering{
				input: `
runs:
- {name: database, role: acme.postgres.server, forEach: "${xr.spec.zones}"}
`,
				spec: `zones: [a, {b: c}]`,
				want: held("InvalidValue", `database: forEach[1]: is not a string; a list of anything else needs forEachKey`),
			},
		},
		"BadKey": {
			reason: "A key cannot forge the names of resources or lines of the condition.",
			rendering: rendering{
				input: `
runs:
- {name: database, role: acme.postgres.server, forEach: "${xr.spec.zones}"}
`,
				spec: `zones: ["a]\nother: is fine"]`,
				want: held("InvalidValue", `database: forEach: "a]\nother: is fine" cannot be a key: it must be letters, digits and _.:/@-, start with a letter, a digit or _, and have at most 128 characters`),
			},
		},
		"TooMany": {
			reason: "There is a limit.",
			rendering: rendering{
				input: `
runs:
- {name: database, role: acme.postgres.server, forEach: "${lists.range(1001).map(i, string(i))}"}
`,
				want: held("InvalidValue", `database: forEach: has 1001 items, but at most 1000 can be`),
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { tc.check(t, tc.reason) })
	}
}
