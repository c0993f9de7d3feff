package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// depending is an observed AnsibleRun that was rendered after others.
func depending(name, on, status string) string {
	o := strings.NewReplacer("name: app-abc", "name: app-"+name, "composition-resource-name: database", "composition-resource-name: "+name,
		"ansible.crossplane.io/runPolicy: RunOnChange", `ansible.fn.crossplane.io/depends-on: "`+on+`"`,
		"f:ansible.crossplane.io/runPolicy", "f:ansible.fn.crossplane.io/depends-on").Replace(observedRun)

	return "\n    " + name + ":" + o + status
}

func TestUsages(t *testing.T) {
	const (
		input = `
runs:
- {name: database, runPolicy: RunOnChange, role: acme.postgres.server, vars: {size: "${xr.spec.size}"}, when: "${xr.spec.database}"}
- {name: app, role: acme.postgres.server, vars: {size: "${xr.spec.size}"}, when: "${xr.spec.app}", dependsOn: [database]}
`
		app = `
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata:
          annotations: {ansible.fn.crossplane.io/depends-on: database}
        spec:
          providerConfigRef: {kind: ClusterProviderConfig, name: default}
          forProvider: {role: acme.postgres.server, unsafeVars: {size: 5}}
`
		usage = `
    app uses database:
      ready: READY_TRUE
      resource:
        apiVersion: protection.crossplane.io/v1beta1
        kind: Usage
        metadata: {namespace: default, annotations: {crossplane.io/usage-details: "app uses database"}}
        spec:
          of: {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, resourceRef: {name: app-abc}}
          by: {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, resourceRef: {name: app-app}}
          reason: app uses database
          replayDeletion: true
`
		ready = `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_TRUE, reason: Available, message: "", target: TARGET_COMPOSITE_AND_CLAIM}
`
	)

	// What core observes has a namespace.
	namespaced := strings.NewReplacer("name: app-abc\n", "name: app-abc\n          namespace: default\n", "name: app-app\n", "name: app-app\n          namespace: default\n")
	database := "\n    database:" + observedRun + readyStatus
	both := namespaced.Replace("observed:\n  resources:" + database + depending("app", "database", readyStatus))

	cases := map[string]struct {
		reason string
		rendering
	}{
		"BothObserved": {
			reason: "Once both are there the one that depends uses the other one.",
			rendering: rendering{
				input: input, spec: `size: 5, database: true, app: true`, observed: both,
				want: "desired:\n  resources:\n    database:\n      ready: READY_TRUE" + renderedDatabase + "    app:\n      ready: READY_TRUE" + app + usage + ready,
			},
		},
		"OptedOut": {
			reason: "A run may do without.",
			rendering: rendering{
				input: strings.Replace(input, "dependsOn: [database]", "dependsOn: [database], usages: false", 1), spec: `size: 5, database: true, app: true`, observed: both,
				want: "desired:\n  resources:\n    database:\n      ready: READY_TRUE" + renderedDatabase + "    app:\n      ready: READY_TRUE" + app + ready,
			},
		},
		"BothGo": {
			reason: "When neither is wanted any more, the one that depends goes first; the usage stays until it is gone.",
			rendering: rendering{
				input: input, spec: `size: 5, database: false, app: false`, observed: both,
				want: "desired:\n  resources:\n    database:" + appliedDatabase + usage + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: Leaving, message: "database: not wanted any more, but has to stay for app", target: TARGET_COMPOSITE_AND_CLAIM}
` + "results:" + removing("app"),
			},
		},
		"Gone": {
			reason: "Then it goes.",
			rendering: rendering{
				input: input, spec: `size: 5, database: false, app: false`, observed: namespaced.Replace("observed:\n  resources:" + database),
				want: "desired: {}" + ready + "results:" + removing("database"),
			},
		},
		"DependencyGoes": {
			reason: "One that is not wanted goes once the other one does not depend on it any more.",
			rendering: rendering{
				input: input, spec: `size: 5, database: false, app: true`, observed: both,
				want: "desired:\n  resources:\n    database:" + appliedDatabase + "    app:\n      ready: READY_TRUE" +
					strings.Replace(app, "\n          annotations: {ansible.fn.crossplane.io/depends-on: database}", " {}", 1) + usage + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: Leaving, message: "database: not wanted any more, but has to stay for app", target: TARGET_COMPOSITE_AND_CLAIM}
`,
			},
		},
		"OfSet": {
			reason: "What depends on a set uses each of its members.",
			rendering: rendering{
				input: `
runs:
- {name: database, runPolicy: RunOnChange, role: acme.postgres.server, vars: {size: 5, x: "${each.key}"}, forEach: [eu]}
- {name: app, role: acme.postgres.server, vars: {size: "${xr.spec.size}"}, dependsOn: [database], when: false}
`,
				observed: strings.ReplaceAll(zone("eu", ""), "name: app-eu\n", "name: app-eu\n          namespace: default\n") + namespaced.Replace(depending("app", "database[]", "")),
				spec:     `size: 5`,
				want: "desired:\n  resources:\n    database[eu]:\n      ready: READY_FALSE" + strings.Replace(renderedDatabase, "unsafeVars: {size: 5}", "vars: {size: 5}\n            unsafeVars: {x: eu}", 1) +
					strings.NewReplacer("app uses database", "app uses database[eu]", "app-abc", "app-eu").Replace(usage) + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: Running, message: "database[eu]: is running", target: TARGET_COMPOSITE_AND_CLAIM}
` + "results:" + removing("app"),
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if !strings.HasPrefix(tc.observed, "observed:") {
				tc.observed = "observed:\n  resources:" + tc.observed
			}

			tc.check(t, tc.reason)
		})
	}
}

// observedOf is an AnsibleRun that was observed, with what it was rendered after.
func observedOf(group, metadata, on string) string {
	return fmt.Sprintf(`{resource: {apiVersion: %s/v1alpha1, kind: AnsibleRun, metadata: {%s, annotations: {ansible.fn.crossplane.io/depends-on: %q}}, spec: {forProvider: {role: a.b.c}}}}`, group, metadata, on)
}

// usagesOf returns the Usages in a response, each with what it is of and by.
func usagesOf(rsp *fnv1.RunFunctionResponse) map[string]string {
	usages := map[string]string{}

	for name, r := range rsp.GetDesired().GetResources() {
		u := r.GetResource().AsMap()
		if kind, _ := u["kind"].(string); strings.HasSuffix(kind, "Usage") {
			spec, _ := u["spec"].(map[string]any)
			metadata, _ := u["metadata"].(map[string]any)
			of, _ := spec["of"].(map[string]any)
			by, _ := spec["by"].(map[string]any)
			usages[name] = fmt.Sprintf("%s in %v of %v by %v", kind, metadata["namespace"], of["resourceRef"], by["resourceRef"])
		}
	}

	return usages
}

// A Usage lies where its user does, and tells where what it uses is.
func TestUsagesOfOtherScopes(t *testing.T) {
	const (
		input = `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  defaults: {role: a.b.c}
  runs:
  - {name: cluster}
  - {name: here, namespace: here, dependsOn: [cluster]}
  - {name: there, namespace: there, dependsOn: [here]}
  - {name: free, usages: false, dependsOn: [there]}
observed:
  composite: {resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app}}}
  resources:
