package main

import "testing"

func TestForEach(t *testing.T) {
	const (
		zones = `
- {name: db, forEach: "${xr.spec.zones}", vars: {size: "${each.value}"}}
- {name: app, usages: false, vars: {urls: "${runs.db.map(k, k + runs.db[k].outputs.url).sort()}"}}`
		status = `status: {urls: "${runs.db.transformMap(k, r, r.outputs.url)}"}`
		listed = `[{name: db, forEach: "${xr.spec.zones}"}]`
	)

	member := func(key string) string { return existing("db["+key+"]", "", "role: a.b.c, unsafeVars: {size: 5}") }

	check(t, map[string]step{
		"Map": {
			reason: "Each item of a map is a run. A dependent waits for the whole set. A run without its item is removed.",
			runs:   zones, input: status, spec: "zones: {eu: 5, us: 5}", observed: member("eu") + existing("db[gone]", "", "role: a.b.c, unsafeVars: {size: 4}"),
			want: "db[eu], db[us]", said: "Running db[us]: is running\nDependencyNotReady:\napp: waiting for db", shown: "{urls: {eu: there}}",
		},
		"SetReady": {
			reason: "Expressions read a ready set as a map by key.",
			runs:   zones, input: status, spec: "zones: {eu: 5, us: 6}",
			observed: member("eu") + existing("db[us]", "", "role: a.b.c, unsafeVars: {size: 6}") +
				existing("app", "db[]", "role: a.b.c, unsafeVars: {urls: [euthere, usthere]}"),
			want: "app, db[eu], db[us]", said: "Available", shown: "{urls: {eu: there, us: there}}",
		},
		"Unresolved": {
			reason: "While the list is missing, no member is removed.",
			runs:   listed, observed: member("eu"),
			want: "db[eu]", said: "ValueNotSet db: forEach: xr.spec.zones is not set; write xr.spec.?zones if it may be missing",
		},
		"Keyed": {
			reason: "A list of objects needs forEachKey. when can leave out an item.",
			runs:   `[{name: db, forEach: "${xr.spec.zones}", forEachKey: "${each.value.id}", when: "${each.value.wanted}"}]`,
			spec:   "zones: [{id: a, wanted: false}, {id: 7, wanted: true}]",
			want:   "db[7]", said: "Running db[7]: is running",
		},
		"Empty": {
			reason: "A set may be empty, and nothing waits for it.",
			runs:   `[{name: db, forEach: "${xr.spec.zones}"}, {name: app, vars: {count: "${size(runs.db)}"}}]`, spec: "zones: []",
			response: one("unsafeVars: {count: 0}", `annotations: {ansible.fn.crossplane.io/depends-on: "db[]"}`),
		},
		"NotWanted": {
			reason: "All members of an unwanted set are removed, even without its list.",
			runs:   `[{name: db, forEach: "${xr.spec.zones}", when: "${xr.spec.wanted}"}]`, spec: "wanted: false", observed: member("eu"), said: "Available",
		},
		"Duplicates": {
			reason: "A duplicate key holds the set, and is named once.",
			runs:   listed, spec: "zones: [a, b, a, a]", said: `InvalidValue db: forEach: there is more than one item with key "a"`,
		},
		"NoKey": {
			reason: "Items that are not strings need forEachKey.",
			runs:   listed, spec: "zones: [a, {b: c}]", said: "InvalidValue db: forEach[1]: is not a string; a list of anything else needs forEachKey",
		},
		"KeyWithoutValue": {
			reason: "A message about an invalid key names the item.",
			runs:   `[{name: db, forEach: "${xr.spec.zones}", forEachKey: "${each.value.?id}"}]`, spec: "zones: [{id: a}, {b: c}]",
			said: `InvalidValue db: forEachKey: must be a string, and is null for the item {"b":"c"}`,
		},
		"WhenText": {
			reason: "A when that is a string is invalid.",
			runs:   `[{name: db, when: "${xr.spec.wanted}"}]`, spec: `wanted: "false"`, said: `InvalidValue db: when: must be true or false, and is "false"`,
		},
		"BadKey": {
			reason: "A key cannot forge the name of a resource or a line of the condition.",
			runs:   listed, spec: `zones: ["a]\nother: is fine"]`,
			said: `InvalidValue db: forEach: "a]\nother: is fine" cannot be a key: it must be letters, digits and _.:/@-, start with a letter, a digit or _, and have at most 128 characters`,
		},
		"TooMany": {
			reason: "The number of items is limited.",
			runs:   `[{name: db, forEach: "${lists.range(1001).map(i, string(i))}"}]`, said: "InvalidValue db: forEach: has 1001 items, but a set can have at most 1000",
		},
	})
}
