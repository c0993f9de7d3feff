package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// ready is the status of an AnsibleRun that is there.
const readyOf = `status: {atProvider: {outputs: {url: there}}, conditions: [{type: Ready, status: "True", observedGeneration: 1}, {type: Synced, status: "True", observedGeneration: 1}]}`

// existing is an observed AnsibleRun of an XR with uid xr, as core has applied it.
func existing(name, on, parameters string) string {
	after := ""
	if on != "" {
		after = `, ansible.fn.crossplane.io/depends-on: "` + on + `"`
	}

	return `
    ` + name + `:
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata:
          name: app-` + name + `
          namespace: default
          uid: ` + name + `
          generation: 1
          ownerReferences: [{uid: xr, controller: true}]
          labels: {ansible.fn.crossplane.io/composite-uid: xr}
          annotations: {crossplane.io/composition-resource-name: "` + name + `"` + after + `}
        spec: {providerConfigRef: {kind: ClusterProviderConfig, name: default}, forProvider: {` + parameters + `}}
        ` + readyOf
}

// using is the Usage of an AnsibleRun by another one.
func using(by, of string) string {
	return `
    ` + by + ` uses ` + of + `:
      resource:
        apiVersion: protection.crossplane.io/v1beta1
        kind: Usage
        metadata: {namespace: default, name: "` + by + `-` + of + `"}
        spec:
          of: {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, resourceRef: {name: "app-` + of + `"}}
          by: {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, resourceRef: {name: "app-` + by + `"}}
`
}

// asDeparting returns existing AnsibleRuns as core finds them when they are not observed any
// more.
func asDeparting(resources string) string {
	return regexp.MustCompile(`(?m)^    [^ ]*:$`).ReplaceAllString(resources, "    -")
}

// A step is one of an XR's life: what is wanted, what is there, and what becomes of it.
type step struct {
	defaults, locals, runs, spec, annotations, observed, departing string
	// earlier is what earlier steps compose, and context what they say.
	earlier, context string
}

// check which composed resources are wanted, and what is said.
func (s step) check(t *testing.T, reason string, want []string, said string) {
	t.Helper()

	names, got := s.desired(t)

	all := map[string]bool{}
	for _, n := range want {
		all[n] = true
	}

	if diff := cmp.Diff(all, names); diff != "" {
		t.Errorf("\n%s\n-want, +got:\n%s\n%s", reason, diff, got)
	}

	if diff := cmp.Diff(said, got); diff != "" {
		t.Errorf("\n%s\n-want, +got:\n%s", reason, diff)
	}
}

// desired returns which composed resources are wanted, and what is said.
func (s step) desired(t *testing.T) (names map[string]bool, said string) {
	t.Helper()

	rsp := s.respond(t)

	names = map[string]bool{}
	for name := range rsp.GetDesired().GetResources() {
		names[name] = true
	}

	if len(rsp.GetConditions()) == 0 {
		t.Fatalf("There should be a condition, got %v", rsp)
	}

	return names, rsp.GetConditions()[0].GetReason() + "\n" + rsp.GetConditions()[0].GetMessage()
}

// respond to core with what the function returns.
func (s step) respond(t *testing.T) *fnv1.RunFunctionResponse {
	t.Helper()

	if s.departing == "" {
		s.departing = "[]"
	}

	if s.earlier == "" {
		s.earlier = "{}"
	}

	req := `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  defaults: {role: a.b.c, ` + s.defaults + `}
  locals: {` + s.locals + `}
  runs: ` + s.runs + `
observed:
  composite:
    resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app, namespace: default, uid: xr, annotations: {` + s.annotations + `}}, spec: {` + s.spec + `}}
  resources: ` + s.observed + `
required_resources:
  ansible.fn.crossplane.io/runs/ansible.m.crossplane.io/v1alpha1:
    items: ` + s.departing + `
desired:
  resources: ` + s.earlier + `
context: {` + s.context + `}
`

	return respond(t, request(t, req))
}

// Core goes on calling what was renamed by its first name.
func TestRenamed(t *testing.T) {
	rsp := step{
		runs: `[{name: zone, forEach: "${xr.spec.zones}", previousNames: ["area[${each.key}]"]}]`, spec: "zones: [a, b]",
		observed: existing("area[a]", "", "role: a.b.c"),
	}.respond(t)

	got := map[string]string{}
	for name, r := range rsp.GetDesired().GetResources() {
		got[name] = manifest.Annotation(r.GetResource().AsMap(), "ansible.fn.crossplane.io/run")
	}

	if diff := cmp.Diff(map[string]string{"area[a]": "zone[a]", "zone[b]": ""}, got); diff != "" {
		t.Errorf("names of runs: -want, +got:\n%s", diff)
	}
}