`
		clustered, namespaced = "ansible.crossplane.io", "ansible.m.crossplane.io"
	)

	req := request(t, input+
		"    cluster: "+observedOf(clustered, "name: a", "")+"\n"+
		"    here: "+observedOf(namespaced, "name: b, namespace: here", "cluster")+"\n"+
		"    there: "+observedOf(namespaced, "name: c, namespace: there", "here")+"\n"+
		"    free: "+observedOf(clustered, "name: d", "there")+"\n")

	rsp := respond(t, req)

	want := map[string]string{
		// A namespace that is empty is none; without it, core would take that of the Usage.
		"here uses cluster": "Usage in here of map[name:a namespace:] by map[name:b]",
		"there uses here":   "Usage in there of map[name:b namespace:here] by map[name:c]",
	}
	if diff := cmp.Diff(want, usagesOf(rsp)); diff != "" {
		t.Errorf("RunFunction(...): -want, +got:\n%s", diff)
	}
}

// An AnsibleRun is created with its Usages, and with the label that core would add to what has a Usage: each change of
// what an XR composes, and each write of that, counts for core's circuit breaker.
func TestUsagesAtOnce(t *testing.T) {
	const (
		input = `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  defaults: {role: acme.postgres.server}
  runs: [{name: database, runPolicy: RunOnChange, vars: {size: "${xr.spec.size}"}}, {name: app, dependsOn: [database]}, {name: report, dependsOn: [app], usages: false}]
observed:
  composite: {resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app, namespace: default, uid: xr, labels: {crossplane.io/composite: shop}}, spec: {size: 5}}}
  resources:
    none: {resource: {apiVersion: v1, kind: ConfigMap}}
