package main

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
)

// lost are AnsibleRuns that are found, but not observed, and have core's label: they were not deleted.
func lost(resources string) string {
	return asDeparting(strings.ReplaceAll(resources, "labels: {", "labels: {crossplane.io/composite: app, "))
}

// renamed is what is said of a run that may have had another name.
func renamed(run, was, but string) string {
	return run + ": previousNames: " + was + ", which is not wanted any more, has the same content, hosts and variables" + but +
		": write previousNames: [\"" + was + "\"] to go on with it, or previousNames: [] to remove it all the same"
}

// What exists is removed by its own when, its own key or the Composition, and by
// nothing else.
func TestStays(t *testing.T) {
	const refers = `
  - {name: monitor, when: "${xr.spec.monitoring}"}
  - {name: database, vars: {url: "${runs.monitor.outputs.url}"}}
  - {name: app, vars: {x: "${runs.database.outputs.url}"}}`

	const unwanted = "runs.monitor is not wanted any more; it stays as it is: to do without, write runs.?monitor and what else it may be, " +
		"and to remove it, too, give it the same when"

	monitor := existing("monitor", "", "role: a.b.c")
	database := existing("database", "monitor", "role: a.b.c, unsafeVars: {url: there}")
	app := existing("app", "database", "role: a.b.c, unsafeVars: {x: there}")

	zones := existing("zone[a]", "", "role: a.b.c") + existing("zone[b]", "", "role: a.b.c") + existing("zone[c]", "", "role: a.b.c")

	many, names := "", "zone[0], zone[10], zone[11], zone[1], zone[2], zone[3], zone[4], zone[5], zone[6], zone[7], zone[8], zone[9]"
	for i := range 12 {
		many += existing(fmt.Sprintf("zone[%d]", i), "", "role: a.b.c")
	}

	const both = `
  - {name: monitor, when: "${xr.spec.monitoring}"}
  - {name: database, when: "${xr.spec.monitoring}", dependsOn: [monitor]}`

	// Each of these was rendered after the one before.
	chain := existing("db", "", "role: a.b.c, vars: {size: 5}") + existing("cache", "db", "role: a.b.c, vars: {size: 6}") +
		existing("web", "cache", "role: a.b.c, unsafeVars: {url: there}")

	// The run of this one had prune: false.
	unpruned := strings.Replace(existing("app", "db", "role: a.b.c, vars: {size: 7}"), "annotations: {", "annotations: {ansible.fn.crossplane.io/prune: never, ", 1)

	// What core deletes is not observed any more.
	departing := asDeparting(database)

	stuck := strings.ReplaceAll(departing, "conditions: [", "conditions: [{type: Deletable, status: 'False', "+
		"observedGeneration: 1, message: 'absent run failed: No space left; repair the cause'}, ")

	usage := using("database", "monitor")

	cases := map[string]step{
		"Referred": {
			reason: "What refers to a run that is not wanted any more is held, and so is all that depends on it.",
			runs:   refers, spec: "monitoring: false", observed: monitor + database + app,
			want: "app, app uses database, database, database uses monitor, monitor",
			said: "ValueNotSet database: vars.url: " + unwanted + "\nDependencyNotReady:\napp: waiting for database\nLeaving:\nmonitor: not wanted any more, but has to stay for database",
		},
		"ReferredRenamed": {
			reason: "It is not removed because it has another name now.",
			runs:   `[{name: monitor, when: "${xr.spec.monitoring}"}, {name: store, vars: {url: "${runs.monitor.outputs.url}"}}]`, spec: "monitoring: false",
			observed: monitor + database,
			want:     "database, monitor",
			said:     "InvalidValue " + renamed("store", "database", " but for computed values") + "\nLeaving:\nmonitor: not wanted any more, but has to stay for database\ndatabase: not wanted any more, but may be what store was called, which is not known yet",
		},
		"NotThere": {
			reason: "What does not exist is not wanted either.",
			runs:   refers, spec: "monitoring: false",
			said: "Available Skipped:\ndatabase: not wanted, for it refers to monitor, which is not wanted\napp: not wanted, for it refers to database, which is not wanted",
		},
		"BothLeave": {
			reason: "When both are to go, what depends goes first.",
			runs:   both, spec: "monitoring: false", observed: monitor + database + usage,
			want: "database uses monitor, monitor", said: "Leaving monitor: not wanted any more, but has to stay for database",
		},
		"Undeletable": {
			reason: "The XR says what keeps the AnsibleRun from going.",
			runs:   both, spec: "monitoring: false", observed: monitor + usage, departing: stuck,
			want: "database uses monitor, monitor",
			said: "Leaving monitor: not wanted any more, but has to stay for database, which is being deleted: absent run failed: " +
				"No space left; repair the cause",
		},
		"Gone": {
			reason: "Then the Usage goes: core would refuse to delete what is used.",
			runs:   both, spec: "monitoring: false", observed: monitor + usage,
			want: "monitor", said: "Leaving monitor: not wanted any more, but has to stay for database uses monitor",
		},
		"ComesBack": {
			reason: "What is wanted again waits until it is gone: it would be applied while it is removed.",
			runs:   both, spec: "monitoring: true", observed: monitor + usage, departing: departing,
			want: "database uses monitor, monitor", said: "DependencyNotReady database: waiting for database, which is being deleted",
		},
		"Lost": {
			reason: "What an XR has lost its references to is applied again, and nothing waits for it.",
			runs:   both, spec: "monitoring: true", departing: lost(monitor + database),
			want: "database, database uses monitor, monitor", said: "Available",
		},
		"LostUnwanted": {
			reason: "What is not wanted stays until core can delete it.",
			runs:   both, spec: "monitoring: false", observed: monitor, departing: lost(database),
			want: "database, database uses monitor, monitor",
			said: "Leaving monitor: not wanted any more, but has to stay for database\ndatabase: not wanted any more, but the XR has lost its reference to it, which comes back first",
		},
		"TooMany": {
			reason: "More than may go stay all.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", removal: {atMost: 1}}]`, spec: "zones: [c]", observed: zones,
			want: "zone[a], zone[b], zone[c]",
			said: "RemovalHeld zone: 2 of 3 would be removed, and removal.atMost is 1; to remove them, annotate the XR with ansible.fn.crossplane.io/allow-removal: zone=2",
		},
		"TooManyAtOnce": {
			reason: "So do those of a set that is not wanted any more.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", when: "${xr.spec.wanted}", removal: {atMost: 50%}}]`, spec: "zones: [c], wanted: false",
			observed: zones,
			want:     "zone[a], zone[b], zone[c]",
			said:     "RemovalHeld zone: 3 of 3 would be removed, and removal.atMost is 50%; to remove them, annotate the XR with ansible.fn.crossplane.io/allow-removal: zone=3",
		},
		"TooManyOfMany": {
			reason:   "A set counts as its members.",
			runs:     `[{name: zone, forEach: "${lists.range(8).map(i, string(i))}", removal: {atMost: 1}}]`,
			observed: many, want: names,
			said: "RemovalHeld 8 of 12 runs are ready; 4 leaving\nzone: 4 of 12 would be removed, and removal.atMost is 1; to remove them, annotate the XR with ansible.fn.crossplane.io/allow-removal: zone=4",
		},
		"ManyWithoutList": {
			reason:   "So it does while it has no items.",
			runs:     `[{name: zone, forEach: "${xr.spec.?zones}"}]`,
			observed: many, want: names,
			said: "ValueNotSet 0 of 12 runs are ready; 12 without a usable value\nzone: forEach: xr.spec.zones is not there, so that the set stays as it is; a list that is empty removes its members, and so does when: false",
		},
		"TooManyByDefault": {
			reason:   "What only sets have lies under sets, where it is in the defaults.",
			defaults: `removal: {atMost: 1}`, runs: `[{name: other, vars: {size: 5}}, {name: zone, forEach: "${xr.spec.zones}", forEachKey: "${each.value.id}"}]`,
			spec: "zones: [{id: c}]", observed: zones,
			want: "other, zone[a], zone[b], zone[c]",
			said: "RemovalHeld zone: 2 of 3 would be removed, and removal.atMost is 1; to remove them, annotate the XR with ansible.fn.crossplane.io/allow-removal: zone=2\nRunning:\nother: is running",
		},
		"Few": {
			reason: "As many as may go do.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", removal: {atMost: 67%}}]`, spec: "zones: [c]", observed: zones,
			want: "zone[c]", said: "Available",
		},
		"Allowed": {
			reason: "The XR says that more may.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", removal: {atMost: 0}}]`, spec: "zones: [c]", observed: zones,
			annotations: "ansible.fn.crossplane.io/allow-removal: 'other=5, zone=2'",
			want:        "zone[c]", said: "Available",
		},
		"Retained": {
			reason: "What is not to be pruned stays, and is no reason to wait.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", prune: false}]`, spec: "zones: [b, c]",
			observed: strings.ReplaceAll(zones, "annotations: {", `annotations: {ansible.fn.crossplane.io/prune: never, `),
			want:     "zone[a], zone[b], zone[c]", said: "Available Retained:\nzone[a]: not wanted any more, and stays, since prune is false",
		},
		"Renamed": {
			reason: "A run is not created while one that does the same would be removed.",
			runs:   `[{name: database, vars: {size: 5}}]`, observed: existing("db", "", "role: a.b.c, vars: {size: 5}"),
			want: "db", said: "InvalidValue " + renamed("database", "db", "") + "\nLeaving:\ndb: not wanted any more, but may be what database was called",
		},
		"RenamedWithoutEntry": {
			reason: "Nor one that has an entry less, because its value was not set.",
			runs:   `[{name: database, env: [{name: A, value: "${xr.spec.?a}"}, {name: B, value: b}]}]`, spec: "a: there",
			observed: existing("db", "", "role: a.b.c, env: [{name: B, value: b}]"),
			want:     "db", said: "InvalidValue " + renamed("database", "db", " but for computed values") + "\nLeaving:\ndb: not wanted any more, but may be what database was called",
		},
		"RenamedBesideDeparting": {
			reason: "Nor while one that is being deleted may be the new one as well.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", vars: {key: "${each.key}"}}]`, spec: "zones: [a]",
			observed:  existing("area[a]", "", "role: a.b.c, unsafeVars: {key: a}"),
			departing: asDeparting(existing("area[b]", "", "role: a.b.c, unsafeVars: {key: b}")),
			want:      "area[a]", said: "InvalidValue " + renamed("zone[a]", "area[a]", "") + "\nLeaving:\narea[a]: not wanted any more, but may be what zone[a] was called",
		},
		"RenamedNotSet": {
			reason:   "Nor while it lacks a value, of which set it may be.",
			runs:     `[{name: database, forEach: "${xr.spec.zones}", vars: {size: "${each.value}"}}]`,
			observed: existing("db[a]", "", "role: a.b.c, unsafeVars: {size: 5}"),
			want:     "db[a]",
			said:     "ValueNotSet database: forEach: xr.spec.zones is not set; write xr.spec.?zones if it may be missing\nLeaving:\ndb[a]: not wanted any more, but may be what database was called, which is not known yet",
		},
		"OtherEnv": {
			reason:   "One with another literal environment is another one, also where an XR chooses the version of its project.",
			defaults: `project: {src: "https://git.example.org/a.git", version: "${xr.spec.version}"}, allowed: {project.version: ["*"]}`,
			runs:     `[{name: database, vars: {size: 5}, env: [{name: ZONE, value: a}]}]`, spec: "version: v2",
			observed: existing("db", "", `role: a.b.c, vars: {size: 5}, project: {src: "https://git.example.org/a.git", version: v1}, env: [{name: ZONE, value: b}]`),
			want:     "database", said: "Running database: is running",
		},
		"OtherKeysWait": {
			reason:   "As long as the values of a new one are not known, it may be one whose key was another.",
			runs:     `[{name: app, vars: {size: 6}}, {name: zone, dependsOn: [app], forEach: "${xr.spec.zones}", forEachKey: "${each.value.id}", vars: {name: "${each.value.name}"}}]`,
			spec:     "zones: [{id: 1, name: a}]",
			observed: existing("zone[a]", "app", "role: a.b.c, unsafeVars: {name: a}") + existing("app", "", "role: a.b.c, vars: {size: 5}"),
			want:     "app, zone[a], zone[a] uses app",
			said:     "Running app: is running\nDependencyNotReady:\nzone[1]: waiting for app\nLeaving:\nzone[a]: not wanted any more, but may be what zone[1] was called, which is not known yet",
		},
		"Told": {
			reason: "Of one that another run is said to replace nothing else is thought.",
			runs:   `[{name: database, previousNames: [], vars: {size: "${xr.spec.size}"}}, {name: other, dependsOn: [database], vars: {size: "${xr.spec.more}"}}]`,
			spec:   "size: 5", observed: existing("db", "", "role: a.b.c, unsafeVars: {size: 5}"),
			said: "DependencyNotReady database: waiting for db, which is not wanted any more\nother: waiting for database",
		},
		"RetainedOn": {
			reason: "What stays for good keeps what it depends on, and what that depends on.",
			runs:   `[{name: other, when: false}]`,
			observed: strings.ReplaceAll(existing("zone[a]", "app", "role: a.b.c"), "annotations: {", `annotations: {ansible.fn.crossplane.io/prune: never, `) +
				existing("app", "database", "role: a.b.c") + existing("database", "", "role: a.b.c") + using("zone[a]", "app") + using("app", "database"),
			want: "app, app uses database, database, zone[a], zone[a] uses app",
			said: "Available Retained:\napp: not wanted any more, and stays with zone[a]\ndatabase: not wanted any more, and stays with app\nzone[a]: not wanted any more, and stays, since prune is false",
		},
		"Another": {
			reason: "The Composition may say that it is another one, which comes when the one before is gone.",
			runs:   `[{name: database, previousNames: [], vars: {size: 5}}]`, observed: existing("db", "", "role: a.b.c, vars: {size: 5}"),
			said: "DependencyNotReady database: waiting for db, which is not wanted any more",
		},
		"AnotherReferred": {
			reason:   "What waits for it does not keep the one before: the three would wait for one another. Its Usage goes first.",
			runs:     `[{name: database, previousNames: [], vars: {size: 5}}, {name: web, vars: {url: "${runs.database.outputs.url}"}}]`,
			observed: existing("db", "", "role: a.b.c, vars: {size: 5}") + existing("web", "db", "role: a.b.c, unsafeVars: {url: there}") + using("web", "db"),
			want:     "db, web",
			said:     "DependencyNotReady database: waiting for db, which is not wanted any more\nweb: waiting for database\nLeaving:\ndb: not wanted any more, but has to stay for web uses db",
		},
		"AnotherTwiceReferred": {
			reason:   "What depends on the one before goes before it, and does not stay for what waits for the new one either.",
			runs:     `[{name: database, previousNames: [], vars: {size: 5}}, {name: cache2, previousNames: [], dependsOn: [database], vars: {size: 6}}, {name: web, vars: {url: "${runs.cache2.outputs.url}"}}]`,
			observed: chain,
			want:     "db, web",
			said:     "DependencyNotReady database: waiting for db, which is not wanted any more\ncache2: waiting for database\nweb: waiting for cache2\nLeaving:\ndb: not wanted any more, but has to stay for cache",
		},
		"AnotherRetainedReferred": {
			reason:   "It does not wait for what stays for good with another one, whatever else depends on that: that goes with the XR alone.",
			runs:     `[{name: database, previousNames: [], vars: {size: 5}}, {name: web, vars: {url: "${runs.database.outputs.url}"}}]`,
			observed: existing("db", "", "role: a.b.c, vars: {size: 5}") + existing("web", "db", "role: a.b.c, unsafeVars: {url: there}") + unpruned,
			want:     "app, database, db, web, web uses db",
			said:     "Running database: is running\nDependencyNotReady:\nweb: waiting for database\nRetained:\napp: not wanted any more, and stays, since prune is false\ndb: not wanted any more, and stays with app",
		},
		"AnotherListedRenamed": {
			reason:   "Nor do those that its members were called, which are known only then: they stay, and the one before goes.",
			runs:     `[{name: probe, previousNames: [], vars: {size: 5}}, {name: zone, forEach: "${runs.probe.outputs.zones}", previousNames: ["area[${each.key}]"]}]`,
			observed: existing("monitor", "", "role: a.b.c, vars: {size: 5}") + existing("area[a]", "monitor", "role: a.b.c"),
			want:     "area[a]",
			said:     "DependencyNotReady probe: waiting for monitor, which is not wanted any more\nzone: waiting for probe\nLeaving:\narea[a]: not wanted any more, but may be what a member of zone was called, which is not known yet",
		},
		"AnotherListedUnknown": {
			reason:   "If the one before itself may be what a member was called, it would stay for ever.",
			runs:     `[{name: probe, previousNames: [], vars: {size: 5}}, {name: zone, forEach: "${runs.probe.outputs.zones}", previousNames: ["${each.value}"]}]`,
			observed: existing("monitor", "", "role: a.b.c, vars: {size: 5}") + existing("zone[a]", "monitor", "role: a.b.c"),
			want:     "monitor, zone[a]",
			said: "InvalidValue probe: previousNames: monitor, which is not wanted any more, may be what zone was called, which is not known before probe is there: write previousNames: [\"monitor\"] to go on with it, or literal text beside the expressions in previousNames of zone\n" +
				"DependencyNotReady:\nzone: waiting for probe\nLeaving:\nmonitor: not wanted any more, but may be what a member of zone was called, which is not known yet",
		},
		"AnotherNamed": {
			reason:   "The same goes for previous names that are taken from its outputs.",
			runs:     `[{name: probe, previousNames: [], vars: {size: 5}}, {name: web, previousNames: ["${runs.probe.outputs.url}"]}]`,
			observed: existing("monitor", "", "role: a.b.c, vars: {size: 5}"),
			want:     "monitor",
			said: "InvalidValue probe: previousNames: monitor, which is not wanted any more, may be what web was called, which is not known before probe is there: write previousNames: [\"monitor\"] to go on with it, or literal text beside the expressions in previousNames of web\n" +
				"ValuePending:\nweb: previousNames[0]: runs.probe is not there yet\nLeaving:\nmonitor: not wanted any more, but may be what web was called, which is not known yet",
		},
		"AnotherChangedLater": {
			reason: "Nor one that is made while the one before is being deleted.",
			runs:   `[{name: database, previousNames: [], vars: {size: "${xr.spec.size}"}}]`, spec: "size: 6",
			departing: asDeparting(existing("db", "", "role: a.b.c, unsafeVars: {size: 5}")),
			said:      "DependencyNotReady database: waiting for db, which is being deleted",
		},
		"AnotherTellsLater": {
			reason: "What waits for another one is asked for, too: it would be known only when the one before is gone.",
			runs:   `[{name: database, previousNames: [], vars: {size: "${xr.spec.size}"}}, {name: replica, dependsOn: [database], vars: {size: "${xr.spec.more}"}}]`,
			spec:   "size: 6, more: 7", observed: existing("db", "", "role: a.b.c, unsafeVars: {size: 5}"),
			want: "db",
			said: "InvalidValue " + renamed("replica", "db", " but for computed values") + "\nDependencyNotReady:\ndatabase: waiting for db, which is not wanted any more\nLeaving:\ndb: not wanted any more, but may be what replica was called, which is not known yet",
		},
		"AnotherMember": {
			reason: "Members of a set come and go by themselves.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", previousNames: [], vars: {name: "${each.key}"}}]`, spec: "zones: [c]",
			observed:  existing("zone[a]", "", "role: a.b.c, unsafeVars: {name: a}"),
			departing: asDeparting(existing("zone[b]", "", "role: a.b.c, unsafeVars: {name: b}")),
			want:      "zone[c]", said: "Running zone[c]: is running",
		},
		"FoundNone": {
			reason: "Other names of which it has none say nothing: a run that was renamed twice keeps its first name.",
			runs:   `[{name: postgres, previousNames: [database], vars: {size: 5}}]`, observed: existing("db", "", "role: a.b.c, vars: {size: 5}"),
			want: "db",
			said: "InvalidValue postgres: previousNames: db, which is not wanted any more, has the same content, hosts and variables: add \"db\" to previousNames to go on with it, or write previousNames: [] to remove it all the same\n" +
				"Leaving:\ndb: not wanted any more, but may be what postgres was called",
		},
		"FoundOthers": {
			reason: "A member that has none is a new one, beside one that had the name of an item that is gone.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", previousNames: ["old-${each.key}"], vars: {name: "${each.key}"}}]`, spec: "zones: [a, c]",
			observed: existing("old-a", "", "role: a.b.c, unsafeVars: {name: a}") + existing("old-b", "", "role: a.b.c, unsafeVars: {name: b}"),
			want:     "old-a, zone[c]", said: "Running zone[c]: is running",
		},
		"Adopted": {
			reason:   "A run goes on with the object that it had by another name, and so does what depends on it, which knows it by what core calls it.",
			runs:     `[{name: database, previousNames: [sql, db], vars: {size: 5}}, {name: app, vars: {url: "${runs.database.outputs.url}"}}]`,
			observed: existing("db", "", "role: a.b.c, vars: {size: 5}") + existing("app", "db", "role: a.b.c, unsafeVars: {url: there}"),
			want:     "app, app uses db, db", said: "Available",
		},
		"Replaced": {
			reason: "It stays until what is to do without it has been applied so.",
			runs:   `[{name: database}, {name: app, vars: {url: "${runs.database.outputs.url}"}}]`,
			observed: existing("database", "", "role: a.b.c") + existing("db", "", "role: x.y.z") +
				strings.Replace(existing("app", "database,db", "role: a.b.c, unsafeVars: {url: there}"), "generation: 1", "generation: 2", 1),
			want: "app, app uses database, app uses db, database, db", said: "Running app: is running\nLeaving:\ndb: not wanted any more, but has to stay for app",
		},
		"GoneWithoutUsages": {
			reason: "A run that is gone from the Composition, and may have had usages: false, gets no Usages that it did not have.",
			runs:   `[{name: monitor}]`, observed: monitor + existing("database", "monitor", "role: x.y.z"),
			want: "monitor", said: "Available",
		},
		"FormerNameDeparting": {
			reason: "A member waits for one that has a previous name, and is being deleted, whatever its values were.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", previousNames: ["area[${each.key}]"], vars: {size: "${each.value}"}}]`, spec: "zones: {a: 6}",
			departing: asDeparting(existing("area[a]", "", "role: a.b.c, unsafeVars: {size: 5}")),
			said:      "DependencyNotReady zone[a]: waiting for area[a], which is being deleted",
		},
		"AdoptedOnce": {
			reason:   "One that exists by its own name adopts nothing; what it was called goes.",
			runs:     `[{name: database, previousNames: [db], vars: {size: 5}}]`,
			observed: existing("db", "", "role: a.b.c, vars: {size: 5}") + existing("database", "", "role: a.b.c, vars: {size: 5}"),
			want:     "database", said: "Available",
		},
		"TwoBefore": {
			reason: "Only one can be meant.",
			runs:   `[{name: database, previousNames: [db, sql]}]`, observed: existing("db", "", "role: a.b.c") + existing("sql", "", "role: a.b.c"),
			want: "db, sql",
			said: "InvalidValue database: previousNames: the XR has db and sql, of which only one can be the run\n" +
				"Leaving:\ndb: not wanted any more, but may be what database was called, which is not known yet\nsql: not wanted any more, but may be what database was called, which is not known yet",
		},
		"BecameSet": {
			reason: "A member of a set goes on with what was a run of its own.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", previousNames: ["${each.key == 'a' ? 'first' : 'second'}"], vars: {name: "${each.key}"}}]`,
			spec:   "zones: [a, b]", observed: existing("first", "", "role: a.b.c, unsafeVars: {name: a}"),
			want: "first, zone[b]", said: "Running zone[b]: is running",
		},
		"OtherKeys": {
			reason:   "Members go on by other keys; one that has no other name goes.",
			runs:     `[{name: zone, forEach: "${xr.spec.zones}", forEachKey: "${each.value.id}", previousNames: ["zone[${each.value.name}]"], vars: {name: "${each.value.name}"}}]`,
			spec:     "zones: [{id: 1, name: a}, {id: 2, name: b}]",
			observed: existing("zone[a]", "", "role: a.b.c, unsafeVars: {name: a}") + existing("zone[b]", "", "role: a.b.c, unsafeVars: {name: b}") + existing("zone[c]", "", "role: a.b.c, unsafeVars: {name: c}"),
			want:     "zone[a], zone[b]", said: "Available",
		},
		"NamesWrong": {
			reason: "While it is not known what an item was called, what the set has by other keys stays.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", forEachKey: "${each.value.id}", previousNames: ["zone[${each.value.name}]"], vars: {id: "${each.value.id}"}}]`,
			spec:   "zones: [{id: x}]", observed: existing("zone[a]", "", "role: a.b.c"),
			want: "zone[a]",
			said: "ValueNotSet zone[x]: previousNames[0]: each.value.name is not set; write each.value.?name if it may be missing\n" +
				"Leaving:\nzone[a]: not wanted any more, but may be what a member of zone was called, which is not known yet",
		},
		"OwnName": {
			reason: "The name that a run has is no other one.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", forEachKey: "${each.value.id}", previousNames: ["zone[${each.value.name}]", "zone[${each.value.id}]"], vars: {id: "${each.value.id}"}}]`,
			spec:   "zones: [{id: x, name: a}, {id: w, name: b}]", observed: existing("zone[a]", "", "role: a.b.c, unsafeVars: {id: x}"),
			want: "zone[a], zone[w]", said: "Running zone[w]: is running",
		},
		"RenamedHeld": {
			reason: "Nor beside one that is held.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", forEachKey: "${each.value.id}", removal: {atMost: 0}, vars: {name: "${each.value.name}"}}]`,
			spec:   "zones: [{id: 1, name: a}]", observed: existing("zone[a]", "", "role: a.b.c, unsafeVars: {name: a}"),
			want: "zone[a]",
			said: "InvalidValue " + renamed("zone[1]", "zone[a]", "") + "\nRemovalHeld:\nzone: 1 of 1 would be removed, and removal.atMost is 0; to remove them, annotate the XR with ansible.fn.crossplane.io/allow-removal: zone=1",
		},
		"FormerMember": {
			reason: "A set knows those by its former name, too, whose items are gone.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", previousNames: ["area[${each.key}]"], removal: {atMost: 1}}]`, spec: "zones: [a]",
			observed: existing("area[a]", "", "role: a.b.c") + existing("area[b]", "", "role: a.b.c") + existing("area[c]", "", "role: a.b.c"),
			want:     "area[a], area[b], area[c]",
			said:     "RemovalHeld zone: 2 of 3 would be removed, and removal.atMost is 1; to remove them, annotate the XR with ansible.fn.crossplane.io/allow-removal: zone=2",
		},
		"FormerMemberUsed": {
			reason: "What depends on the set does without it first.",
			runs: `
  - {name: zone, forEach: "${xr.spec.zones}", previousNames: ["area[${each.key}]"]}
  - {name: app, vars: {zones: "${runs.zone.transformList(k, z, k)}"}}`,
			spec:     "zones: [a]",
			observed: existing("area[a]", "", "role: a.b.c") + existing("area[b]", "", "role: a.b.c") + existing("app", "zone[]", `role: a.b.c, unsafeVars: {zones: [a, b]}`),
			want:     "app, app uses area[a], app uses area[b], area[a], area[b]",
			said:     "Running app: is running\nLeaving:\narea[b]: not wanted any more, but has to stay for app",
		},
		"FormerMemberComputed": {
			reason: "Once that has run without it, it goes, also where the former name of the set is computed.",
			runs: `
  - {name: zone, forEach: "${xr.spec.zones}", previousNames: ["${'area[' + each.key + ']'}"]}
  - {name: app, vars: {zones: "${runs.zone.transformList(k, z, k)}"}}`,
			spec:     "zones: [a]",
			observed: existing("area[a]", "", "role: a.b.c") + existing("area[b]", "", "role: a.b.c") + existing("app", "area[],zone[]", `role: a.b.c, unsafeVars: {zones: [a]}`),
			want:     "app, app uses area[a], area[a]", said: "Available",
		},
		"FormerMembersUnknown": {
			reason:   "A list that is not there removes none of them.",
			runs:     `[{name: zone, forEach: "${xr.spec.?zones.orValue([])}", previousNames: ["area[${each.key}]"]}]`,
			observed: existing("area[b]", "", "role: a.b.c"),
			want:     "area[b]",
			said: "ValueNotSet zone: forEach: xr.spec.zones is not there, so that the set stays as it is; a list that is empty removes its members, and so does when: false\n" +
				"Leaving:\narea[b]: not wanted any more, but may be what a member of zone was called, which is not known yet",
		},
		"AdoptedMembersUnknown": {
			reason: "One that was adopted is known to be a member.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones.x}", previousNames: ["area[${each.key}]"]}]`, spec: "zones: {}",
			observed: strings.Replace(existing("area[b]", "", "role: a.b.c"), "annotations: {", `annotations: {ansible.fn.crossplane.io/run: "zone[b]", `, 1),
			want:     "area[b]", said: "ValueNotSet zone: forEach: xr.spec.zones.x is not set; write xr.spec.zones.?x if it may be missing",
		},
		"FormerNamesReferred": {
			reason: "Nor does a run that is not wanted, and that the list is of.",
			runs: `
  - {name: monitor, when: "${xr.spec.monitoring}"}
  - {name: zone, forEach: "${runs.monitor.outputs.zones}", previousNames: ["area-${each.key}"]}`,
			spec: "monitoring: false", observed: monitor + existing("area-b", "monitor", "role: a.b.c") + using("area-b", "monitor"),
			want: "area-b, area-b uses monitor, monitor",
			said: "ValueNotSet zone: forEach: " + unwanted + "\nLeaving:\nmonitor: not wanted any more, but has to stay for area-b\narea-b: not wanted any more, but may be what a member of zone was called, which is not known yet",
		},
		"FormerNamesOfTwo": {
			reason: "They may have become members of several sets.",
			runs: `
  - {name: zone, forEach: "${xr.spec.zones}", previousNames: ["area[${each.key}]"], removal: {atMost: 1}}
  - {name: region, forEach: "${xr.spec.?regions}", previousNames: ["area[${each.key}]"]}`,
			spec:     "zones: [a], regions: []",
			observed: existing("area[a]", "", "role: a.b.c") + existing("area[b]", "", "role: a.b.c") + existing("area[c]", "", "role: a.b.c"),
			want:     "area[a], area[b], area[c]",
			said:     "RemovalHeld zone: 2 of 3 would be removed, and removal.atMost is 1; to remove them, annotate the XR with ansible.fn.crossplane.io/allow-removal: zone=2",
		},
		"OwnKey": {
			reason: "A member goes with its key, whatever the others wait for.",
			runs: `
  - {name: monitor, when: "${xr.spec.monitoring}"}
  - {name: zone, forEach: "${xr.spec.zones}", vars: {url: "${runs.monitor.outputs.url}"}}`,
			spec:     "monitoring: false, zones: [a, c]",
			observed: monitor + existing("zone[a]", "monitor", "role: a.b.c") + existing("zone[b]", "monitor", "role: a.b.c"),
			want:     "monitor, zone[a], zone[a] uses monitor, zone[b] uses monitor",
			said:     "ValueNotSet zone[a]: vars.url: " + unwanted + "\nLeaving:\nmonitor: not wanted any more, but has to stay for zone[a], zone[b]\nSkipped:\nzone[c]: not wanted, for it refers to monitor, which is not wanted",
		},
	}

	check(t, cases)
}

// What else core is told of AnsibleRuns that stay.
func TestStaying(t *testing.T) {
	check(t, map[string]step{
		"Renamed": {
			reason: "Core goes on calling what was renamed by its first name.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", previousNames: ["area[${each.key}]"]}]`, spec: "zones: [a, b]", observed: existing("area[a]", "", "role: a.b.c"),
			want: "area[a], zone[b]", said: "Running zone[b]: is running",
			fields: map[string]string{"area[a] metadata.annotations": `{ansible.fn.crossplane.io/run: "zone[a]"}`, "zone[b] metadata.annotations": "null"},
		},
		"Retained": {
			reason: "What stays because of prune: false, which it was not applied with, stays when its run is gone from the Composition, too.",
			runs:   "[{name: database, when: false, prune: false}]", observed: existing("database", "", "role: a.b.c"),
			want: "database", said: "Available Retained:\ndatabase: not wanted any more, and stays, since prune is false",
			fields: map[string]string{"database metadata.annotations": "{ansible.fn.crossplane.io/prune: never}"},
		},
		"Lost": {
			reason: "Core gives an object that it does not observe a name of its own, and would create one that is gone by now. " +
				"A Secret would lose what it has, since core sends no connection details along.",
			runs: "[{name: database}]", input: `connectionDetails: [{name: url, value: "${runs.database.connectionDetails.url}"}]`,
			departing: lost(existing("database", "", "role: a.b.c")), want: "database", said: "Running database: is running",
			fields: map[string]string{"database metadata": "{name: app-database, namespace: default, uid: database, labels: {ansible.fn.crossplane.io/composite-uid: xr}}"},
		},
		"LostOne": {
			reason: "A Secret that is observed stays as it is when one of the AnsibleRuns is lost.",
			runs:   "[{name: database}, {name: cache}]", input: `connectionDetails: [{name: url, value: "${runs.database.outputs.url}"}]`,
			observed: existing("database", "", "role: a.b.c") + `
    connection-details: {resource: {apiVersion: v1, kind: Secret, metadata: {name: app-connection, namespace: default}, data: {url: dGhlcmU=, old: Z29uZQ==}}}`,
			departing: lost(existing("cache", "", "role: a.b.c")), want: "cache, connection-details, database", said: "Available",
			fields: map[string]string{"connection-details data": "{url: dGhlcmU=, old: Z29uZQ==}"},
		},
	})
}