// What exists is removed by its own when, its own key or the Composition, and by
// nothing else.
func TestStays(t *testing.T) {
	const refers = `
  - {name: monitor, when: "${xr.spec.monitoring}"}
  - {name: database, vars: {url: "${runs.monitor.outputs.url}"}}
  - {name: app, vars: {x: "${runs.database.outputs.url}"}}`

	monitor := existing("monitor", "", "role: a.b.c")
	database := existing("database", "monitor", "role: a.b.c, unsafeVars: {url: there}")
	app := existing("app", "database", "role: a.b.c, unsafeVars: {x: there}")

	zones := existing("zone[a]", "", "role: a.b.c") + existing("zone[b]", "", "role: a.b.c") + existing("zone[c]", "", "role: a.b.c")

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

	// What is found, but not observed, and has core's label, was not deleted.
	lost := func(resources string) string {
		return asDeparting(strings.ReplaceAll(resources, "labels: {", "labels: {crossplane.io/composite: app, "))
	}

	const usage = `
    database uses monitor:
      resource:
        apiVersion: protection.crossplane.io/v1beta1
        kind: Usage
        metadata: {name: app-xyz, namespace: default}
        spec:
          of: {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, resourceRef: {name: app-monitor}}
          by: {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, resourceRef: {name: app-database}}
          replayDeletion: true
`

	cases := map[string]struct {
		reason string
		step
		want []string
		said string
	}{
		"Referred": {
			reason: "What refers to a run that is not wanted any more is held, and so is all that depends on it.",
			step:   step{runs: refers, spec: "monitoring: false", observed: monitor + database + app},
			want:   []string{"app", "app uses database", "database", "database uses monitor", "monitor"},
			said: "ValueNotSet\ndatabase: vars.url: runs.monitor is not wanted any more; it stays as it is: to do without, write runs.?monitor and what else it may be, and to remove it, too, give it the same when\n" +
				"app: waiting for database\nmonitor: not wanted any more, but has to stay for database",
		},
		"ReferredRenamed": {
			reason: "It is not removed because it has another name now.",
			step: step{
				runs: `[{name: monitor, when: "${xr.spec.monitoring}"}, {name: store, vars: {url: "${runs.monitor.outputs.url}"}}]`,
				spec: "monitoring: false", observed: monitor + database,
			},
			want: []string{"database", "monitor"},
			said: "InvalidValue\nstore: previousNames: database, which is not wanted any more, has the same content, hosts and variables but for computed values: write previousNames: [\"database\"] to go on with it, or previousNames: [] to remove it all the same\n" +
				"monitor: not wanted any more, but has to stay for database\ndatabase: not wanted any more, but may be what store was called, which is not known yet",
		},
		"NotThere": {
			reason: "What does not exist is not wanted either.",
			step:   step{runs: refers, spec: "monitoring: false"},
			said:   "Available\ndatabase: not wanted, for it refers to monitor, which is not wanted\napp: not wanted, for it refers to database, which is not wanted",
		},
		"SetReferred": {
			reason: "A set of what is not wanted any more is held, too.",
			step: step{
				runs: `
  - {name: monitor, when: "${xr.spec.monitoring}"}
  - {name: zone, forEach: "${runs.monitor.outputs.zones}"}`,
				spec: "monitoring: false", observed: monitor + existing("zone[a]", "monitor", "role: a.b.c"),
			},
			want: []string{"monitor", "zone[a]", "zone[a] uses monitor"},
			said: "ValueNotSet\nzone: forEach: runs.monitor is not wanted any more; it stays as it is: to do without, write runs.?monitor and what else it may be, and to remove it, too, give it the same when\n" +
				"monitor: not wanted any more, but has to stay for zone[a]",
		},
		"BothLeave": {
			reason: "When both are to go, what depends goes first.",
			step:   step{runs: both, spec: "monitoring: false", observed: monitor + database + usage},
			want:   []string{"monitor", "database uses monitor"},
			said:   "Leaving\nmonitor: not wanted any more, but has to stay for database",
		},
		"Departing": {
			reason: "The other one stays until it is gone, and so does the Usage: core deletes it with what it is by.",
			step:   step{runs: both, spec: "monitoring: false", observed: monitor + usage, departing: departing},
			want:   []string{"monitor", "database uses monitor"},
			said:   "Leaving\nmonitor: not wanted any more, but has to stay for app-database, which is being deleted",
		},
		"Undeletable": {
			reason: "The XR says what keeps the AnsibleRun from going.",
			step:   step{runs: both, spec: "monitoring: false", observed: monitor + usage, departing: stuck},
			want:   []string{"monitor", "database uses monitor"},
			said: "Leaving\nmonitor: not wanted any more, but has to stay for app-database, which is being deleted: absent run failed: " +
				"No space left; repair the cause",
		},
		"Gone": {
			reason: "Then the Usage goes: core would refuse to delete what is used.",
			step:   step{runs: both, spec: "monitoring: false", observed: monitor + usage},
			want:   []string{"monitor"},
			said:   "Leaving\nmonitor: not wanted any more, but has to stay for database uses monitor",
		},
		"ComesBack": {
			reason: "What is wanted again waits until it is gone: it would be applied while it is removed.",
			step:   step{runs: both, spec: "monitoring: true", observed: monitor + usage, departing: departing},
			want:   []string{"monitor", "database uses monitor"},
			said:   "DependencyNotReady\ndatabase: waiting for app-database, which is being deleted",
		},
		"Lost": {
			reason: "What an XR has lost its references to is applied again, and nothing waits for it.",
			step:   step{runs: both, spec: "monitoring: true", departing: lost(monitor + database)},
			want:   []string{"monitor", "database", "database uses monitor"},
			said:   "Available\n",
		},
		"LostUnwanted": {
			reason: "What is not wanted stays until core can delete it.",
			step:   step{runs: both, spec: "monitoring: false", observed: monitor, departing: lost(database)},
			want:   []string{"monitor", "database", "database uses monitor"},
			said:   "Leaving\nmonitor: not wanted any more, but has to stay for database\ndatabase: not wanted any more, but the XR has lost its reference to it, which comes back first",
		},
		"LostAdopted": {
			reason: "It may have been adopted.",
			step:   step{runs: `[{name: database, previousNames: [db], vars: {size: 5}}]`, departing: lost(existing("db", "", "role: a.b.c, vars: {size: 5}"))},
			want:   []string{"db"},
			said:   "Available\n",
		},
		"ListInItems": {
			reason: "An item of a list is no field.",
			step:   step{runs: `[{name: zone, forEach: '${"eu" in xr.spec.regions ? xr.spec.zones : []}'}]`, spec: "zones: [a], regions: [us]", observed: zones},
			said:   "Available\n",
		},
		"ListLocalEmpty": {
			reason: "An empty list of a local removes all, whatever else the local lacks.",
			step:   step{locals: `all: {zones: "${xr.spec.?zones.orValue([])}", team: "${xr.spec.?team.orValue('none')}"}`, runs: `[{name: zone, forEach: "${locals.all.zones}"}]`, spec: "zones: []", observed: zones},
			said:   "Available\n",
		},
		"ListElsewhereEmpty": {
			reason: "An empty one from elsewhere removes all.",
			step:   step{runs: `[{name: zone, forEach: "${environment.?zones.orValue([])}"}]`, context: "apiextensions.crossplane.io/environment: {zones: []}", observed: zones},
			said:   "Available\n",
		},
		"ListNone": {
			reason: "Without members nothing is missed.",
			step:   step{runs: `[{name: zone, forEach: "${xr.spec.?zones}"}]`},
			said:   "Available\n",
		},
		"TooMany": {
			reason: "More than may go stay all.",
			step:   step{runs: `[{name: zone, forEach: "${xr.spec.zones}", removal: {atMost: 1}}]`, spec: "zones: [c]", observed: zones},
			want:   []string{"zone[a]", "zone[b]", "zone[c]"},
			said:   "RemovalHeld\nzone: 2 of 3 would be removed, and removal.atMost is 1; to remove them, annotate the XR with ansible.fn.crossplane.io/allow-removal: zone=2",
		},
		"TooManyAtOnce": {
			reason: "So do those of a set that is not wanted any more.",
			step:   step{runs: `[{name: zone, forEach: "${xr.spec.zones}", when: "${xr.spec.wanted}", removal: {atMost: 50%}}]`, spec: "zones: [c], wanted: false", observed: zones},
			want:   []string{"zone[a]", "zone[b]", "zone[c]"},
			said:   "RemovalHeld\nzone: 3 of 3 would be removed, and removal.atMost is 50%; to remove them, annotate the XR with ansible.fn.crossplane.io/allow-removal: zone=3",
		},
		"TooManyByDefault": {
			reason: "What only sets have lies under sets, where it is in the defaults.",
			step: step{
				defaults: `removal: {atMost: 1}`,
				runs:     `[{name: other, vars: {size: 5}}, {name: zone, forEach: "${xr.spec.zones}", forEachKey: "${each.value.id}"}]`, spec: "zones: [{id: c}]", observed: zones,
			},
			want: []string{"other", "zone[a]", "zone[b]", "zone[c]"},
			said: "RemovalHeld\nzone: 2 of 3 would be removed, and removal.atMost is 1; to remove them, annotate the XR with ansible.fn.crossplane.io/allow-removal: zone=2\nother: is running",
		},
		"Few": {
			reason: "As many as may go do.",
			step:   step{runs: `[{name: zone, forEach: "${xr.spec.zones}", removal: {atMost: 67%}}]`, spec: "zones: [c]", observed: zones},
			want:   []string{"zone[c]"},
			said:   "Available\n",
		},
		"Allowed": {
			reason: "The XR says that more may.",
			step: step{
				runs: `[{name: zone, forEach: "${xr.spec.zones}", removal: {atMost: 0}}]`, spec: "zones: [c]", observed: zones,
				annotations: "ansible.fn.crossplane.io/allow-removal: 'other=5, zone=2'",
			},
			want: []string{"zone[c]"},
			said: "Available\n",
		},
		"Retained": {
			reason: "What is not to be pruned stays, and is no reason to wait.",
			step: step{
				runs: `[{name: zone, forEach: "${xr.spec.zones}", prune: false}]`, spec: "zones: [b, c]",
				observed: strings.ReplaceAll(zones, "annotations: {", `annotations: {ansible.fn.crossplane.io/prune: never, `),
			},
			want: []string{"zone[a]", "zone[b]", "zone[c]"},
			said: "Available\nzone[a]: not wanted any more, and stays, since prune is false",
		},
		"RetainedOf": {
			reason: "So does one that is gone from the Composition.",
			step: step{
				runs:     `[{name: other, when: false}]`,
				observed: strings.ReplaceAll(existing("zone[a]", "", "role: a.b.c"), "annotations: {", `annotations: {ansible.fn.crossplane.io/prune: never, `),
			},
			want: []string{"zone[a]"},
			said: "Available\nzone[a]: not wanted any more, and stays, since prune is false",
		},
		"Renamed": {
			reason: "A run is not created while one that does the same would be removed.",
			step:   step{runs: `[{name: database, vars: {size: 5}}]`, observed: existing("db", "", "role: a.b.c, vars: {size: 5}")},
			want:   []string{"db"},
			said: "InvalidValue\ndatabase: previousNames: db, which is not wanted any more, has the same content, hosts and variables: write previousNames: [\"db\"] to go on with it, or previousNames: [] to remove it all the same\n" +
				"db: not wanted any more, but may be what database was called",
		},
		"RenamedWaits": {
			reason: "Nor is that one removed while it is not known yet what the new one is.",
			step: step{
				runs:     `[{name: app, vars: {size: 6}}, {name: database, dependsOn: [app], vars: {size: "${xr.spec.size}"}}]`,
				spec:     "size: 5",
				observed: existing("db", "app", "role: a.b.c, unsafeVars: {size: 5}") + existing("app", "", "role: a.b.c, vars: {size: 5}") + using("db", "app"),
			},
			want: []string{"app", "db", "db uses app"},
			said: "Running\napp: is running\ndatabase: waiting for app\ndb: not wanted any more, but may be what database was called, which is not known yet",
		},
		"RenamedBesideDeparting": {
			reason: "Nor while one that is being deleted may be the new one as well.",
			step: step{
				runs: `[{name: zone, forEach: "${xr.spec.zones}", vars: {key: "${each.key}"}}]`, spec: "zones: [a]",
				observed:  existing("area[a]", "", "role: a.b.c, unsafeVars: {key: a}"),
				departing: asDeparting(existing("area[b]", "", "role: a.b.c, unsafeVars: {key: b}")),
			},
			want: []string{"area[a]"},
			said: "InvalidValue\nzone[a]: previousNames: area[a], which is not wanted any more, has the same content, hosts and variables: write previousNames: [\"area[a]\"] to go on with it, or previousNames: [] to remove it all the same\n" +
				"area[a]: not wanted any more, but may be what zone[a] was called",
		},
		"RenamedNotSet": {
			reason: "Nor while it lacks a value, of which set it may be.",
			step: step{
				runs:     `[{name: database, forEach: "${xr.spec.zones}", vars: {size: "${each.value}"}}]`,
				observed: existing("db[a]", "", "role: a.b.c, unsafeVars: {size: 5}"),
			},
			want: []string{"db[a]"},
			said: "ValueNotSet\ndatabase: forEach: xr.spec.zones is not set; write xr.spec.?zones if it may be missing\ndb[a]: not wanted any more, but may be what database was called, which is not known yet",
		},
		"RenamedChanged": {
			reason: "An edit of the XR decides nothing.",
			step: step{
				runs: `[{name: database, vars: {size: "${xr.spec.size}", name: "db-${xr.spec.size}-x"}}]`, spec: "size: 6",
				observed: existing("db", "", "role: a.b.c, unsafeVars: {size: 5, name: db-5-x}"),
			},
			want: []string{"db"},
			said: "InvalidValue\ndatabase: previousNames: db, which is not wanted any more, has the same content, hosts and variables but for computed values: write previousNames: [\"db\"] to go on with it, or previousNames: [] to remove it all the same\n" +
				"db: not wanted any more, but may be what database was called",
		},
		"OtherEnv": {
			reason: "One with another literal environment is another one, also where an XR chooses the version of its project.",
			step: step{
				defaults: `project: {src: "https://git.example.org/a.git", version: "${xr.spec.version}"}, allowed: {project.version: ["*"]}`,
				runs:     `[{name: database, vars: {size: 5}, env: [{name: ZONE, value: a}]}]`, spec: "version: v2",
				observed: existing("db", "", `role: a.b.c, vars: {size: 5}, project: {src: "https://git.example.org/a.git", version: v1}, env: [{name: ZONE, value: b}]`),
			},
			want: []string{"database"},
			said: "Running\ndatabase: is running",
		},
		"OtherKeysWait": {
			reason: "As long as the values of a new one are not known, it may be one whose key was another.",
			step: step{
				runs:     `[{name: app, vars: {size: 6}}, {name: zone, dependsOn: [app], forEach: "${xr.spec.zones}", forEachKey: "${each.value.id}", vars: {name: "${each.value.name}"}}]`,
				spec:     "zones: [{id: 1, name: a}]",
				observed: existing("zone[a]", "app", "role: a.b.c, unsafeVars: {name: a}") + existing("app", "", "role: a.b.c, vars: {size: 5}"),
			},
			want: []string{"app", "zone[a]", "zone[a] uses app"},
			said: "Running\napp: is running\nzone[1]: waiting for app\nzone[a]: not wanted any more, but may be what zone[1] was called, which is not known yet",
		},
		"Told": {
			reason: "Of one that another run is said to replace nothing else is thought.",
			step: step{
				runs:     `[{name: database, previousNames: [], vars: {size: "${xr.spec.size}"}}, {name: other, dependsOn: [database], vars: {size: "${xr.spec.more}"}}]`,
				spec:     "size: 5",
				observed: existing("db", "", "role: a.b.c, unsafeVars: {size: 5}"),
			},
			said: "DependencyNotReady\ndatabase: waiting for db, which is not wanted any more\nother: waiting for database",
		},
		"RetainedOn": {
			reason: "What stays for good keeps what it depends on, and what that depends on.",
			step: step{
				runs: `[{name: other, when: false}]`,
				observed: strings.ReplaceAll(existing("zone[a]", "app", "role: a.b.c"), "annotations: {", `annotations: {ansible.fn.crossplane.io/prune: never, `) +
					existing("app", "database", "role: a.b.c") + existing("database", "", "role: a.b.c") + using("zone[a]", "app") + using("app", "database"),
			},
			want: []string{"app", "app uses database", "database", "zone[a]", "zone[a] uses app"},
			said: "Available\napp: not wanted any more, and stays with zone[a]\ndatabase: not wanted any more, and stays with app\nzone[a]: not wanted any more, and stays, since prune is false",
		},
		"Another": {
			reason: "The Composition may say that it is another one, which comes when the one before is gone.",
			step:   step{runs: `[{name: database, previousNames: [], vars: {size: 5}}]`, observed: existing("db", "", "role: a.b.c, vars: {size: 5}")},
			want:   nil,
			said:   "DependencyNotReady\ndatabase: waiting for db, which is not wanted any more",
		},
		"AnotherReferred": {
			reason: "What waits for it does not keep the one before: the three would wait for one another. Its Usage goes first.",
			step: step{
				runs:     `[{name: database, previousNames: [], vars: {size: 5}}, {name: web, vars: {url: "${runs.database.outputs.url}"}}]`,
				observed: existing("db", "", "role: a.b.c, vars: {size: 5}") + existing("web", "db", "role: a.b.c, unsafeVars: {url: there}") + using("web", "db"),
			},
			want: []string{"db", "web"},
			said: "DependencyNotReady\ndatabase: waiting for db, which is not wanted any more\nweb: waiting for database\ndb: not wanted any more, but has to stay for web uses db",
		},
		"AnotherReferredGoes": {
			reason: "Then it goes itself.",
			step: step{
				runs:     `[{name: database, previousNames: [], vars: {size: 5}}, {name: web, vars: {url: "${runs.database.outputs.url}"}}]`,
				observed: existing("db", "", "role: a.b.c, vars: {size: 5}") + existing("web", "db", "role: a.b.c, unsafeVars: {url: there}"),
			},
			want: []string{"web"},
			said: "DependencyNotReady\ndatabase: waiting for db, which is not wanted any more\nweb: waiting for database",
		},
		"AnotherReferredByChain": {
			reason: "So it does for what waits for it by way of others.",
			step: step{
				runs:     `[{name: database, previousNames: [], vars: {size: 5}}, {name: cache, dependsOn: [database], vars: {size: 1}}, {name: web, dependsOn: [cache], vars: {size: 2}}]`,
				observed: existing("db", "", "role: a.b.c, vars: {size: 5}") + existing("web", "db", "role: a.b.c, vars: {size: 2}"),
			},
			want: []string{"web"},
			said: "DependencyNotReady\ndatabase: waiting for db, which is not wanted any more\ncache: waiting for database\nweb: waiting for cache",
		},
		"AnotherTwiceReferred": {
			reason: "What depends on the one before goes before it, and does not stay for what waits for the new one either.",
			step: step{
				runs:     `[{name: database, previousNames: [], vars: {size: 5}}, {name: cache2, previousNames: [], dependsOn: [database], vars: {size: 6}}, {name: web, vars: {url: "${runs.cache2.outputs.url}"}}]`,
				observed: chain,
			},
			want: []string{"db", "web"},
			said: "DependencyNotReady\ndatabase: waiting for db, which is not wanted any more\ncache2: waiting for database\nweb: waiting for cache2\ndb: not wanted any more, but has to stay for cache",
		},
		"AnotherRetained": {
			reason: "It does not wait for what stays for good with another one: that goes with the XR alone.",
			step: step{
				runs:     `[{name: database, previousNames: [], vars: {size: 5}}]`,
				observed: existing("db", "", "role: a.b.c, vars: {size: 5}") + unpruned,
			},
			want: []string{"app", "database", "db"},
			said: "Running\ndatabase: is running\napp: not wanted any more, and stays, since prune is false\ndb: not wanted any more, and stays with app",
		},
		"AnotherRetainedReferred": {
			reason: "Whatever else depends on that.",
			step: step{
				runs:     `[{name: database, previousNames: [], vars: {size: 5}}, {name: web, vars: {url: "${runs.database.outputs.url}"}}]`,
				observed: existing("db", "", "role: a.b.c, vars: {size: 5}") + existing("web", "db", "role: a.b.c, unsafeVars: {url: there}") + unpruned,
			},
			want: []string{"app", "database", "db", "web", "web uses db"},
			said: "Running\ndatabase: is running\nweb: waiting for database\napp: not wanted any more, and stays, since prune is false\ndb: not wanted any more, and stays with app",
		},
		"AnotherListed": {
			reason: "A set whose list waits for it does not keep what none of its members was called.",
			step: step{
				runs:     `[{name: probe, previousNames: [], vars: {size: 5}}, {name: zone, forEach: "${runs.probe.outputs.zones}", previousNames: ["area-${each.key}"]}]`,
				observed: existing("monitor", "", "role: a.b.c, vars: {size: 5}") + existing("zone[a]", "monitor", "role: a.b.c"),
			},
			want: []string{"zone[a]"},
			said: "DependencyNotReady\nprobe: waiting for monitor, which is not wanted any more\nzone: waiting for probe",
		},
		"AnotherListedRenamed": {
			reason: "Nor do those that its members were called, which are known only then: they stay, and the one before goes.",
			step: step{
				runs:     `[{name: probe, previousNames: [], vars: {size: 5}}, {name: zone, forEach: "${runs.probe.outputs.zones}", previousNames: ["area[${each.key}]"]}]`,
				observed: existing("monitor", "", "role: a.b.c, vars: {size: 5}") + existing("area[a]", "monitor", "role: a.b.c"),
			},
			want: []string{"area[a]"},
			said: "DependencyNotReady\nprobe: waiting for monitor, which is not wanted any more\nzone: waiting for probe\narea[a]: not wanted any more, but may be what a member of zone was called, which is not known yet",
		},
		"AnotherListedUnknown": {
			reason: "If the one before itself may be what a member was called, it would stay for ever.",
			step: step{
				runs:     `[{name: probe, previousNames: [], vars: {size: 5}}, {name: zone, forEach: "${runs.probe.outputs.zones}", previousNames: ["${each.value}"]}]`,
				observed: existing("monitor", "", "role: a.b.c, vars: {size: 5}") + existing("zone[a]", "monitor", "role: a.b.c"),
			},
			want: []string{"monitor", "zone[a]"},
			said: "InvalidValue\nprobe: previousNames: monitor, which is not wanted any more, may be what zone was called, which is not known before probe is there: write previousNames: [\"monitor\"] to go on with it, or literal text beside the expressions in previousNames of zone\n" +
				"zone: waiting for probe\nmonitor: not wanted any more, but may be what a member of zone was called, which is not known yet",
		},
		"AnotherNamed": {
			reason: "The same goes for previous names that are taken from its outputs.",
			step: step{
				runs:     `[{name: probe, previousNames: [], vars: {size: 5}}, {name: web, previousNames: ["${runs.probe.outputs.url}"]}]`,
				observed: existing("monitor", "", "role: a.b.c, vars: {size: 5}"),
			},
			want: []string{"monitor"},
			said: "InvalidValue\nprobe: previousNames: monitor, which is not wanted any more, may be what web was called, which is not known before probe is there: write previousNames: [\"monitor\"] to go on with it, or literal text beside the expressions in previousNames of web\n" +
				"web: previousNames[0]: runs.probe is not there yet\nmonitor: not wanted any more, but may be what web was called, which is not known yet",
		},
		"AnotherChangedLater": {
			reason: "Nor one that is made while the one before is being deleted.",
			step: step{
				runs: `[{name: database, previousNames: [], vars: {size: "${xr.spec.size}"}}]`, spec: "size: 6",
				departing: asDeparting(existing("db", "", "role: a.b.c, unsafeVars: {size: 5}")),
			},
			want: nil,
			said: "DependencyNotReady\ndatabase: waiting for app-db, which is being deleted",
		},
		"AnotherTwice": {
			reason: "Nor do two that are both said to be others come before it is gone.",
			step: step{
				runs: `[{name: database, previousNames: [], vars: {size: "${xr.spec.size}"}}, {name: replica, previousNames: [], vars: {size: "${xr.spec.more}"}}]`, spec: "size: 6, more: 7",
				observed: existing("db", "", "role: a.b.c, unsafeVars: {size: 5}"),
			},
			want: nil,
			said: "DependencyNotReady\ndatabase: waiting for db, which is not wanted any more\nreplica: waiting for db, which is not wanted any more",
		},
		"AnotherTold": {
			reason: "Which of several it was decides nothing but what is said of each.",
			step: step{
				runs: `[{name: database, previousNames: [], vars: {size: "${xr.spec.size}"}}, {name: replica, vars: {size: "${xr.spec.more}"}}]`, spec: "size: 6, more: 7",
				observed: existing("db", "", "role: a.b.c, unsafeVars: {size: 5}"),
			},
			want: []string{"db"},
			said: "InvalidValue\nreplica: previousNames: db, which is not wanted any more, has the same content, hosts and variables but for computed values: write previousNames: [\"db\"] to go on with it, or previousNames: [] to remove it all the same\n" +
				"database: waiting for db, which is not wanted any more\ndb: not wanted any more, but may be what replica was called",
		},
		"AnotherTellsLater": {
			reason: "What waits for another one is asked for, too: it would be known only when the one before is gone.",
			step: step{
				runs: `[{name: database, previousNames: [], vars: {size: "${xr.spec.size}"}}, {name: replica, dependsOn: [database], vars: {size: "${xr.spec.more}"}}]`, spec: "size: 6, more: 7",
				observed: existing("db", "", "role: a.b.c, unsafeVars: {size: 5}"),
			},
			want: []string{"db"},
			said: "InvalidValue\nreplica: previousNames: db, which is not wanted any more, has the same content, hosts and variables but for computed values: write previousNames: [\"db\"] to go on with it, or previousNames: [] to remove it all the same\n" +
				"database: waiting for db, which is not wanted any more\ndb: not wanted any more, but may be what replica was called, which is not known yet",
		},
		"AnotherMember": {
			reason: "Members of a set come and go by themselves.",
			step: step{
				runs: `[{name: zone, forEach: "${xr.spec.zones}", previousNames: [], vars: {name: "${each.key}"}}]`, spec: "zones: [c]",
				observed:  existing("zone[a]", "", "role: a.b.c, unsafeVars: {name: a}"),
				departing: asDeparting(existing("zone[b]", "", "role: a.b.c, unsafeVars: {name: b}")),
			},
			want: []string{"zone[c]"},
			said: "Running\nzone[c]: is running",
		},
		"FoundNone": {
			reason: "Other names of which it has none say nothing: a run that was renamed twice keeps its first name.",
			step:   step{runs: `[{name: postgres, previousNames: [database], vars: {size: 5}}]`, observed: existing("db", "", "role: a.b.c, vars: {size: 5}")},
			want:   []string{"db"},
			said: "InvalidValue\npostgres: previousNames: db, which is not wanted any more, has the same content, hosts and variables: add \"db\" to previousNames to go on with it, or write previousNames: [] to remove it all the same\n" +
				"db: not wanted any more, but may be what postgres was called",
		},
		"FoundNoneWaits": {
			reason: "Nor while it is not known yet what the new one is.",
			step: step{
				runs:     `[{name: app, vars: {size: 6}}, {name: postgres, previousNames: [database], dependsOn: [app], vars: {size: "${xr.spec.size}"}}]`,
				spec:     "size: 5",
				observed: existing("db", "app", "role: a.b.c, unsafeVars: {size: 5}") + existing("app", "", "role: a.b.c, vars: {size: 5}") + using("db", "app"),
			},
			want: []string{"app", "db", "db uses app"},
			said: "Running\napp: is running\npostgres: waiting for app\ndb: not wanted any more, but may be what postgres was called, which is not known yet",
		},
		"FoundOthers": {
			reason: "A member that has none is a new one, beside one that had the name of an item that is gone.",
			step: step{
				runs: `[{name: zone, forEach: "${xr.spec.zones}", previousNames: ["old-${each.key}"], vars: {name: "${each.key}"}}]`, spec: "zones: [a, c]",
				observed: existing("old-a", "", "role: a.b.c, unsafeVars: {name: a}") + existing("old-b", "", "role: a.b.c, unsafeVars: {name: b}"),
			},
			want: []string{"old-a", "zone[c]"},
			said: "Running\nzone[c]: is running",
		},
		"Adopted": {
			reason: "A run goes on with the object that it had by another name, and so does what depends on it, which knows it by what core calls it.",
			step: step{
				runs:     `[{name: database, previousNames: [sql, db], vars: {size: 5}}, {name: app, vars: {url: "${runs.database.outputs.url}"}}]`,
				observed: existing("db", "", "role: a.b.c, vars: {size: 5}") + existing("app", "db", "role: a.b.c, unsafeVars: {url: there}"),
			},
			want: []string{"db", "app", "app uses db"},
			said: "Available\n",
		},
		"Replaced": {
			reason: "It stays until what is to do without it has been applied so.",
			step: step{
				runs: `[{name: database}, {name: app, vars: {url: "${runs.database.outputs.url}"}}]`,
				observed: existing("database", "", "role: a.b.c") + existing("db", "", "role: x.y.z") +
					strings.Replace(existing("app", "database,db", "role: a.b.c, unsafeVars: {url: there}"), "generation: 1", "generation: 2", 1),
			},
			want: []string{"app", "app uses database", "app uses db", "database", "db"},
			said: "Running\napp: is running\ndb: not wanted any more, but has to stay for app",
		},
		"ReplacedReady": {
			reason: "Then it goes, when Kubernetes knows that nothing needs it.",
			step: step{
				runs: `[{name: database}, {name: app, vars: {url: "${runs.database.outputs.url}"}}]`,
				observed: existing("database", "", "role: a.b.c") + existing("db", "", "role: x.y.z") +
					existing("app", "database,db", "role: a.b.c, unsafeVars: {url: there}"),
			},
			want: []string{"app", "app uses database", "app uses db", "database", "db"},
			said: "Leaving\ndb: not wanted any more, but has to stay for app",
		},
		"ReplacedSettled": {
			reason: "That is so once the one that has done without it depends on it no more.",
			step: step{
				runs: `[{name: database}, {name: app, vars: {url: "${runs.database.outputs.url}"}}]`,
				observed: existing("database", "", "role: a.b.c") + existing("db", "", "role: x.y.z") +
					existing("app", "database", "role: a.b.c, unsafeVars: {url: there}"),
			},
			want: []string{"app", "app uses database", "database"},
			said: "Available\n",
		},
		"OptionalThere": {
			reason: "What a run could do without is used when it is there.",
			step: step{
				runs:     `[{name: database}, {name: app, vars: {url: "${runs.?database.outputs.url.orValue('none')}"}}]`,
				observed: existing("database", "", "role: a.b.c") + existing("app", "database", "role: a.b.c, unsafeVars: {url: there}"),
			},
			want: []string{"app", "app uses database", "database"},
			said: "Available\n",
		},
		"GoneWithoutUsages": {
			reason: "A run that is gone from the Composition, and may have had usages: false, gets no Usages that it did not have.",
			step:   step{runs: `[{name: monitor}]`, observed: monitor + existing("database", "monitor", "role: x.y.z")},
			want:   []string{"monitor"},
			said:   "Available\n",
		},
		"FormerNameDeparting": {
			reason: "A member waits for one that has a previous name, and is being deleted, whatever its values were.",
			step: step{
				runs: `[{name: zone, forEach: "${xr.spec.zones}", previousNames: ["area[${each.key}]"], vars: {size: "${each.value}"}}]`, spec: "zones: {a: 6}",
				departing: asDeparting(existing("area[a]", "", "role: a.b.c, unsafeVars: {size: 5}")),
			},
			want: nil,
			said: "DependencyNotReady\nzone[a]: waiting for app-area[a], which is being deleted",
		},
		"AdoptedAndGone": {
			reason: "It is removed by its own when, after what depends on it.",
			step: step{
				runs:     `[{name: database, previousNames: [sql, db], when: "${xr.spec.wanted}", vars: {size: 5}}]`,
				spec:     "wanted: false",
				observed: existing("db", "", "role: a.b.c, vars: {size: 5}") + existing("app", "db", "role: a.b.c") + using("app", "db"),
			},
			want: []string{"db", "app uses db"},
			said: "Leaving\ndatabase (db): not wanted any more, but has to stay for app",
		},
		"AdoptedOnce": {
			reason: "One that exists by its own name adopts nothing; what it was called goes.",
			step: step{
				runs:     `[{name: database, previousNames: [db], vars: {size: 5}}]`,
				observed: existing("db", "", "role: a.b.c, vars: {size: 5}") + existing("database", "", "role: a.b.c, vars: {size: 5}"),
			},
			want: []string{"database"},
			said: "Available\n",
		},
		"TwoBefore": {
			reason: "Only one can be meant.",
			step: step{
				runs:     `[{name: database, previousNames: [db, sql]}]`,
				observed: existing("db", "", "role: a.b.c") + existing("sql", "", "role: a.b.c"),
			},
			want: []string{"db", "sql"},
			said: "InvalidValue\ndatabase: previousNames: the XR has db and sql, of which only one can be the run\n" +
				"db: not wanted any more, but may be what database was called, which is not known yet\nsql: not wanted any more, but may be what database was called, which is not known yet",
		},
		"BecameSet": {
			reason: "A member of a set goes on with what was a run of its own.",
			step: step{
				runs:     `[{name: zone, forEach: "${xr.spec.zones}", previousNames: ["${each.key == 'a' ? 'first' : 'second'}"], vars: {name: "${each.key}"}}]`,
				spec:     "zones: [a, b]",
				observed: existing("first", "", "role: a.b.c, unsafeVars: {name: a}"),
			},
			want: []string{"first", "zone[b]"},
			said: "Running\nzone[b]: is running",
		},
		"OtherKeys": {
			reason: "Members go on by other keys; one that has no other name goes.",
			step: step{
				runs:     `[{name: zone, forEach: "${xr.spec.zones}", forEachKey: "${each.value.id}", previousNames: ["zone[${each.value.name}]"], vars: {name: "${each.value.name}"}}]`,
				spec:     "zones: [{id: 1, name: a}, {id: 2, name: b}]",
				observed: existing("zone[a]", "", "role: a.b.c, unsafeVars: {name: a}") + existing("zone[b]", "", "role: a.b.c, unsafeVars: {name: b}") + existing("zone[c]", "", "role: a.b.c, unsafeVars: {name: c}"),
			},
			want: []string{"zone[a]", "zone[b]"},
			said: "Available\n",
		},
		"OtherKeysUnsaid": {
			reason: "Without their other names nothing is created or removed.",
			step: step{
				runs:     `[{name: zone, forEach: "${xr.spec.zones}", forEachKey: "${each.value.id}", vars: {name: "${each.value.name}"}}]`,
				spec:     "zones: [{id: 1, name: a}]",
				observed: existing("zone[a]", "", "role: a.b.c, unsafeVars: {name: a}"),
			},
			want: []string{"zone[a]"},
			said: "InvalidValue\nzone[1]: previousNames: zone[a], which is not wanted any more, has the same content, hosts and variables: write previousNames: [\"zone[a]\"] to go on with it, or previousNames: [] to remove it all the same\n" +
				"zone[a]: not wanted any more, but may be what zone[1] was called",
		},
		"NamesUnknown": {
			reason: "While a list is not known, the former names of its items are not known either.",
			step: step{
				runs:     `[{name: zone, forEach: "${xr.spec.zones}", previousNames: ["old-${each.key}"]}]`,
				observed: existing("old-a", "", "role: a.b.c"),
			},
			want: []string{"old-a"},
			said: "ValueNotSet\nzone: forEach: xr.spec.zones is not set; write xr.spec.?zones if it may be missing\n" +
				"old-a: not wanted any more, but may be what a member of zone was called, which is not known yet",
		},
		"NamesWrong": {
			reason: "While it is not known what an item was called, what the set has by other keys stays.",
			step: step{
				runs:     `[{name: zone, forEach: "${xr.spec.zones}", forEachKey: "${each.value.id}", previousNames: ["zone[${each.value.name}]"], vars: {id: "${each.value.id}"}}]`,
				spec:     "zones: [{id: x}]",
				observed: existing("zone[a]", "", "role: a.b.c"),
			},
			want: []string{"zone[a]"},
			said: "ValueNotSet\nzone[x]: previousNames[0]: each.value.name is not set; write each.value.?name if it may be missing\n" +
				"zone[a]: not wanted any more, but may be what a member of zone was called, which is not known yet",
		},
		"OwnName": {
			reason: "The name that a run has is no other one.",
			step: step{
				runs:     `[{name: zone, forEach: "${xr.spec.zones}", forEachKey: "${each.value.id}", previousNames: ["zone[${each.value.name}]", "zone[${each.value.id}]"], vars: {id: "${each.value.id}"}}]`,
				spec:     "zones: [{id: x, name: a}, {id: w, name: b}]",
				observed: existing("zone[a]", "", "role: a.b.c, unsafeVars: {id: x}"),
			},
			want: []string{"zone[a]", "zone[w]"},
			said: "Running\nzone[w]: is running",
		},
		"RenamedUnpruned": {
			reason: "Nor is it created beside one that stays.",
			step: step{
				runs:     `[{name: database, vars: {size: 5}}]`,
				observed: strings.Replace(existing("db", "", "role: a.b.c, vars: {size: 5}"), "annotations: {", "annotations: {ansible.fn.crossplane.io/prune: never, ", 1),
			},
			want: []string{"db"},
			said: "InvalidValue\ndatabase: previousNames: db, which is not wanted any more, has the same content, hosts and variables: write previousNames: [\"db\"] to go on with it, or previousNames: [] to remove it all the same\n" +
				"db: not wanted any more, and stays, since prune is false",
		},
		"RenamedHeld": {
			reason: "Nor beside one that is held.",
			step: step{
				runs:     `[{name: zone, forEach: "${xr.spec.zones}", forEachKey: "${each.value.id}", removal: {atMost: 0}, vars: {name: "${each.value.name}"}}]`,
				spec:     "zones: [{id: 1, name: a}]",
				observed: existing("zone[a]", "", "role: a.b.c, unsafeVars: {name: a}"),
			},
			want: []string{"zone[a]"},
			said: "InvalidValue\nzone[1]: previousNames: zone[a], which is not wanted any more, has the same content, hosts and variables: write previousNames: [\"zone[a]\"] to go on with it, or previousNames: [] to remove it all the same\n" +
				"zone: 1 of 1 would be removed, and removal.atMost is 0; to remove them, annotate the XR with ansible.fn.crossplane.io/allow-removal: zone=1",
		},
		"FormerMember": {
			reason: "A set knows those by its former name, too, whose items are gone.",
			step: step{
				runs: `[{name: zone, forEach: "${xr.spec.zones}", previousNames: ["area[${each.key}]"], removal: {atMost: 1}}]`,
				spec: "zones: [a]", observed: existing("area[a]", "", "role: a.b.c") + existing("area[b]", "", "role: a.b.c") + existing("area[c]", "", "role: a.b.c"),
			},
			want: []string{"area[a]", "area[b]", "area[c]"},
			said: "RemovalHeld\nzone: 2 of 3 would be removed, and removal.atMost is 1; to remove them, annotate the XR with ansible.fn.crossplane.io/allow-removal: zone=2",
		},
		"FormerMemberUnpruned": {
			reason: "They are not pruned either.",
			step: step{
				runs: `[{name: zone, forEach: "${xr.spec.zones}", previousNames: ["area[${each.key}]"], prune: false}]`,
				spec: "zones: []", observed: existing("area[b]", "", "role: a.b.c"),
			},
			want: []string{"area[b]"},
			said: "Available\narea[b]: not wanted any more, and stays, since prune is false",
		},
		"FormerMemberUsed": {
			reason: "What depends on the set does without it first.",
			step: step{
				runs: `
  - {name: zone, forEach: "${xr.spec.zones}", previousNames: ["area[${each.key}]"]}
  - {name: app, vars: {zones: "${runs.zone.transformList(k, z, k)}"}}`,
				spec: "zones: [a]", observed: existing("area[a]", "", "role: a.b.c") + existing("area[b]", "", "role: a.b.c") + existing("app", "zone[]", `role: a.b.c, unsafeVars: {zones: [a, b]}`),
			},
			want: []string{"area[a]", "area[b]", "app", "app uses area[a]", "app uses area[b]"},
			said: "Running\napp: is running\narea[b]: not wanted any more, but has to stay for app",
		},
		"FormerMemberComputed": {
			reason: "Once that has run without it, it goes, also where the former name of the set is computed.",
			step: step{
				runs: `
  - {name: zone, forEach: "${xr.spec.zones}", previousNames: ["${'area[' + each.key + ']'}"]}
  - {name: app, vars: {zones: "${runs.zone.transformList(k, z, k)}"}}`,
				spec: "zones: [a]", observed: existing("area[a]", "", "role: a.b.c") + existing("area[b]", "", "role: a.b.c") + existing("app", "area[],zone[]", `role: a.b.c, unsafeVars: {zones: [a]}`),
			},
			want: []string{"area[a]", "app", "app uses area[a]"},
			said: "Available\n",
		},
		"FormerMembersUnknown": {
			reason: "A list that is not there removes none of them.",
			step: step{
				runs:     `[{name: zone, forEach: "${xr.spec.?zones.orValue([])}", previousNames: ["area[${each.key}]"]}]`,
				observed: existing("area[b]", "", "role: a.b.c"),
			},
			want: []string{"area[b]"},
			said: "ValueNotSet\nzone: forEach: xr.spec.zones is not there, so that the set stays as it is; a list that is empty removes its members, and so does when: false\n" +
				"area[b]: not wanted any more, but may be what a member of zone was called, which is not known yet",
		},
		"AdoptedMembersUnknown": {
			reason: "One that was adopted is known to be a member.",
			step: step{
				runs:     `[{name: zone, forEach: "${xr.spec.zones.x}", previousNames: ["area[${each.key}]"]}]`,
				spec:     "zones: {}",
				observed: strings.Replace(existing("area[b]", "", "role: a.b.c"), "annotations: {", `annotations: {ansible.fn.crossplane.io/run: "zone[b]", `, 1),
			},
			want: []string{"area[b]"},
			said: "ValueNotSet\nzone: forEach: xr.spec.zones.x is not set; write xr.spec.zones.?x if it may be missing",
		},
		"FormerNamesUnknown": {
			reason: "Nor of those that were runs of their own.",
			step: step{
				runs:     `[{name: zone, forEach: "${xr.spec.?zones.orValue([])}", previousNames: ["area-${each.key}"]}]`,
				observed: existing("area-b", "", "role: a.b.c"),
			},
			want: []string{"area-b"},
			said: "ValueNotSet\nzone: forEach: xr.spec.zones is not there, so that the set stays as it is; a list that is empty removes its members, and so does when: false\n" +
				"area-b: not wanted any more, but may be what a member of zone was called, which is not known yet",
		},
		"FormerNamesReferred": {
			reason: "Nor does a run that is not wanted, and that the list is of.",
			step: step{
				runs: `
  - {name: monitor, when: "${xr.spec.monitoring}"}
  - {name: zone, forEach: "${runs.monitor.outputs.zones}", previousNames: ["area-${each.key}"]}`,
				spec: "monitoring: false", observed: monitor + existing("area-b", "monitor", "role: a.b.c") + using("area-b", "monitor"),
			},
			want: []string{"monitor", "area-b", "area-b uses monitor"},
			said: "ValueNotSet\nzone: forEach: runs.monitor is not wanted any more; it stays as it is: to do without, write runs.?monitor and what else it may be, and to remove it, too, give it the same when\n" +
				"monitor: not wanted any more, but has to stay for area-b\narea-b: not wanted any more, but may be what a member of zone was called, which is not known yet",
		},
		"FormerNamesTooMany": {
			reason: "Nor are more of them removed at once than may go.",
			step: step{
				runs: `[{name: zone, forEach: "${xr.spec.zones}", previousNames: ["area-${each.key}"], removal: {atMost: 1}}]`,
				spec: "zones: [a]", observed: existing("area-a", "", "role: a.b.c") + existing("area-b", "", "role: a.b.c") + existing("area-c", "", "role: a.b.c"),
			},
			want: []string{"area-a", "area-b", "area-c"},
			said: "RemovalHeld\nzone: 2 of 3 would be removed, and removal.atMost is 1; to remove them, annotate the XR with ansible.fn.crossplane.io/allow-removal: zone=2",
		},
		"FormerNamesOfTwo": {
			reason: "They may have become members of several sets.",
			step: step{
				runs: `
  - {name: zone, forEach: "${xr.spec.zones}", previousNames: ["area[${each.key}]"], removal: {atMost: 1}}
  - {name: region, forEach: "${xr.spec.?regions}", previousNames: ["area[${each.key}]"]}`,
				spec: "zones: [a], regions: []", observed: existing("area[a]", "", "role: a.b.c") + existing("area[b]", "", "role: a.b.c") + existing("area[c]", "", "role: a.b.c"),
			},
			want: []string{"area[a]", "area[b]", "area[c]"},
			said: "RemovalHeld\nzone: 2 of 3 would be removed, and removal.atMost is 1; to remove them, annotate the XR with ansible.fn.crossplane.io/allow-removal: zone=2",
		},
		"OwnKey": {
			reason: "A member goes with its key, whatever the others wait for.",
			step: step{
				runs: `
  - {name: monitor, when: "${xr.spec.monitoring}"}
  - {name: zone, forEach: "${xr.spec.zones}", vars: {url: "${runs.monitor.outputs.url}"}}`,
				spec: "monitoring: false, zones: [a, c]", observed: monitor + existing("zone[a]", "monitor", "role: a.b.c") + existing("zone[b]", "monitor", "role: a.b.c"),
			},
			want: []string{"monitor", "zone[a]", "zone[a] uses monitor", "zone[b] uses monitor"},
			said: "ValueNotSet\nzone[a]: vars.url: runs.monitor is not wanted any more; it stays as it is: to do without, write runs.?monitor and what else it may be, and to remove it, too, give it the same when\n" +
				"monitor: not wanted any more, but has to stay for zone[a], zone[b]\nzone[c]: not wanted, for it refers to monitor, which is not wanted",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { tc.check(t, tc.reason, tc.want, tc.said) })
	}
}