`
		label = "crossplane.io/in-use"
	)

	with := func(of, name, value string) string {
		return strings.NewReplacer("labels: {", "labels: {"+name+": "+value+", ", "f:labels: {", "f:labels: {f:"+name+": {}, ").Replace(of)
	}
	database := with("\n    database:"+strings.Replace(observedRun, "name: app-abc", "name: app-abc\n          namespace: default", 1)+readyStatus,
		"ansible.fn.crossplane.io/composite-uid", "xr")
	labeled := with(database, label, `"true"`)
	foreign := strings.Replace(database, "labels: {", "labels: {"+label+`: "true", `, 1)
	usage := map[string]string{"app uses database": "Usage in default of map[name:app-abc] by map[name:shop-e99425d57039]"}

	cases := map[string]struct {
		reason   string
		observed string
		// want are the Usages, and labeled the runs with the label.
		want    map[string]string
		labeled []string
	}{
		"First":   {reason: "What others will use has the label from the start.", want: map[string]string{}, labeled: []string{"database"}},
		"Next":    {reason: "It comes with its Usage. Nothing will use it: report asks for no Usages.", observed: database, want: usage},
		"Applied": {reason: "A label that core has applied stays.", observed: labeled, want: usage, labeled: []string{"database"}},
		"Foreign": {reason: "One that core has added itself is its own.", observed: foreign, want: usage},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := respond(t, request(t, input+tc.observed))

			if diff := cmp.Diff(tc.want, usagesOf(rsp)); diff != "" {
				t.Errorf("\n%s\nRunFunction(...): -want, +got:\n%s\n%v", tc.reason, diff, rsp.GetDesired())
			}

			var got []string

			for name, r := range rsp.GetDesired().GetResources() {
				metadata, _ := r.GetResource().AsMap()["metadata"].(map[string]any)
				labels, _ := metadata["labels"].(map[string]any)

				if labels[label] == "true" {
					got = append(got, name)
				}
			}

			if diff := cmp.Diff(tc.labeled, got); diff != "" {
				t.Errorf("\n%s\nRunFunction(...): labels: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// Sets that depend on each other have as many Usages as pairs. For large sets that is too many.
func TestTooManyUsages(t *testing.T) {
	const input = `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  defaults: {role: a.b.c}
  runs:
  - {name: zone, forEach: "${lists.range(xr.spec.zones).map(i, string(i))}"}
  - {name: user, forEach: "${lists.range(xr.spec.users).map(i, string(i))}", dependsOn: [zone]%s}
observed:
  composite: {resource: {apiVersion: example.org/v1, kind: App, metadata: {namespace: default, name: app}, spec: {zones: %d, users: %d}}}
  resources:
    "user[0]": %s
`

	const message = "user: usages: 50 runs that depend on 41 take 2050 Usages, and there are 2000 for an XR at most; refer to the member of the same key alone, as in runs.name[each.key], or set usages: false: they may be deleted in any order then"

	cases := map[string]struct {
		reason string
		more   string
		zones  int
		// held is true when the users are not created.
		held bool
	}{
		"Few":      {reason: "Sets may depend on each other.", zones: 40},
		"TooMany":  {reason: "There is a limit, which is known before anything is created.", zones: 41, held: true},
		"OptedOut": {reason: "Without Usages there is none.", zones: 41, more: ", usages: false"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := respond(t, request(t, fmt.Sprintf(input, tc.more, tc.zones, 50, observedOf("ansible.m.crossplane.io", "name: x, namespace: default", ""))))

			if got := strings.Contains(rsp.GetConditions()[0].GetMessage(), message); got != tc.held {
				t.Errorf("\n%s\nRunFunction(...): want held %t, got %q", tc.reason, tc.held, rsp.GetConditions()[0].GetMessage())
			}

			if _, ok := rsp.GetDesired().GetResources()["user[0]"]; !ok {
				t.Errorf("\n%s\nRunFunction(...): the run that exists should stay", tc.reason)
			}
		})
	}
}

// An item that is gone takes its run with it, though others go on depending on
// the set.
func TestItemLeaves(t *testing.T) {
	const (
		input = `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  runs:
  - {name: database, runPolicy: RunOnChange, role: acme.postgres.server, vars: {size: "${xr.spec.size}"}, forEach: "${xr.spec.zones}"}
  - {name: app, role: acme.postgres.server, vars: {size: "${xr.spec.size}"}, dependsOn: [database]}
observed:
  composite: {resource: {apiVersion: example.org/v1, kind: App, metadata: {namespace: default, name: app}, spec: {size: SIZE, zones: [eu]}}}
  resources:
`
		usage = `
    app uses database[us]:
      resource:
        apiVersion: protection.crossplane.io/v1beta1
        kind: Usage
        metadata: {name: app-xyz}
        spec: {of: {kind: AnsibleRun, resourceRef: {name: app-us}}, by: {resourceRef: {name: app-app}}}
`
	)

	observed := zone("eu", readyStatus) + zone("us", readyStatus)

	cases := map[string]struct {
		reason   string
		size     string
		observed string
		want     []string
	}{
		"DependentChanges": {
			reason:   "Until the other one is what it is without the item, the item stays.",
			size:     "6",
			observed: observed + depending("app", "database[]", readyStatus) + usage,
			want:     []string{"app", "app uses database[eu]", "app uses database[us]", "database[eu]", "database[us]"},
		},
		"DependentReady": {
			reason:   "Then its usage goes first, or core would refuse to delete what is used.",
			size:     "5",
			observed: observed + depending("app", "database[]", readyStatus) + usage,
			want:     []string{"app", "app uses database[eu]", "database[eu]", "database[us]"},
		},
		"UsageGone": {
			reason:   "Then it goes.",
			size:     "5",
			observed: observed + depending("app", "database[]", readyStatus),
			want:     []string{"app", "app uses database[eu]", "database[eu]"},
		},
		"DependentFailed": {
			reason:   "One that failed may still need it.",
			size:     "5",
			observed: observed + depending("app", "database[]", failedStatus),
			want:     []string{"app", "app uses database[eu]", "app uses database[us]", "database[eu]", "database[us]"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := respond(t, request(t, strings.Replace(input, "SIZE", tc.size, 1)+tc.observed))

			got := slices.Sorted(maps.Keys(rsp.GetDesired().GetResources()))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
