package main

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
)

// lost returns AnsibleRuns as lost ones: they are required and not observed, and have core's label, so core has not
// deleted them.
func lost(resources string) string {
	return asDeparting(strings.ReplaceAll(resources, "labels: {", "labels: {crossplane.io/composite: app, "))
}

// renamed returns the message about a run that may be an unwanted AnsibleRun under a new name.
func renamed(run, was, but string) string {
	return run + ": previousNames: " + was + ", which is not wanted any more, has the same content, hosts and variables" + but +
		": write previousNames: [\"" + was + "\"] to go on with it, or previousNames: [] to remove it all the same"
}

// TestStays checks that an AnsibleRun is removed only by its own when, its own key or the Composition.
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

	// Each of these depends on the one before.
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
			reason: "A run that refers to an unwanted run is held, and its dependents wait.",
			runs:   refers, spec: "monitoring: false", observed: monitor + database + app,
			want: "app, app uses database, database, database uses monitor, monitor",
			said: "ValueNotSet database: vars.url: " + unwanted + "\nDependencyNotReady:\napp: waiting for database\nLeaving:\nmonitor: not wanted any more, but has to stay for database",
		},
		"ReferredRenamed": {
			reason: "A run that refers to an unwanted run is not removed when it gets another name.",
			runs:   `[{name: monitor, when: "${xr.spec.monitoring}"}, {name: store, vars: {url: "${runs.monitor.outputs.url}"}}]`, spec: "monitoring: false",
			observed: monitor + database,
			want:     "database, monitor",
			said:     "InvalidValue " + renamed("store", "database", " but for computed values") + "\nLeaving:\nmonitor: not wanted any more, but has to stay for database\ndatabase: not wanted any more, but may be what store was called, which is not known yet",
		},
		"NotThere": {
			reason: "A new run that refers to an unwanted run is skipped.",
			runs:   refers, spec: "monitoring: false",
			said: "Available Skipped:\ndatabase: not wanted, for it refers to monitor, which is not wanted\napp: not wanted, for it refers to database, which is not wanted",
		},
		"BothLeave": {
			reason: "Of two unwanted runs the dependent is removed first.",
			runs:   both, spec: "monitoring: false", observed: monitor + database + usage,
			want: "database uses monitor, monitor", said: "Leaving monitor: not wanted any more, but has to stay for database",
		},
		"Undeletable": {
			reason: "The condition has the reason why an AnsibleRun cannot be deleted.",
			runs:   both, spec: "monitoring: false", observed: monitor + usage, departing: stuck,
			want: "database uses monitor, monitor",
			said: "Leaving monitor: not wanted any more, but has to stay for database, which is being deleted: absent run failed: " +
				"No space left; repair the cause",
		},
		"Gone": {
			reason: "When the dependent is gone its Usage is removed, since core could not delete the dependency otherwise.",
			runs:   both, spec: "monitoring: false", observed: monitor + usage,
			want: "monitor", said: "Leaving monitor: not wanted any more, but has to stay for database uses monitor",
		},
		"ComesBack": {
			reason: "A run that is wanted again waits until its old AnsibleRun is deleted.",
			runs:   both, spec: "monitoring: true", observed: monitor + usage, departing: departing,
			want: "database uses monitor, monitor", said: "DependencyNotReady database: waiting for database, which is being deleted",
		},
		"Lost": {
			reason: "A lost AnsibleRun is applied again, and its dependents do not wait.",
			runs:   both, spec: "monitoring: true", departing: lost(monitor + database),
			want: "database, database uses monitor, monitor", said: "Available",
		},
		"LostUnwanted": {
			reason: "A lost AnsibleRun that is not wanted stays until core can delete it.",
			runs:   both, spec: "monitoring: false", observed: monitor, departing: lost(database),
			want: "database, database uses monitor, monitor",
			said: "Leaving monitor: not wanted any more, but has to stay for database\ndatabase: not wanted any more, but the XR has lost its reference to it, which comes back first",
		},
		"TooMany": {
			reason: "If removal.atMost does not allow to remove all unwanted members, all stay.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", removal: {atMost: 1}}]`, spec: "zones: [c]", observed: zones,
			want: "zone[a], zone[b], zone[c]",
			said: "RemovalHeld zone: 2 of 3 would be removed, and removal.atMost is 1; to remove them, annotate the XR with ansible.fn.crossplane.io/allow-removal: zone=2",
		},
		"TooManyAtOnce": {
			reason: "removal.atMost applies to a set that is not wanted any more, too.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", when: "${xr.spec.wanted}", removal: {atMost: 50%}}]`, spec: "zones: [c], wanted: false",
			observed: zones,
			want:     "zone[a], zone[b], zone[c]",
			said:     "RemovalHeld zone: 3 of 3 would be removed, and removal.atMost is 50%; to remove them, annotate the XR with ansible.fn.crossplane.io/allow-removal: zone=3",
		},
		"TooManyOfMany": {
			reason:   "The tally counts members and not the set.",
			runs:     `[{name: zone, forEach: "${lists.range(8).map(i, string(i))}", removal: {atMost: 1}}]`,
			observed: many, want: names,
			said: "RemovalHeld 8 of 12 runs are ready; 4 leaving\nzone: 4 of 12 would be removed, and removal.atMost is 1; to remove them, annotate the XR with ansible.fn.crossplane.io/allow-removal: zone=4",
		},
		"ManyWithoutList": {
			reason:   "The tally counts members of a set without items, too.",
			runs:     `[{name: zone, forEach: "${xr.spec.?zones}"}]`,
			observed: many, want: names,
			said: "ValueNotSet 0 of 12 runs are ready; 12 without a usable value\nzone: forEach: xr.spec.zones is not there, so that the set stays as it is; a list that is empty removes its members, and so does when: false",
		},
		"TooManyByDefault": {
			reason:   "removal.atMost in the defaults applies only to sets.",
			defaults: `removal: {atMost: 1}`, runs: `[{name: other, vars: {size: 5}}, {name: zone, forEach: "${xr.spec.zones}", forEachKey: "${each.value.id}"}]`,
			spec: "zones: [{id: c}]", observed: zones,
			want: "other, zone[a], zone[b], zone[c]",
			said: "RemovalHeld zone: 2 of 3 would be removed, and removal.atMost is 1; to remove them, annotate the XR with ansible.fn.crossplane.io/allow-removal: zone=2\nRunning:\nother: is running",
		},
		"Few": {
			reason: "Members within removal.atMost are removed.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", removal: {atMost: 67%}}]`, spec: "zones: [c]", observed: zones,
			want: "zone[c]", said: "Available",
		},
		"Allowed": {
			reason: "The annotation allow-removal of the XR allows more than removal.atMost.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", removal: {atMost: 0}}]`, spec: "zones: [c]", observed: zones,
			annotations: "ansible.fn.crossplane.io/allow-removal: 'other=5, zone=2'",
			want:        "zone[c]", said: "Available",
		},
		"Retained": {
			reason: "A member with prune: false stays, and nothing waits for it.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", prune: false}]`, spec: "zones: [b, c]",
			observed: strings.ReplaceAll(zones, "annotations: {", `annotations: {ansible.fn.crossplane.io/prune: never, `),
			want:     "zone[a], zone[b], zone[c]", said: "Available Retained:\nzone[a]: not wanted any more, and stays, since prune is false",
		},
		"Renamed": {
			reason: "A run is not created while an unwanted AnsibleRun has the same content, hosts and variables.",
			runs:   `[{name: database, vars: {size: 5}}]`, observed: existing("db", "", "role: a.b.c, vars: {size: 5}"),
			want: "db", said: "InvalidValue " + renamed("database", "db", "") + "\nLeaving:\ndb: not wanted any more, but may be what database was called",
		},
		"RenamedWithoutEntries": {
			reason: "Nor one that has only the last of several entries, which any one before it could be.",
			runs:   `[{name: database, varFiles: [{source: Secret, secretRef: {name: "${xr.spec.?a}"}}, {source: Secret, secretRef: {name: "${xr.spec.?b}"}}, {source: Secret, secretRef: {name: z}}]}]`, spec: "a: one, b: two",
			observed: existing("db", "", "role: a.b.c, varFiles: [{source: Secret, secretRef: {name: z}}]"),
			want:     "db", said: "InvalidValue " + renamed("database", "db", " but for computed values") + "\nLeaving:\ndb: not wanted any more, but may be what database was called",
		},
		"RenamedWithoutEntry": {
			reason: "A run may be an AnsibleRun without an entry that a missing value leaves out.",
			runs:   `[{name: database, env: [{name: A, value: "${xr.spec.?a}"}, {name: B, value: b}]}]`, spec: "a: there",
			observed: existing("db", "", "role: a.b.c, env: [{name: B, value: b}]"),
			want:     "db", said: "InvalidValue " + renamed("database", "db", " but for computed values") + "\nLeaving:\ndb: not wanted any more, but may be what database was called",
		},
		"RenamedBesideDeparting": {
			reason: "An unwanted AnsibleRun that may be the new run comes before one that is being deleted.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", vars: {key: "${each.key}"}}]`, spec: "zones: [a]",
			observed:  existing("area[a]", "", "role: a.b.c, unsafeVars: {key: a}"),
			departing: asDeparting(existing("area[b]", "", "role: a.b.c, unsafeVars: {key: b}")),
			want:      "area[a]", said: "InvalidValue " + renamed("zone[a]", "area[a]", "") + "\nLeaving:\narea[a]: not wanted any more, but may be what zone[a] was called",
		},
		"RenamedNotSet": {
			reason:   "An unwanted AnsibleRun stays while a set without items may have it as a member.",
			runs:     `[{name: database, forEach: "${xr.spec.zones}", vars: {size: "${each.value}"}}]`,
			observed: existing("db[a]", "", "role: a.b.c, unsafeVars: {size: 5}"),
			want:     "db[a]",
			said:     "ValueNotSet database: forEach: xr.spec.zones is not set; write xr.spec.?zones if it may be missing\nLeaving:\ndb[a]: not wanted any more, but may be what database was called, which is not known yet",
		},
		"OtherEnv": {
			reason:   "An AnsibleRun with another literal environment variable is not the new run.",
			defaults: `project: {src: "https://git.example.org/a.git", version: "${xr.spec.version}"}, allowed: {project.version: ["*"]}`,
			runs:     `[{name: database, vars: {size: 5}, env: [{name: ZONE, value: a}]}]`, spec: "version: v2",
			observed: existing("db", "", `role: a.b.c, vars: {size: 5}, project: {src: "https://git.example.org/a.git", version: v1}, env: [{name: ZONE, value: b}]`),
			want:     "database", said: "Running database: is running",
		},
		"OtherKeysWait": {
			reason:   "A member with another key may be a new member with values that are not known yet.",
			runs:     `[{name: app, vars: {size: 6}}, {name: zone, dependsOn: [app], forEach: "${xr.spec.zones}", forEachKey: "${each.value.id}", vars: {name: "${each.value.name}"}}]`,
			spec:     "zones: [{id: 1, name: a}]",
			observed: existing("zone[a]", "app", "role: a.b.c, unsafeVars: {name: a}") + existing("app", "", "role: a.b.c, vars: {size: 5}"),
			want:     "app, zone[a], zone[a] uses app",
			said:     "Running app: is running\nDependencyNotReady:\nzone[1]: waiting for app\nLeaving:\nzone[a]: not wanted any more, but may be what zone[1] was called, which is not known yet",
		},
		"Told": {
			reason: "An AnsibleRun that a run with previousNames: [] replaces is not a candidate for another run.",
			runs:   `[{name: database, previousNames: [], vars: {size: "${xr.spec.size}"}}, {name: other, dependsOn: [database], vars: {size: "${xr.spec.more}"}}]`,
			spec:   "size: 5", observed: existing("db", "", "role: a.b.c, unsafeVars: {size: 5}"),
			said: "DependencyNotReady database: waiting for db, which is not wanted any more\nother: waiting for database",
		},
		"RetainedOn": {
			reason: "An AnsibleRun that is retained keeps its transitive dependencies.",
			runs:   `[{name: other, when: false}]`,
			observed: strings.ReplaceAll(existing("zone[a]", "app", "role: a.b.c"), "annotations: {", `annotations: {ansible.fn.crossplane.io/prune: never, `) +
				existing("app", "database", "role: a.b.c") + existing("database", "", "role: a.b.c") + using("zone[a]", "app") + using("app", "database"),
			want: "app, app uses database, database, zone[a], zone[a] uses app",
			said: "Available Retained:\napp: not wanted any more, and stays with zone[a]\ndatabase: not wanted any more, and stays with app\nzone[a]: not wanted any more, and stays, since prune is false",
		},
		"Another": {
			reason: "A run with previousNames: [] is created when the AnsibleRun with the same content is gone.",
			runs:   `[{name: database, previousNames: [], vars: {size: 5}}]`, observed: existing("db", "", "role: a.b.c, vars: {size: 5}"),
			said: "DependencyNotReady database: waiting for db, which is not wanted any more",
		},
		"AnotherReferred": {
			reason:   "A dependent that waits for the new run does not keep the old one, which would be a deadlock. Its Usage is removed first.",
			runs:     `[{name: database, previousNames: [], vars: {size: 5}}, {name: web, vars: {url: "${runs.database.outputs.url}"}}]`,
			observed: existing("db", "", "role: a.b.c, vars: {size: 5}") + existing("web", "db", "role: a.b.c, unsafeVars: {url: there}") + using("web", "db"),
			want:     "db, web",
			said:     "DependencyNotReady database: waiting for db, which is not wanted any more\nweb: waiting for database\nLeaving:\ndb: not wanted any more, but has to stay for web uses db",
		},
		"AnotherTwiceReferred": {
			reason:   "An unwanted dependent of the old run is removed before it, even if its own dependents wait for the new run.",
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
			reason: "A changed run with previousNames: [] waits for an AnsibleRun that is being deleted.",
			runs:   `[{name: database, previousNames: [], vars: {size: "${xr.spec.size}"}}]`, spec: "size: 6",
			departing: asDeparting(existing("db", "", "role: a.b.c, unsafeVars: {size: 5}")),
			said:      "DependencyNotReady database: waiting for db, which is being deleted",
		},
		"AnotherTellsLater": {
			reason: "A dependent of the new run that may be the old one is held, since its values would be known only after the removal.",
			runs:   `[{name: database, previousNames: [], vars: {size: "${xr.spec.size}"}}, {name: replica, dependsOn: [database], vars: {size: "${xr.spec.more}"}}]`,
			spec:   "size: 6, more: 7", observed: existing("db", "", "role: a.b.c, unsafeVars: {size: 5}"),
			want: "db",
			said: "InvalidValue " + renamed("replica", "db", " but for computed values") + "\nDependencyNotReady:\ndatabase: waiting for db, which is not wanted any more\nLeaving:\ndb: not wanted any more, but may be what replica was called, which is not known yet",
		},
		"AnotherMember": {
			reason: "Members of a set that differ only in computed values are not candidates for each other.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", previousNames: [], vars: {name: "${each.key}"}}]`, spec: "zones: [c]",
			observed:  existing("zone[a]", "", "role: a.b.c, unsafeVars: {name: a}"),
			departing: asDeparting(existing("zone[b]", "", "role: a.b.c, unsafeVars: {name: b}")),
			want:      "zone[c]", said: "Running zone[c]: is running",
		},
		"FoundNone": {
			reason: "previousNames that match no AnsibleRun do not exclude a candidate: a run that was renamed twice keeps its first name in core.",
			runs:   `[{name: postgres, previousNames: [database], vars: {size: 5}}]`, observed: existing("db", "", "role: a.b.c, vars: {size: 5}"),
			want: "db",
			said: "InvalidValue postgres: previousNames: db, which is not wanted any more, has the same content, hosts and variables: add \"db\" to previousNames to go on with it, or write previousNames: [] to remove it all the same\n" +
				"Leaving:\ndb: not wanted any more, but may be what postgres was called",
		},
		"FoundOthers": {
			reason: "A member without a previous name is new, even if an AnsibleRun without its item has one.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", previousNames: ["old-${each.key}"], vars: {name: "${each.key}"}}]`, spec: "zones: [a, c]",
			observed: existing("old-a", "", "role: a.b.c, unsafeVars: {name: a}") + existing("old-b", "", "role: a.b.c, unsafeVars: {name: b}"),
			want:     "old-a, zone[c]", said: "Running zone[c]: is running",
		},
		"Adopted": {
			reason:   "A run adopts the AnsibleRun with its previous name. The annotation of a dependent has that name.",
			runs:     `[{name: database, previousNames: [sql, db], vars: {size: 5}}, {name: app, vars: {url: "${runs.database.outputs.url}"}}]`,
			observed: existing("db", "", "role: a.b.c, vars: {size: 5}") + existing("app", "db", "role: a.b.c, unsafeVars: {url: there}"),
			want:     "app, app uses db, db", said: "Available",
		},
		"Replaced": {
			reason: "A removed run stays until its former dependent has been applied without it.",
			runs:   `[{name: database}, {name: app, vars: {url: "${runs.database.outputs.url}"}}]`,
			observed: existing("database", "", "role: a.b.c") + existing("db", "", "role: x.y.z") +
				strings.Replace(existing("app", "database,db", "role: a.b.c, unsafeVars: {url: there}"), "generation: 1", "generation: 2", 1),
			want: "app, app uses database, app uses db, database, db", said: "Running app: is running\nLeaving:\ndb: not wanted any more, but has to stay for app",
		},
		"GoneWithoutUsages": {
			reason: "An AnsibleRun that is no longer in the Composition gets no new Usages, since it may have had usages: false.",
			runs:   `[{name: monitor}]`, observed: monitor + existing("database", "monitor", "role: x.y.z"),
			want: "monitor", said: "Available",
		},
		"FormerNameDeparting": {
			reason: "A member waits for an AnsibleRun with its previous name that is being deleted, even with other values.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", previousNames: ["area[${each.key}]"], vars: {size: "${each.value}"}}]`, spec: "zones: {a: 6}",
			departing: asDeparting(existing("area[a]", "", "role: a.b.c, unsafeVars: {size: 5}")),
			said:      "DependencyNotReady zone[a]: waiting for area[a], which is being deleted",
		},
		"AdoptedOnce": {
			reason:   "A run that exists under its current name adopts nothing. The AnsibleRun with its previous name is removed.",
			runs:     `[{name: database, previousNames: [db], vars: {size: 5}}]`,
			observed: existing("db", "", "role: a.b.c, vars: {size: 5}") + existing("database", "", "role: a.b.c, vars: {size: 5}"),
			want:     "database", said: "Available",
		},
		"TwoBefore": {
			reason: "A run with two AnsibleRuns with its previous names is held.",
			runs:   `[{name: database, previousNames: [db, sql]}]`, observed: existing("db", "", "role: a.b.c") + existing("sql", "", "role: a.b.c"),
			want: "db, sql",
			said: "InvalidValue database: previousNames: the XR has db and sql, of which only one can be the run\n" +
				"Leaving:\ndb: not wanted any more, but may be what database was called, which is not known yet\nsql: not wanted any more, but may be what database was called, which is not known yet",
		},
		"BecameSet": {
			reason: "A member of a set adopts the AnsibleRun of a single run.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", previousNames: ["${each.key == 'a' ? 'first' : 'second'}"], vars: {name: "${each.key}"}}]`,
			spec:   "zones: [a, b]", observed: existing("first", "", "role: a.b.c, unsafeVars: {name: a}"),
			want: "first, zone[b]", said: "Running zone[b]: is running",
		},
		"OtherKeys": {
			reason:   "Members adopt AnsibleRuns with other keys. An AnsibleRun without a member is removed.",
			runs:     `[{name: zone, forEach: "${xr.spec.zones}", forEachKey: "${each.value.id}", previousNames: ["zone[${each.value.name}]"], vars: {name: "${each.value.name}"}}]`,
			spec:     "zones: [{id: 1, name: a}, {id: 2, name: b}]",
			observed: existing("zone[a]", "", "role: a.b.c, unsafeVars: {name: a}") + existing("zone[b]", "", "role: a.b.c, unsafeVars: {name: b}") + existing("zone[c]", "", "role: a.b.c, unsafeVars: {name: c}"),
			want:     "zone[a], zone[b]", said: "Available",
		},
		"NamesWrong": {
			reason: "While a previous name is unknown, members with other keys stay.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", forEachKey: "${each.value.id}", previousNames: ["zone[${each.value.name}]"], vars: {id: "${each.value.id}"}}]`,
			spec:   "zones: [{id: x}]", observed: existing("zone[a]", "", "role: a.b.c"),
			want: "zone[a]",
			said: "ValueNotSet zone[x]: previousNames[0]: each.value.name is not set; write each.value.?name if it may be missing\n" +
				"Leaving:\nzone[a]: not wanted any more, but may be what a member of zone was called, which is not known yet",
		},
		"OwnName": {
			reason: "The current name of a member may be in its previousNames.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", forEachKey: "${each.value.id}", previousNames: ["zone[${each.value.name}]", "zone[${each.value.id}]"], vars: {id: "${each.value.id}"}}]`,
			spec:   "zones: [{id: x, name: a}, {id: w, name: b}]", observed: existing("zone[a]", "", "role: a.b.c, unsafeVars: {id: x}"),
			want: "zone[a], zone[w]", said: "Running zone[w]: is running",
		},
		"RenamedHeld": {
			reason: "A renamed member is held for the old one, which removal.atMost keeps.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", forEachKey: "${each.value.id}", removal: {atMost: 0}, vars: {name: "${each.value.name}"}}]`,
			spec:   "zones: [{id: 1, name: a}]", observed: existing("zone[a]", "", "role: a.b.c, unsafeVars: {name: a}"),
			want: "zone[a]",
			said: "InvalidValue " + renamed("zone[1]", "zone[a]", "") + "\nRemovalHeld:\nzone: 1 of 1 would be removed, and removal.atMost is 0; to remove them, annotate the XR with ansible.fn.crossplane.io/allow-removal: zone=1",
		},
		"FormerMember": {
			reason: "Members of a set with a previous name of the set count for removal.atMost without their items.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", previousNames: ["area[${each.key}]"], removal: {atMost: 1}}]`, spec: "zones: [a]",
			observed: existing("area[a]", "", "role: a.b.c") + existing("area[b]", "", "role: a.b.c") + existing("area[c]", "", "role: a.b.c"),
			want:     "area[a], area[b], area[c]",
			said:     "RemovalHeld zone: 2 of 3 would be removed, and removal.atMost is 1; to remove them, annotate the XR with ansible.fn.crossplane.io/allow-removal: zone=2",
		},
		"FormerMemberUsed": {
			reason: "A removed member with a previous name of the set stays until the dependent has run without it.",
			runs: `
  - {name: zone, forEach: "${xr.spec.zones}", previousNames: ["area[${each.key}]"]}
  - {name: app, vars: {zones: "${runs.zone.transformList(k, z, k)}"}}`,
			spec:     "zones: [a]",
			observed: existing("area[a]", "", "role: a.b.c") + existing("area[b]", "", "role: a.b.c") + existing("app", "zone[]", `role: a.b.c, unsafeVars: {zones: [a, b]}`),
			want:     "app, app uses area[a], app uses area[b], area[a], area[b]",
			said:     "Running app: is running\nLeaving:\narea[b]: not wanted any more, but has to stay for app",
		},
		"FormerMemberComputed": {
			reason: "A removed member with a computed previous name of the set is removed when the dependent has run without it.",
			runs: `
  - {name: zone, forEach: "${xr.spec.zones}", previousNames: ["${'area[' + each.key + ']'}"]}
  - {name: app, vars: {zones: "${runs.zone.transformList(k, z, k)}"}}`,
			spec:     "zones: [a]",
			observed: existing("area[a]", "", "role: a.b.c") + existing("area[b]", "", "role: a.b.c") + existing("app", "area[],zone[]", `role: a.b.c, unsafeVars: {zones: [a]}`),
			want:     "app, app uses area[a], area[a]", said: "Available",
		},
		"FormerMembersUnknown": {
			reason:   "A missing list does not remove members with a previous name of the set.",
			runs:     `[{name: zone, forEach: "${xr.spec.?zones.orValue([])}", previousNames: ["area[${each.key}]"]}]`,
			observed: existing("area[b]", "", "role: a.b.c"),
			want:     "area[b]",
			said: "ValueNotSet zone: forEach: xr.spec.zones is not there, so that the set stays as it is; a list that is empty removes its members, and so does when: false\n" +
				"Leaving:\narea[b]: not wanted any more, but may be what a member of zone was called, which is not known yet",
		},
		"AdoptedMembersUnknown": {
			reason: "An adopted AnsibleRun is a member while the items are missing.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones.x}", previousNames: ["area[${each.key}]"]}]`, spec: "zones: {}",
			observed: strings.Replace(existing("area[b]", "", "role: a.b.c"), "annotations: {", `annotations: {ansible.fn.crossplane.io/run: "zone[b]", `, 1),
			want:     "area[b]", said: "ValueNotSet zone: forEach: xr.spec.zones.x is not set; write xr.spec.zones.?x if it may be missing",
		},
		"FormerNamesReferred": {
			reason: "An unwanted run that the list depends on does not remove members with a previous name.",
			runs: `
  - {name: monitor, when: "${xr.spec.monitoring}"}
  - {name: zone, forEach: "${runs.monitor.outputs.zones}", previousNames: ["area-${each.key}"]}`,
			spec: "monitoring: false", observed: monitor + existing("area-b", "monitor", "role: a.b.c") + using("area-b", "monitor"),
			want: "area-b, area-b uses monitor, monitor",
			said: "ValueNotSet zone: forEach: " + unwanted + "\nLeaving:\nmonitor: not wanted any more, but has to stay for area-b\narea-b: not wanted any more, but may be what a member of zone was called, which is not known yet",
		},
		"FormerNamesOfTwo": {
			reason: "AnsibleRuns with a name that is previous in two sets count as members of each.",
			runs: `
  - {name: zone, forEach: "${xr.spec.zones}", previousNames: ["area[${each.key}]"], removal: {atMost: 1}}
  - {name: region, forEach: "${xr.spec.?regions}", previousNames: ["area[${each.key}]"]}`,
			spec:     "zones: [a], regions: []",
			observed: existing("area[a]", "", "role: a.b.c") + existing("area[b]", "", "role: a.b.c") + existing("area[c]", "", "role: a.b.c"),
			want:     "area[a], area[b], area[c]",
			said:     "RemovalHeld zone: 2 of 3 would be removed, and removal.atMost is 1; to remove them, annotate the XR with ansible.fn.crossplane.io/allow-removal: zone=2",
		},
		"OwnKey": {
			reason: "A member without its key is removed, even while other members are held.",
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

// TestStaying checks fields of AnsibleRuns that stay.
func TestStaying(t *testing.T) {
	check(t, map[string]step{
		"Renamed": {
			reason: "An adopted AnsibleRun keeps its first name in core, and gets an annotation with its current one.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}", previousNames: ["area[${each.key}]"]}]`, spec: "zones: [a, b]", observed: existing("area[a]", "", "role: a.b.c"),
			want: "area[a], zone[b]", said: "Running zone[b]: is running",
			fields: map[string]string{"area[a] metadata.annotations": `{ansible.fn.crossplane.io/run: "zone[a]"}`, "zone[b] metadata.annotations": "null"},
		},
		"Retained": {
			reason: "An AnsibleRun that stays since prune is false gets an annotation, so that it stays without its run, too.",
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
			reason: "The observed Secret stays as it is when an AnsibleRun is lost.",
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
				reason: "A missing list removes no members, and an empty list removes all.", locals: tc.locals, spec: tc.spec, observed: existing("zone[a]", "", "role: a.b.c"),
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