// A list that is not there removes nothing, however that is written.
func TestListMissing(t *testing.T) {
	cases := map[string]struct {
		forEach, locals, spec string
		// missing is what is not there.
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
		"LocalPath":        {locals: `all: {spec: "${xr.spec}"}, own: "${locals.all.spec}"`, forEach: `"${locals.own.?zones.orValue([])}"`, missing: "xr.spec.zones"},
		"Locals":           {locals: `all: {zones: "${xr.spec.?zones.orValue([])}"}, zones: "${locals.all.zones.filter(z, z != 'x')}"`, forEach: `"${locals.zones}"`, missing: "xr.spec.zones"},
		"Elsewhere":        {forEach: `"${environment.?zones}"`, missing: "environment.zones"},
		"ElsewhereDefault": {forEach: `"${environment.?zones.orValue([])}"`, missing: "environment.zones"},
		"Context":          {forEach: `'${context[?"example.org/zones"].orValue([])}'`, missing: "context.example.org/zones"},
		"Required":         {locals: `zones: "${required.?settings.?data.?zones.orValue('').split(',').filter(z, z != '')}"`, forEach: `"${locals.zones}"`, missing: "required.settings.data.zones"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			step{
				locals: tc.locals, spec: tc.spec, observed: existing("zone[a]", "", "role: a.b.c"),
				runs: "[{name: zone, forEach: " + tc.forEach + "}]\n  requiredResources: {settings: {apiVersion: v1, kind: ConfigMap, namespace: x, matchName: settings}}",
			}.check(t, "A list that is not there removes nothing.", []string{"zone[a]"}, "ValueNotSet\nzone: forEach: "+tc.missing+
				" is not there, so that the set stays as it is; a list that is empty removes its members, and so does when: false")
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
		"Values":        {"It has other variables.", `{name: database, vars: {size: 6}}`, existing("db", "", "role: a.b.c, vars: {size: 5}"), "database"},
		"Wanted":        {"The Composition still has it.", sized + ", " + strings.Replace(sized, "name: database", "name: db, when: false", 1), db, "database"},
		"Orphaned":      {"It removes nothing.", sized, strings.Replace(db, "spec: {", "spec: {managementPolicies: [Observe, Create, Update], ", 1), "database"},
		"Item":          {"Members of a set are told apart by all of their variables.", `{name: zone, forEach: [b], vars: {name: "${each.value}"}}`, existing("zone[a]", "", "role: a.b.c, unsafeVars: {name: a}"), "zone[b]"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			step{runs: "[" + tc.runs + "]", spec: "size: 6", observed: tc.observed}.
				check(t, tc.reason, []string{tc.want}, "Running\n"+tc.want+": is running")
		})
	}
}