// A list that is not there removes nothing, however that is written.
func TestListMissing(t *testing.T) {
	cases := map[string]struct {
		forEach, locals, spec string
		// missing is what is not there; "" for a list that is empty.
		missing string
	}{
		"Optional":         {forEach: `"${xr.spec.?zones}"`, missing: "xr.spec.zones"},
		"Default":          {forEach: `"${xr.spec.?zones.orValue([])}"`, missing: "xr.spec.zones"},
		"Has":              {forEach: `"${has(xr.spec.zones) ? xr.spec.zones.filter(z, z != 'x') : []}"`, missing: "xr.spec.zones"},
		"In":               {forEach: `'${"zones" in xr.spec ? xr.spec.zones : []}'`, missing: "xr.spec.zones"},
		"Brackets":         {forEach: `'${xr.spec[?"zones"].orValue([])}'`, missing: "xr.spec.zones"},
		"Index":            {forEach: `'${xr.spec["network"].?zones.orValue([])}'`, spec: "network: {}", missing: "xr.spec.network.zones"},
		"Below":            {forEach: `'${xr.spec.?network.zones.orValue([])}'`, spec: "network: {}", missing: "xr.spec.network.zones"},
		"Local":            {locals: `zones: "${xr.spec.?zones.orValue([])}"`, forEach: `"${locals.zones}"`, missing: "xr.spec.zones"},
		"LocalPath":        {locals: `all: {spec: "${xr.spec}"}, own: "${locals.all.spec}"`, forEach: `"${locals.own.?zones.orValue([])}"`, missing: "locals.own.zones"},
		"LocalComputed":    {locals: `all: "${{'a': 1}.merge(xr.spec)}"`, forEach: `"${locals.all.?zones.orValue([])}"`, missing: "locals.all.zones"},
		"Locals":           {locals: `all: {zones: "${xr.spec.?zones.orValue([])}"}, zones: "${locals.all.zones.filter(z, z != 'x')}"`, forEach: `"${locals.zones}"`, missing: "xr.spec.zones"},
		"Elsewhere":        {forEach: `"${environment.?zones}"`, missing: "environment.zones"},
		"ElsewhereDefault": {forEach: `"${environment.?zones.orValue([])}"`, missing: "environment.zones"},
		"Context":          {forEach: `'${context[?"example.org/zones"].orValue([])}'`, missing: "context.example.org/zones"},
		"Items":            {forEach: `'${"eu" in xr.spec.regions ? xr.spec.zones : []}'`, spec: "zones: [a], regions: [us]"},
		"LocalEmpty":       {locals: `all: {zones: "${xr.spec.?zones.orValue([])}", team: "${xr.spec.?team.orValue('none')}"}`, forEach: `"${locals.all.zones}"`, spec: "zones: []"},
		"Empty":            {forEach: `"${xr.spec.?zones.orValue([])}"`, spec: "zones: []"},
		"Required":         {locals: `zones: "${required.?settings.?data.?zones.orValue('').split(',').filter(z, z != '')}"`, forEach: `"${locals.zones}"`, missing: "required.settings.data.zones"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := step{
				reason: "A list that is not there removes nothing, and one that is empty all.", locals: tc.locals, spec: tc.spec, observed: existing("zone[a]", "", "role: a.b.c"),
				runs: "[{name: zone, forEach: " + tc.forEach + "}]", input: "requiredResources: {settings: {apiVersion: v1, kind: ConfigMap, namespace: x, matchName: settings}}",
				said: "Available",
			}

			if tc.missing != "" {
				s.want = "zone[a]"
				s.said = "ValueNotSet zone: forEach: " + tc.missing + " is not there, so that the set stays as it is; a list that is empty removes its members, and so does when: false"
			}

			s.check(t)
		})
	}
}

