package main

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

const inputOperation = `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  defaults: {namespace: platform, role: acme.shop.backup}
`

// In an Operation there is no XR, and nothing is observed.
func TestOperation(t *testing.T) {
	cases := map[string]struct {
		reason string
		req    string
		want   string
	}{
		"Run": {
			reason: "An AnsibleRun is called as in the input, and asked to run now. What other steps desire passes through.",
			req: inputOperation + `
  runs:
  - {name: nightlyBackup, annotations: {mine: "1"}, vars: {keep: 7}}
  - {name: other, when: "${false}"}
desired: {resources: {theirs: {resource: {a: 1}}}}
`,
			want: `
desired:
  resources:
    theirs: {resource: {a: 1}}
    nightlyBackup:
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata:
          name: nightly-backup
          namespace: platform
          annotations: {mine: "1", crossplane.io/reconcile-requested-at: "operation/2026-11-21T09:00:00.5Z"}
        spec:
          providerConfigRef: {kind: ClusterProviderConfig, name: default}
          forProvider: {role: acme.shop.backup, vars: {keep: 7}}
`,
		},
		"FirstRound": {
			reason: "What is required has to be fetched first.",
			req: inputOperation + `
  requiredResources:
    stores: {apiVersion: example.org/v1, kind: Store, matchLabels: {backup: daily}}
  runs:
  - {name: backup, forEach: "${required.stores.map(s, s.metadata.name)}"}
`,
			want: `
requirements:
  resources:
    stores: {apiVersion: example.org/v1, kind: Store, matchLabels: {labels: {backup: daily}}}
`,
		},
		"ForEach": {
			reason: "One of a set is called by its key, too.",
			req: inputOperation + `
  requiredResources:
    stores: {apiVersion: example.org/v1, kind: Store, matchLabels: {backup: daily}}
  runs:
  - {name: backup, forEach: "${required.stores.map(s, s.metadata.name)}", vars: {store: "${each.key}"}}
required_resources:
  stores: {items: [{resource: {apiVersion: example.org/v1, kind: Store, metadata: {name: inventory}}}]}
`,
			want: `
requirements:
  resources:
    stores: {apiVersion: example.org/v1, kind: Store, matchLabels: {labels: {backup: daily}}}
desired:
  resources:
    backup[inventory]:
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata:
          name: backup-inventory
          namespace: platform
          annotations: {crossplane.io/reconcile-requested-at: "operation/2026-11-21T09:00:00.5Z"}
        spec:
          providerConfigRef: {kind: ClusterProviderConfig, name: default}
          forProvider: {role: acme.shop.backup, unsafeVars: {store: inventory}}
`,
		},
		"Watched": {
			reason: "What a WatchOperation watches is there without being asked for, and may select what else is needed.",
			req: inputOperation + `
  requiredResources:
    plan: {apiVersion: example.org/v1, kind: Plan, matchName: "${required.watched.spec.plan}"}
  runs:
  - name: backup
    forEach: "${[required.watched.metadata.name]}"
    vars: {store: "${required.watched.metadata.name}", keep: "${required.plan.spec.keep}"}
required_resources:
  ops.crossplane.io/watched-resource:
    items: [{resource: {apiVersion: example.org/v1, kind: Store, metadata: {name: inventory}, spec: {plan: daily}}}]
  plan:
    items: [{resource: {apiVersion: example.org/v1, kind: Plan, metadata: {name: daily}, spec: {keep: 7}}}]
`,
			want: `
requirements:
  resources:
    plan: {apiVersion: example.org/v1, kind: Plan, matchName: daily}
desired:
  resources:
    backup[inventory]:
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata:
          name: backup-inventory
          namespace: platform
          annotations: {crossplane.io/reconcile-requested-at: "operation/2026-11-21T09:00:00.5Z"}
        spec:
          providerConfigRef: {kind: ClusterProviderConfig, name: default}
          forProvider: {role: acme.shop.backup, unsafeVars: {store: inventory, keep: 7}}
`,
		},
		"NothingWatched": {
			reason: "Other Operations have nothing that is watched, and say so.",
			req: inputOperation + `
  runs:
  - {name: backup, vars: {store: "${required.watched.metadata.name}"}}
`,
			want: `
results:
- severity: SEVERITY_FATAL
  target: TARGET_COMPOSITE
  message: |-
    there is no XR in an Operation, and nothing to wait for:
    backup: required.watched: there is nothing watched: the Operation was not made by a WatchOperation
`,
		},
		"NothingWatchedNeeded": {
			reason: "Other Operations have nothing that is watched, and may do without.",
			req: inputOperation + `
  runs:
  - {name: backup, vars: {store: "${required.?watched.metadata.name.orValue('all')}"}}
`,
			want: `
desired:
  resources:
    backup:
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata:
          name: backup
          namespace: platform
          annotations: {crossplane.io/reconcile-requested-at: "operation/2026-11-21T09:00:00.5Z"}
        spec:
          providerConfigRef: {kind: ClusterProviderConfig, name: default}
          forProvider: {role: acme.shop.backup, unsafeVars: {store: all}}
`,
		},
		"WatchedTwice": {
			reason: "What is required by that name would hide it.",
			req: inputOperation + `
  requiredResources:
    watched: {apiVersion: example.org/v1, kind: Store, matchName: a}
  runs:
  - {name: backup, vars: {store: "${required.watched.metadata.name}"}}
`,
			want: `
results:
- severity: SEVERITY_FATAL
  target: TARGET_COMPOSITE
  message: |-
    invalid input:
    requiredResources.watched: Forbidden: this is what a WatchOperation watches; give it another name
`,
		},
		"NothingToWaitFor": {
			reason: "Values of an XR or of other runs never come. That is known before anything is fetched.",
			req: inputOperation + `
  requiredResources:
    stores: {apiVersion: example.org/v1, kind: Store, matchLabels: {backup: daily}}
  runs:
  - {name: backup, forEach: "${required.stores.map(s, s.metadata.name)}", vars: {store: "${xr.spec.store}"}}
  - {name: after, dependsOn: [first]}
  - {name: first, vars: {ready: "${runs.?backup.hasValue()}"}}
  - {name: turns, forEach: [a], atATime: 1}
`,
			want: `
results:
- severity: SEVERITY_FATAL
  target: TARGET_COMPOSITE
  message: |-
    invalid input:
    runs[0].vars.store: Invalid value: "${xr.spec.store}": there is no XR in an Operation, here: ▸xr.spec.store
    runs[1].dependsOn: Forbidden: nothing is waited for in an Operation; make one run of them, with roles or playbooks
    runs[2].vars.ready: Invalid value: "${runs.?backup.hasValue()}": there are no observed runs in an Operation, here: ▸runs.?backup.hasValue()
    runs[3].atATime: Forbidden: nothing is waited for in an Operation; make one run of all hosts, with serial in its play
`,
		},
		"Missing": {
			reason: "A value that is not there now never comes.",
			req: inputOperation + `
  runs:
  - {name: backup, vars: {store: "${environment.store}"}}
`,
			want: `
results:
- severity: SEVERITY_FATAL
  target: TARGET_COMPOSITE
  message: |-
    there is no XR in an Operation, and nothing to wait for:
    backup: vars.store: environment.store is not there yet; an EnvironmentConfig of an earlier step has to provide it, or write environment.?store if it may be missing
`,
		},
		"OthersMissing": {
			reason: "What cannot be run keeps no other from it. The Operation has a warning, and the whole story in its output.",
			req: inputOperation + `
  runs:
  - {name: backup, forEach: [a, b], vars: {store: "${environment.stores[each.key]}"}}
  - {name: purge, vars: {store: "${environment.store}"}}
context: {apiextensions.crossplane.io/environment: {stores: {b: blue}}}
`,
			want: `
desired:
  resources:
    backup[b]:
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata:
          name: backup-b
          namespace: platform
          annotations: {crossplane.io/reconcile-requested-at: "operation/2026-11-21T09:00:00.5Z"}
        spec:
          providerConfigRef: {kind: ClusterProviderConfig, name: default}
          forProvider: {role: acme.shop.backup, unsafeVars: {store: blue}}
results:
- severity: SEVERITY_WARNING
  target: TARGET_COMPOSITE
  message: |-
    2 of 3 runs left out, which this Operation does not try again:
    backup[a]: vars.store: environment.stores.a is not there yet; an EnvironmentConfig of an earlier step has to provide it, or write environment.stores.?a if it may be missing
    purge: vars.store: environment.store is not there yet; an EnvironmentConfig of an earlier step has to provide it, or write environment.?store if it may be missing
output:
  notRun:
    "backup[a]": "vars.store: environment.stores.a is not there yet; an EnvironmentConfig of an earlier step has to provide it, or write environment.stores.?a if it may be missing"
    purge: "vars.store: environment.store is not there yet; an EnvironmentConfig of an earlier step has to provide it, or write environment.?store if it may be missing"
context: {apiextensions.crossplane.io/environment: {stores: {b: blue}}}
`,
		},
		"SameName": {
			reason: "Of two AnsibleRuns of one name only one would be applied. It is the first one.",
			req: inputOperation + `
  runs:
  - {name: backup, forEach: [b-c]}
  - {name: backupB, forEach: [c]}
`,
			want: `
desired:
  resources:
    backup[b-c]:
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata:
          name: backup-b-c
          namespace: platform
          annotations: {crossplane.io/reconcile-requested-at: "operation/2026-11-21T09:00:00.5Z"}
        spec:
          providerConfigRef: {kind: ClusterProviderConfig, name: default}
          forProvider: {role: acme.shop.backup}
results:
- severity: SEVERITY_WARNING
  target: TARGET_COMPOSITE
  message: |-
    1 of 2 runs left out, which this Operation does not try again:
    backupB[c]: the AnsibleRun of backup[b-c] is called backup-b-c, too; give the run another name
output:
  notRun: {"backupB[c]": "the AnsibleRun of backup[b-c] is called backup-b-c, too; give the run another name"}
`,
		},
		"BackOnTheXR": {
			reason: "There is nothing to bring outputs back to.",
			req: inputOperation + `
  runs: [{name: backup}]
  status: {file: "${runs.backup.outputs.file}"}
`,
			want: `
results:
- severity: SEVERITY_FATAL
  target: TARGET_COMPOSITE
  message: "invalid input:\nstatus: Forbidden: there is no XR in an Operation"
`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t)
			f.now = func() time.Time { return time.Date(2026, 11, 21, 10, 0, 0, 5e8, time.FixedZone("CET", 3600)) }

			req, want := &fnv1.RunFunctionRequest{}, &fnv1.RunFunctionResponse{}
			fromYAML(t, tc.req, req)
			fromYAML(t, tc.want, want)
			withDefaults(want)

			got, err := f.RunFunction(context.Background(), req)
			if err != nil {
				t.Fatalf("\n%s\nf.RunFunction(...): %v", tc.reason, err)
			}

			withDefaults(got)

			// Core knows neither the conditions of an Operation, nor what it
			// desires after a Fatal result.
			got.Conditions = nil
			if slices.ContainsFunc(got.GetResults(), func(r *fnv1.Result) bool { return r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL }) {
				got.Desired = nil
			}

			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("\n%s\nf.RunFunction(...): -want rsp, +got rsp:\n%s", tc.reason, diff)
			}
		})
	}
}