// TestRetained is about an AnsibleRun that stays because of prune: false, which it was not applied with: it stays when
// its run is gone from the Composition, too.
func TestRetained(t *testing.T) {
	rsp := respond(t, request(t, `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  runs: [{name: database, role: a.b.c, when: false, prune: false}]
observed:
  composite:
    resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app, namespace: default, uid: xr}}
  resources:`+existing("database", "", "role: a.b.c")))

	annotations := rsp.GetDesired().GetResources()["database"].GetResource().AsMap()["metadata"].(map[string]any)["annotations"]
	if diff := cmp.Diff(any(map[string]any{"ansible.fn.crossplane.io/prune": "never"}), annotations); diff != "" {
		t.Errorf("RunFunction(...): -want annotations, +got:\n%s\n%v", diff, rsp.GetConditions())
	}
}

// Core gives an object that it does not observe a name of its own, and would create one that is gone by now.
func TestLost(t *testing.T) {
	req := request(t, `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  runs: [{name: database, role: a.b.c}]
  connectionDetails: [{name: url, value: "${runs.database.connectionDetails.url}"}]
observed:
  composite:
    resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app, namespace: default, uid: xr}}
required_resources:
  ansible.fn.crossplane.io/runs/ansible.m.crossplane.io/v1alpha1:
    items:
    - resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata:
          name: app-123
          namespace: default
          uid: r1
          ownerReferences: [{uid: xr, controller: true}]
          labels: {ansible.fn.crossplane.io/composite-uid: xr, crossplane.io/composite: app}
          annotations: {crossplane.io/composition-resource-name: database}
        spec: {providerConfigRef: {kind: ClusterProviderConfig, name: default}, forProvider: {role: a.b.c}}
`)

	rsp := respond(t, req)

	// The Secret would lose what it has, since core sends no connection details along.
	want := map[string]any{"database": map[string]any{"name": "app-123", "namespace": "default", "uid": "r1", "labels": map[string]any{"ansible.fn.crossplane.io/composite-uid": "xr"}}}
	got := map[string]any{}

	for name, r := range rsp.GetDesired().GetResources() {
		got[name] = r.GetResource().AsMap()["metadata"]
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("RunFunction(...): -want, +got:\n%s\n%v", diff, rsp.GetConditions())
	}

	// Core asks until the answer stays the same.
	if len(rsp.GetRequirements().GetResources()) != 2 {
		t.Errorf("RunFunction(...): want the same requirements as before, got %v", rsp.GetRequirements())
	}
}