// What is told apart from an AnsibleRun that is not wanted any more is created at once, and that one goes.
func TestNotRenamed(t *testing.T) {
	const sized = `{name: database, vars: {size: "${xr.spec.size}", name: "db-${xr.spec.size}-x"}}`

	db := existing("db", "", "role: a.b.c, unsafeVars: {size: 5, name: db-5-x}")

	cases := map[string]struct {
		reason, runs, observed string
		want                   string
	}{
		"Text":          {"It has other literal text.", strings.Replace(sized, "db-", "sql-", 1), db, "database"},
		"LongerText":    {"A text that begins and ends with the one of a run is another one.", `{name: database, vars: {version: "1"}}`, existing("db", "", `role: a.b.c, vars: {version: "1.1"}`), "database"},
		"Configuration": {"It has another configuration.", strings.Replace(sized, "vars:", "providerConfigRef: {name: other}, vars:", 1), db, "database"},
		"Names":         {"It has variables of other names.", sized, strings.Replace(db, "size: 5", "size: 5, more: 1", 1), "database"},
		"Environment":   {"It has another environment.", `{name: database, env: [{name: A, value: "${xr.spec.?a}"}, {name: B, value: b}]}`, existing("db", "", "role: a.b.c, env: [{name: C, value: b}]"), "database"},
		"Values":        {"It has other variables.", `{name: database, vars: {size: 6}}`, existing("db", "", "role: a.b.c, vars: {size: 5}"), "database"},
		"Wanted":        {"The Composition still has it.", sized + ", " + strings.Replace(sized, "name: database", "name: db, when: false", 1), db, "database"},
		"Orphaned":      {"It removes nothing.", sized, strings.Replace(db, "spec: {", "spec: {managementPolicies: [Observe, Create, Update], ", 1), "database"},
		"Kept":          {"So it is where deletion keeps what content has made.", sized, strings.Replace(db, "forProvider: {", "forProvider: {onDelete: {policy: Keep}, ", 1), "database"},
		"Item":          {"Members of a set are told apart by all of their variables.", `{name: zone, forEach: [b], vars: {name: "${each.value}"}}`, existing("zone[a]", "", "role: a.b.c, unsafeVars: {name: a}"), "zone[b]"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			step{reason: tc.reason, runs: "[" + tc.runs + "]", spec: "size: 6", observed: tc.observed, want: tc.want, said: "Running " + tc.want + ": is running"}.check(t)
		})
	}
}

