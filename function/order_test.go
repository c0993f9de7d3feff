package main

import (
	"strings"
	"testing"
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
        metadata: {namespace: default}
        spec:
          of: {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, resourceRef: {name: app-abc}}
          by: {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, resourceRef: {name: app-app}}
          replayDeletion: true
`
		observedUsage = `
    app uses database:
      resource:
        apiVersion: protection.crossplane.io/v1beta1
        kind: Usage
        metadata: {name: app-xyz}
        spec:
          of: {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, resourceRef: {name: app-abc}}
          by: {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, resourceRef: {name: app-app}}
          replayDeletion: true
`
		ready = `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_TRUE, reason: Available, message: "", target: TARGET_COMPOSITE_AND_CLAIM}
results:
- {severity: SEVERITY_NORMAL, reason: Available, message: "all AnsibleRuns are ready", target: TARGET_COMPOSITE_AND_CLAIM}
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
`,
			},
		},
		"UsageGoes": {
			reason: "What is used is deleted when the usage is gone: core would refuse it before.",
			rendering: rendering{
				input: input, spec: `size: 5, database: false, app: false`, observed: namespaced.Replace("observed:\n  resources:"+database) + observedUsage,
				want: "desired:\n  resources:\n    database:" + appliedDatabase + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: Leaving, message: "database: not wanted any more, but has to stay for app uses database", target: TARGET_COMPOSITE_AND_CLAIM}
`,
			},
		},
		"Gone": {
			reason: "Then it goes.",
			rendering: rendering{
				input: input, spec: `size: 5, database: false, app: false`, observed: namespaced.Replace("observed:\n  resources:" + database),
				want: "desired: {}" + ready,
			},
		},
		"DependencyGoes": {
			reason: "One that is not wanted goes once the other one does not depend on it any more.",
			rendering: rendering{
				input: input, spec: `size: 5, database: false, app: true`, observed: both,
				want: "desired:\n  resources:\n    database:" + appliedDatabase + "    app:\n      ready: READY_FALSE" +
					strings.Replace(app, "\n          annotations: {ansible.fn.crossplane.io/depends-on: database}", " {}", 1) + usage + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: Updating, message: "app: is being updated\ndatabase: not wanted any more, but has to stay for app", target: TARGET_COMPOSITE_AND_CLAIM}
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
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: Updating, message: "database[eu]: is being updated", target: TARGET_COMPOSITE_AND_CLAIM}
`,
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