// TestFindsLost is about an XR that has lost its references, but for those of another step: it finds its AnsibleRuns
// again, although it wants none.
func TestFindsLost(t *testing.T) {
	rsp := step{
		runs:     `[{name: monitor, when: false}, {name: database, vars: {url: "${runs.monitor.outputs.url}"}}]`,
		observed: "{machine: {resource: {apiVersion: cloud.example.org/v1, kind: Machine, metadata: {name: app-m}}}}",
	}.respond(t)

	want := []string{"ansible.fn.crossplane.io/runs/ansible.m.crossplane.io/v1alpha1"}
	if diff := cmp.Diff(want, slices.Collect(maps.Keys(rsp.GetRequirements().GetResources()))); diff != "" {
		t.Errorf("RunFunction(...): -want requirements, +got:\n%s\n%v", diff, rsp.GetConditions())
	}
}

// TestLostOne is about an XR that has lost one of its AnsibleRuns: its Secret, which is observed, stays as it is.
func TestLostOne(t *testing.T) {
	rsp := respond(t, request(t, `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  defaults: {role: a.b.c}
  runs: [{name: database}, {name: cache}]
  connectionDetails: [{name: url, value: "${runs.database.outputs.url}"}]
observed:
  composite:
    resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app, namespace: default, uid: xr}}
  resources:
    connection-details:
      resource: {apiVersion: v1, kind: Secret, metadata: {name: app-connection, namespace: default}, data: {url: dGhlcmU=, old: Z29uZQ==}}
`+existing("database", "", "role: a.b.c")+`
required_resources:
  ansible.fn.crossplane.io/runs/ansible.m.crossplane.io/v1alpha1:
    items:`+asDeparting(strings.ReplaceAll(existing("cache", "", "role: a.b.c"), "labels: {", "labels: {crossplane.io/composite: app, "))))

	want := map[string]any{"url": "dGhlcmU=", "old": "Z29uZQ=="}
	got := rsp.GetDesired().GetResources()["connection-details"].GetResource().AsMap()["data"]

	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("RunFunction(...): -want Secret, +got:\n%s\n%v", diff, rsp.GetConditions())
	}
}