// An XR that has lost its references, but for those of another step, finds its AnsibleRuns again, although it wants
// none; and core asks until the answer stays the same.
func TestFindsLost(t *testing.T) {
	for want, s := range map[int]step{
		1: {
			runs:     `[{name: monitor, when: false}, {name: database, vars: {url: "${runs.monitor.outputs.url}"}}]`,
			observed: "{machine: {resource: {apiVersion: cloud.example.org/v1, kind: Machine, metadata: {name: app-m}}}}",
		},
		2: {runs: "[{name: database}]", departing: lost(existing("database", "", "role: a.b.c"))},
	} {
		required := s.respond(t).GetRequirements().GetResources()
		if required["ansible.fn.crossplane.io/runs/ansible.m.crossplane.io/v1alpha1"] == nil || len(required) != want {
			t.Errorf("RunFunction(...): want the AnsibleRuns of the XR, and %d in all, got %v", want, required)
		}
	}
}

// What is being deleted is applied as it was: its content is run with state absent, and that with
// values that were applied.
func TestDeletedAsItWas(t *testing.T) {
	const (
		b = "\n- {name: b, vars: {x: 'b-${xr.spec.x}'}, dependsOn: [a]}"
		a = "[{name: a, vars: {x: 'a-${xr.spec.x}'}}]"
	)

	deletable := func(status, reason string) string {
		return `, {type: Deletable, status: "` + status + `", observedGeneration: 1, reason: ` + reason + `, message: "says\nwhy"}`
	}

	cases := map[string]struct{ reason, runs, resource, status, want, said string }{
		"OtherValues":  {reason: "Other values of the XR are for the AnsibleRun that comes after it.", runs: "\n- {name: a, vars: {x: 'a-${xr.spec.x}'}}" + b, said: "Deleting a: is being deleted\nDependencyNotReady:\nb: waiting for a"},
		"OtherContent": {reason: "So is another role, and what else is written otherwise.", runs: "\n- {name: a, role: a.b.d, timeout: 5m, labels: {a: b}}" + b, said: "Deleting a: is being deleted\nDependencyNotReady:\nb: waiting for a"},
		"Renamed":      {reason: "It may have had another name.", runs: "[{name: c, previousNames: [a], vars: {x: 'c-${xr.spec.x}'}}]", said: "Deleting c (a): is being deleted"},
		"Waits":        {reason: "What it waits for now does not matter any more.", runs: "[{name: d}, {name: a, dependsOn: [d], vars: {x: 'a-${xr.spec.x}'}}]", want: "a, d", said: "Deleting a: is being deleted\nRunning:\nd: is running"},
		"Member":       {reason: "It may be one of a set.", runs: "[{name: s, forEach: [k], vars: {x: 'a-${xr.spec.x}'}}]", resource: "s[k]", want: "s[k]", said: "Deleting s[k]: is being deleted"},
		"Approval":     {reason: "What is awaited is said.", runs: a, status: deletable("False", "AwaitingApproval"), said: "AwaitingApproval a: says why"},
		"Rejected":     {reason: "So is what was rejected.", runs: a, status: deletable("False", "Rejected"), said: "Rejected a: says why"},
		"Window":       {reason: "So is a window.", runs: a, status: deletable("False", "WaitingForWindow"), said: "WaitingForWindow a: says why"},
		"Obstacle":     {reason: "Another obstacle is no want of an approval.", runs: a, status: deletable("False", "RunFailed"), said: "Deleting a: is being deleted: says why"},
		"Approved":     {reason: "A condition that is True does not count.", runs: a, status: deletable("True", "AwaitingApproval"), said: "Deleting a: is being deleted"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			resource := cmp.Or(tc.resource, "a")
			step{
				reason: tc.reason, runs: tc.runs, spec: "x: q", want: cmp.Or(tc.want, "a"), said: tc.said,
				observed: strings.NewReplacer("\n          uid", "\n          deletionTimestamp: now\n          uid", "}]}", "}"+tc.status+"]}").
					Replace(existing(resource, "", "role: a.b.c, unsafeVars: {x: a-z}")),
				fields: map[string]string{resource + " spec": "{providerConfigRef: {kind: ClusterProviderConfig, name: default}, forProvider: {role: a.b.c, unsafeVars: {x: a-z}}}"},
			}.check(t)
		})
	}
}
