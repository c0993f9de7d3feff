package main

import (
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// TestOperation checks responses for Operations, which have no XR and no observed resources.
func TestOperation(t *testing.T) {
	const (
		stores    = "requiredResources: {stores: {apiVersion: example.org/v1, kind: Store, matchLabels: {backup: daily}}}\n"
		required  = "requirements: {resources: {stores: {apiVersion: example.org/v1, kind: Store, matchLabels: {labels: {backup: daily}}}}}\n"
		noXR      = "there is no XR in an Operation, and nothing to wait for:\n"
		ofPlan    = "requirements: {resources: {plan: {apiVersion: example.org/v1, kind: Plan, matchName: daily}}}\n"
		noStore   = "vars.store: environment.store is not there yet"
		noStoreA  = "vars.store: environment.stores.a is not there yet"
		sameName  = "the AnsibleRun of backup[b-c] is called backup-b-c, too; give the run another name"
		ofContext = "context: {apiextensions.crossplane.io/environment: {stores: {b: blue}}}\n"
	)

	// applied returns an AnsibleRun with a composition resource name and a name.
	applied := func(resource, name, parameters string) string {
		return `
    ` + resource + `:
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata: {name: ` + name + `, namespace: platform, annotations: {crossplane.io/reconcile-requested-at: "operation/2026-11-21T09:00:00.5Z"}}
        spec: {providerConfigRef: {kind: ClusterProviderConfig, name: default}, forProvider: {role: a.b.c, ` + parameters + `}}
`
	}
	fatal := func(message string) string {
		return "results: [{severity: SEVERITY_FATAL, target: TARGET_COMPOSITE, message: " + quoted(message) + "}]"
	}
	warning := func(message string) string {
		return "results: [{severity: SEVERITY_WARNING, target: TARGET_COMPOSITE, message: " + quoted(message) + "}]\n"
	}

	cases := map[string]struct {
		reason, runs, input string
		// more has further fields of the request.
		more, want string
	}{
		"Run": {
			reason: "An AnsibleRun has the name in the input, and an annotation that requests a run. The desired state of other steps is passed on.",
			runs:   `[{name: nightlyBackup, annotations: {mine: "1"}, vars: {keep: 7}}, {name: other, when: "${false}"}]`,
			more:   "desired: {resources: {theirs: {resource: {a: 1}}}}",
			want: "desired:\n  resources:\n    theirs: {resource: {a: 1}}" +
				strings.Replace(applied("nightlyBackup", "nightly-backup", "vars: {keep: 7}"), "annotations: {", `annotations: {mine: "1", `, 1),
		},
		"FirstRound": {
			reason: "Nothing is rendered before required resources are fetched.",
			runs:   `[{name: backup, forEach: "${required.stores.map(s, s.metadata.name)}"}]`, input: stores, want: required,
		},
		"ForEach": {
			reason: "The name of a member has its key.",
			runs:   `[{name: backup, forEach: "${required.stores.map(s, s.metadata.name)}", vars: {store: "${each.key}"}}]`, input: stores,
			more: "required_resources: {stores: {items: [{resource: {apiVersion: example.org/v1, kind: Store, metadata: {name: inventory}}}]}}",
			want: required + "desired:\n  resources:" + applied("backup[inventory]", "backup-inventory", "unsafeVars: {store: inventory}"),
		},
		"Watched": {
			reason: "required.watched needs no requirement, and other required resources can depend on it.",
			runs:   `[{name: backup, forEach: "${[required.watched.metadata.name]}", vars: {store: "${required.watched.metadata.name}", keep: "${required.plan.spec.keep}"}}]`,
			input:  `requiredResources: {plan: {apiVersion: example.org/v1, kind: Plan, matchName: "${required.watched.spec.plan}"}}`,
			more: `
required_resources:
  ops.crossplane.io/watched-resource: {items: [{resource: {apiVersion: example.org/v1, kind: Store, metadata: {name: inventory}, spec: {plan: daily}}}]}
  plan: {items: [{resource: {apiVersion: example.org/v1, kind: Plan, metadata: {name: daily}, spec: {keep: 7}}}]}
`,
			want: ofPlan + "desired:\n  resources:" + applied("backup[inventory]", "backup-inventory", "unsafeVars: {store: inventory, keep: 7}"),
		},
		"NothingWatched": {
			reason: "Without a WatchOperation, required.watched is a problem.",
			runs:   `[{name: backup, vars: {store: "${required.watched.metadata.name}"}}]`,
			want:   fatal(noXR + "backup: required.watched: there is nothing watched: the Operation was not made by a WatchOperation"),
		},
		"NothingWatchedNeeded": {
			reason: "Without a WatchOperation, an optional reference to required.watched has no value.",
			runs:   `[{name: backup, vars: {store: "${required.?watched.metadata.name.orValue('all')}"}}]`,
			want:   "desired:\n  resources:" + applied("backup", "backup", "unsafeVars: {store: all}"),
		},
		"WatchedTwice": {
			reason: "A required resource must not have the name watched.",
			runs:   `[{name: backup, vars: {store: "${required.watched.metadata.name}"}}]`,
			input:  "requiredResources: {watched: {apiVersion: example.org/v1, kind: Store, matchName: a}}",
			want:   fatal("invalid input:\nrequiredResources.watched: Forbidden: this is what a WatchOperation watches; give it another name"),
		},
		"NothingToWaitFor": {
			reason: "Values of an XR or of other runs never exist in an Operation, which is a problem before anything is fetched.",
			runs: `
- {name: backup, forEach: "${required.stores.map(s, s.metadata.name)}", vars: {store: "${xr.spec.store}"}}
- {name: after, dependsOn: [first]}
- {name: first, vars: {ready: "${runs.?backup.hasValue()}"}}
- {name: turns, forEach: [a], atATime: 1}`,
			input: stores + `status: {file: "${runs.backup.outputs.file}"}`,
			want: fatal(`invalid input:
runs[0].vars.store: Invalid value: "${xr.spec.store}": there is no XR in an Operation, here: ▸xr.spec.store
runs[1].dependsOn: Forbidden: nothing is waited for in an Operation; make one run of them, with roles or playbooks
runs[2].vars.ready: Invalid value: "${runs.?backup.hasValue()}": there are no observed runs in an Operation, here: ▸runs.?backup.hasValue()
runs[3].atATime: Forbidden: nothing is waited for in an Operation; make one run of all hosts, with serial in its play
status: Forbidden: there is no XR in an Operation`),
		},
		"Missing": {
			reason: "A pending value is a problem, since an Operation does not wait.",
			runs:   `[{name: backup, vars: {store: "${environment.store}"}}]`, want: fatal(noXR + "backup: " + noStore),
		},
		"OthersMissing": {
			reason: "A run that cannot be rendered does not block others. The Operation has a warning, and an output with all reasons.",
			runs:   `[{name: backup, forEach: [a, b], vars: {store: "${environment.stores[each.key]}"}}, {name: purge, vars: {store: "${environment.store}"}}]`, more: ofContext,
			want: ofContext + "desired:\n  resources:" + applied("backup[b]", "backup-b", "unsafeVars: {store: blue}") +
				warning("2 of 3 runs left out, which this Operation does not try again:\nbackup[a]: "+noStoreA+"\npurge: "+noStore) +
				"output: {notRun: {'backup[a]': " + quoted(noStoreA) + ", purge: " + quoted(noStore) + "}}",
		},
		"SameName": {
			reason: "Of two AnsibleRuns with the same name, only the first is applied.",
			runs:   "[{name: backup, forEach: [b-c]}, {name: backupB, forEach: [c]}]",
			want: "desired:\n  resources:" + applied("backup[b-c]", "backup-b-c", "") +
				warning("1 of 2 runs left out, which this Operation does not try again:\nbackupB[c]: "+sameName) + "output: {notRun: {'backupB[c]': " + quoted(sameName) + "}}",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := step{defaults: "namespace: platform", runs: tc.runs, input: tc.input, more: tc.more}.request(t)
			req.Observed = nil

			got := respond(t, req)

			// Core ignores the conditions of an Operation, and its desired state after a Fatal result.
			got.Conditions = nil
			if slices.ContainsFunc(got.GetResults(), func(r *fnv1.Result) bool { return r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL }) {
				got.Desired = nil
			}

			same(t, tc.reason, tc.want, got)
		})
	}
}
