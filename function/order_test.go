package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestUsages(t *testing.T) {
	const runs = `[{name: db, when: "${xr.spec.db}"}, {name: app, when: "${xr.spec.app}", dependsOn: [db]}]`

	db, app := existing("db", "", "role: a.b.c"), existing("app", "db", "role: a.b.c")
	zones := existing("zone[eu]", "", "role: a.b.c") + existing("zone[us]", "", "role: a.b.c")
	onZones := existing("app", "zone[]", "role: a.b.c")
	readyRun := strings.NewReplacer("READY_FALSE", "READY_TRUE")
	busy := strings.NewReplacer(`Ready, status: "True"`, `Ready, status: "False"`)

	check(t, map[string]step{
		"BothObserved": {
			reason: "An AnsibleRun has a Usage of its dependency when both exist.",
			runs:   runs, spec: "db: true, app: true", observed: db + app,
			response: "desired:\n  resources:" + readyRun.Replace(rendered("db", "", "", "")+rendered("app", "", "annotations: {ansible.fn.crossplane.io/depends-on: db}", "")) + `
    app uses db:
      ready: READY_TRUE
      resource:
        apiVersion: protection.crossplane.io/v1beta1
        kind: Usage
        metadata: {namespace: default, annotations: {crossplane.io/usage-details: "app uses db"}}
        spec:
          of: {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, resourceRef: {name: app-db}}
          by: {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, resourceRef: {name: app-app}}
          reason: app uses db
          replayDeletion: true
` + condition("TRUE", "Available", ""),
		},
		"DependencyGoes": {
			reason: "An unwanted dependency is removed when its dependent does not depend on it any more.",
			runs:   runs, spec: "db: false, app: true", observed: db + app,
			want: "app, app uses db, db", said: "Leaving db: not wanted any more, but has to stay for app",
		},
		"OfSet": {
			reason: "A dependent of a set has a Usage of each member.",
			runs:   "[{name: zone, forEach: [eu, us]}, {name: app, dependsOn: [zone], when: false}]", observed: zones + onZones,
			want: "app uses zone[eu], app uses zone[us], zone[eu], zone[us]", said: "Available",
		},
		"ItemLeaves": {
			reason: "A member without its item stays until the dependent has run without it.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}"}, {name: app, vars: {size: 6}, dependsOn: [zone]}]`, spec: "zones: [eu]", observed: zones + onZones + using("app", "zone[us]"),
			want: "app, app uses zone[eu], app uses zone[us], zone[eu], zone[us]", said: "Running app: is running\nLeaving:\nzone[us]: not wanted any more, but has to stay for app",
		},
		"UsageOfItem": {
			reason: "The Usage is removed before the member, since core could not delete the member otherwise.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}"}, {name: app, dependsOn: [zone]}]`, spec: "zones: [eu]", observed: zones + onZones + using("app", "zone[us]"),
			want: "app, app uses zone[eu], zone[eu], zone[us]", said: "Leaving zone[us]: not wanted any more, but has to stay for app uses zone[us]",
		},
		"UsageGone": {
			reason: "The member is removed after the Usage.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}"}, {name: app, dependsOn: [zone]}]`, spec: "zones: [eu]", observed: zones + onZones,
			want: "app, app uses zone[eu], zone[eu]", said: "Available",
		},
		"DependentFailed": {
			reason: "A member stays for a dependent that failed without it.",
			runs:   `[{name: zone, forEach: "${xr.spec.zones}"}, {name: app, dependsOn: [zone]}]`, spec: "zones: [eu]", observed: zones + busy.Replace(onZones),
			want: "app, app uses zone[eu], app uses zone[us], zone[eu], zone[us]", said: "Running app: is running\nLeaving:\nzone[us]: not wanted any more, but has to stay for app",
		},
	})
}

// A Usage lies where its user does, and tells where what it uses is.
func TestUsagesOfOtherScopes(t *testing.T) {
	in := func(namespace, name, on string) string {
		return strings.Replace(existing(name, on, "role: a.b.c"), "namespace: default", "namespace: "+namespace, 1)
	}
	clustered := strings.NewReplacer("ansible.m.", "ansible.", "          namespace: none\n", "", "kind: ClusterProviderConfig, ", "")

	step{
		runs: "[{name: cluster}, {name: here, namespace: here, dependsOn: [cluster]}, {name: there, namespace: there, dependsOn: [here]}, {name: free, usages: false, dependsOn: [there]}]",
		xr:   "apiVersion: example.org/v1, kind: App, metadata: {name: app}",
		observed: clustered.Replace(in("none", "cluster", "")) + in("here", "here", "cluster") + in("there", "there", "here") +
			clustered.Replace(in("none", "free", "there")),
		want: "cluster, free, here, here uses cluster, there, there uses here", said: "Available",
		fields: map[string]string{
			"here uses cluster metadata.namespace": "here", "there uses here metadata.namespace": "there",
			// An empty namespace means none. Without the field, core would use the namespace of the Usage.
			"here uses cluster spec.of.resourceRef": `{name: app-cluster, namespace: ""}`, "here uses cluster spec.by.resourceRef": "{name: app-here}",
			"there uses here spec.of.resourceRef": "{name: app-here, namespace: here}", "there uses here spec.by.resourceRef": "{name: app-there}",
		},
	}.check(t)
}

// An AnsibleRun is created with its Usages, and with the label that core would add to what has a Usage: each change of
// what an XR composes, and each write of that, counts for core's circuit breaker.
func TestUsagesAtOnce(t *testing.T) {
	const label = "crossplane.io/in-use"

	// Core has applied database. foreign has a label of another client, and labeled has one that core has applied.
	database := strings.Replace(existing("database", "", "role: a.b.c"), "        spec:", `          managedFields:
          - manager: apiextensions.crossplane.io/composed/abc
            operation: Apply
            fieldsV1: {f:metadata: {f:labels: {f:ansible.fn.crossplane.io/composite-uid: {}}}, f:spec: {f:providerConfigRef: {f:kind: {}, f:name: {}}, f:forProvider: {f:role: {}}}}
        spec:`, 1)
	foreign := strings.Replace(database, "labels: {", "labels: {"+label+`: "true", `, 1)
	labeled := strings.Replace(foreign, "f:labels: {", "f:labels: {f:"+label+": {}, ", 1)

	cases := map[string]step{
		"First":   {reason: "A new AnsibleRun that others will depend on has the label."},
		"Next":    {reason: "A new dependent comes with its Usage. It has no label, since its own dependent has usages: false.", observed: database},
		"Applied": {reason: "A label that core has applied stays.", observed: labeled},
		"Foreign": {reason: "A label that core has added in another way is not applied.", observed: foreign},
	}

	for name, s := range cases {
		s.runs = "[{name: database}, {name: app, dependsOn: [database]}, {name: report, dependsOn: [app], usages: false}]"
		s.xr = "apiVersion: example.org/v1, kind: App, metadata: {name: app, namespace: default, uid: xr, labels: {crossplane.io/composite: shop}}"
		s.want, s.said = "app, app uses database, database", "Running app: is running\nDependencyNotReady:\nreport: waiting for app"
		s.fields = map[string]string{
			"app metadata.labels": "{ansible.fn.crossplane.io/composite-uid: xr}", "database metadata.labels": "{ansible.fn.crossplane.io/composite-uid: xr}",
			"app uses database spec.by.resourceRef": "{name: shop-e99425d57039}",
		}

		if name == "First" {
			s.want, s.said, s.fields = "database", "Running database: is running\nDependencyNotReady:\napp: waiting for database\nreport: waiting for app", map[string]string{}
		}

		if name == "First" || name == "Applied" {
			s.fields["database metadata.labels"] = "{ansible.fn.crossplane.io/composite-uid: xr, " + label + `: "true"}`
		}

		s.observed = "\n    none: {resource: {apiVersion: v1, kind: ConfigMap}}" + s.observed
		cases[name] = s
	}

	check(t, cases)
}

// A set that depends on another one has a Usage for each pair of members, which is too many for large sets.
func TestTooManyUsages(t *testing.T) {
	const message = "user: usages: 50 runs that depend on 41 take 2050 Usages, and there are 2000 for an XR at most; refer to the member of the same key alone, as in runs.name[each.key], or set usages: false: they may be deleted in any order then"

	cases := map[string]struct {
		reason string
		more   string
		zones  int
		// held is true when the users are not created.
		held bool
	}{
		"Few":      {reason: "A set may depend on a whole set.", zones: 40},
		"TooMany":  {reason: "A run that needs too many Usages is held before anything is created.", zones: 41, held: true},
		"OptedOut": {reason: "Without Usages the limit does not apply.", zones: 41, more: ", usages: false"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := step{
				runs: `[{name: zone, forEach: "${lists.range(xr.spec.zones).map(i, string(i))}"}, {name: user, forEach: "${lists.range(50).map(i, string(i))}", dependsOn: [zone]` + tc.more + "}]",
				spec: fmt.Sprint("zones: ", tc.zones), observed: existing("user[0]", "", "role: a.b.c"),
			}.respond(t)

			if got := said(rsp); strings.Contains(got, message) != tc.held {
				t.Errorf("\n%s\nRunFunction(...): want held %t, got %q", tc.reason, tc.held, got)
			}

			if rsp.GetDesired().GetResources()["user[0]"] == nil {
				t.Errorf("\n%s\nRunFunction(...): the run that exists should stay", tc.reason)
			}
		})
	}
}