// What is being deleted is applied as it was: its content is run with state absent, and that with
// values that were applied.
func TestDeletedAsItWas(t *testing.T) {
	const b = "\n  - {name: b, vars: {x: 'b-${xr.spec.x}'}, dependsOn: [a]}"

	cases := map[string]struct {
		reason   string
		runs     string
		resource string
		// status has more conditions of the AnsibleRun.
		status string
		said   string
	}{
		"OtherValues":  {reason: "Other values of the XR are for the AnsibleRun that comes after it.", runs: "\n  - {name: a, vars: {x: 'a-${xr.spec.x}'}}" + b, resource: "a", said: "Deleting\na: is being deleted\nb: waiting for a"},
		"OtherContent": {reason: "So is another role, and what else is written otherwise.", runs: "\n  - {name: a, role: a.b.d, timeout: 5m, labels: {a: b}}" + b, resource: "a", said: "Deleting\na: is being deleted\nb: waiting for a"},
		"Renamed":      {reason: "It may have had another name.", runs: "\n  - {name: c, previousNames: [a], vars: {x: 'c-${xr.spec.x}'}}", resource: "a", said: "Deleting\nc (a): is being deleted"},
		"Waits":        {reason: "What it waits for now does not matter any more.", runs: "\n  - {name: d}\n  - {name: a, dependsOn: [d], vars: {x: 'a-${xr.spec.x}'}}", resource: "a", said: "Deleting\na: is being deleted\nd: is running"},
		"Member":       {reason: "It may be one of a set.", runs: "\n  - {name: s, forEach: [k], vars: {x: 'a-${xr.spec.x}'}}", resource: "s[k]", said: "Deleting\ns[k]: is being deleted"},
		"Approval": {
			reason: "What is awaited is said.", runs: "\n  - {name: a, vars: {x: 'a-${xr.spec.x}'}}", resource: "a",
			status: `, {type: Deletable, status: "False", observedGeneration: 1, reason: AwaitingApproval, message: awaits an approval}`,
			said:   "AwaitingApproval\na: awaits an approval",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			observed := strings.NewReplacer("\n          uid", "\n          deletionTimestamp: now\n          uid", "}]}", "}"+tc.status+"]}").
				Replace(existing(tc.resource, "", "role: a.b.c, unsafeVars: {x: a-z}"))

			req := request(t, `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  defaults: {role: a.b.c}
  runs: `+tc.runs+`
observed:
  composite: {resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app, namespace: default, uid: xr}, spec: {x: q}}}
  resources: `+observed)

			rsp := respond(t, req)

			want := req.GetObserved().GetResources()[tc.resource].GetResource().AsMap()["spec"]
			if diff := cmp.Diff(want, rsp.GetDesired().GetResources()[tc.resource].GetResource().AsMap()["spec"]); diff != "" {
				t.Errorf("\n%s\nRunFunction(...): -want the spec that was applied, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.said, rsp.GetConditions()[0].GetReason()+"\n"+rsp.GetConditions()[0].GetMessage()); diff != "" {
				t.Errorf("\n%s\nRunFunction(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
