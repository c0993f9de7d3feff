package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"
)

// observedRun is an AnsibleRun as core observes it, with what its apply owns.
const observedRun = `
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata:
          name: app-abc
          generation: 3
          labels: {crossplane.io/composite: app, theirs: "1"}
          annotations: {crossplane.io/composition-resource-name: database, ansible.crossplane.io/runPolicy: RunOnChange}
          managedFields:
          - manager: apiextensions.crossplane.io/composed/abc
            operation: Apply
            fieldsV1:
              f:metadata:
                f:labels: {f:crossplane.io/composite: {}}
                f:annotations: {f:crossplane.io/composition-resource-name: {}, f:ansible.crossplane.io/runPolicy: {}}
              f:spec:
                f:providerConfigRef: {f:kind: {}, f:name: {}}
                f:forProvider:
                  f:role: {}
                  f:unsafeVars: {f:size: {}}
          - manager: provider
            operation: Update
            subresource: status
            fieldsV1: {f:status: {f:atProvider: {}}}
        spec:
          managementPolicies: ["*"]
          providerConfigRef: {kind: ClusterProviderConfig, name: default}
          forProvider:
            role: acme.postgres.server
            unsafeVars: {size: 5}
`

const readyStatus = `
        status:
          conditions:
          - {type: Ready, status: "True", reason: Available, observedGeneration: 3}
          - {type: Synced, status: "True", reason: ReconcileSuccess, observedGeneration: 3}
          atProvider:
            lastRun: {id: "1", phase: Succeeded}
            outputs: {endpoint: "db:5432", port: 5432}
`

const failedStatus = `
        status:
          conditions:
          - {type: Ready, status: "False", reason: RunFailed, observedGeneration: 3}
          - {type: Synced, status: "False", reason: ReconcileError, message: "the run failed, attempt 7", observedGeneration: 3}
          atProvider:
            lastRun:
              phase: Failed
              failures:
              - {task: Install, host: web1, message: "No package\nmatching"}
              - {host: web2, message: unreachable}
`

const retriedStatus = `
        status:
          conditions:
          - {type: Ready, status: "False", reason: RunFailed, observedGeneration: 3}
          - {type: Synced, status: "True", reason: ReconcileSuccess, observedGeneration: 3}
          atProvider:
            lastRun: {phase: Running, trigger: Retry}
`

const inputDatabase = `
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  runs:
  - name: database
    runPolicy: RunOnChange
    role: acme.postgres.server
    vars:
      size: "${xr.spec.size}"
`

const inputApp = inputDatabase + `
  - name: app
    role: acme.app.server
    vars:
      database: "${runs.database.outputs.endpoint}"
      port: 80
  status:
    endpoint: "${runs.database.outputs.endpoint}"
    port: "${runs.database.outputs.port}"
`

const xrApp = `
    resource:
      apiVersion: example.org/v1
      kind: App
      metadata: {namespace: default, name: app}
      spec: {size: 5}
`

// renderedDatabase is what inputDatabase becomes with xrApp.
const renderedDatabase = `
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

// appliedDatabase is observedRun, applied again.
const appliedDatabase = `
      ready: READY_FALSE
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata:
          labels: {crossplane.io/composite: app}
          annotations: {crossplane.io/composition-resource-name: database, ansible.crossplane.io/runPolicy: RunOnChange}
        spec:
          providerConfigRef: {kind: ClusterProviderConfig, name: default}
          forProvider:
            role: acme.postgres.server
            unsafeVars: {size: 5}
`

func TestRunFunction(t *testing.T) {
	cases := map[string]struct {
		reason string
		req    string
		want   string
	}{
		"NamespacedXR": {
			reason: "A namespaced XR becomes namespaced AnsibleRuns; literal and computed variables are kept apart.",
			req: `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  defaults:
    runPolicy: CheckWhenObserve
    playbook: acme.app.default
    labels: {team: blue}
    vars: {nested: {a: 1, b: 2}, list: [1, 2]}
  runs:
  - name: app
    roles: [acme.app.install, {name: acme.app, src: "https://example.org/app", version: "1"}]
    hosts: web
    tags: [a]
    forks: 10
    timeout: 10m
    vars:
      nested: {b: 3}
      list: [3]
      templated: "{{ nested.a }}"
      label: "app-${xr.metadata.name}"
      tree: {a: [literal, "${xr.spec.size}"]}
      omitted: "${xr.spec.?unset}"
      literal: "$${HOME}"
observed:
  composite:` + xrApp + `
`,
			want: `
desired:
  resources:
    app:
      ready: READY_FALSE
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata:
          labels: {team: blue}
          annotations: {ansible.crossplane.io/runPolicy: CheckWhenObserve}
        spec:
          providerConfigRef: {kind: ClusterProviderConfig, name: default}
          forProvider:
            roles: [acme.app.install, {name: acme.app, src: "https://example.org/app", version: "1"}]
            hosts: web
            tags: [a]
            forks: 10
            timeout: 10m0s
            vars:
              nested: {a: 1, b: 3}
              list: [3]
              templated: "{{ nested.a }}"
              literal: "${HOME}"
            unsafeVars:
              label: app-app
              tree: {a: [literal, 5]}
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: Running, message: "app: is running", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"ClusterXR": {
			reason: "A cluster-scoped XR becomes cluster-scoped AnsibleRuns, or namespaced ones where it says so.",
			req: `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  defaults: {role: acme.app.server}
  runs:
  - {name: a, providerConfigRef: {kind: ProviderConfig, name: mine}, managementPolicies: [Observe, Create, Update]}
  - {name: b, namespace: apps}
observed:
  composite:
    resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app}}
`,
			want: `
desired:
  resources:
    a:
      ready: READY_FALSE
      resource:
        apiVersion: ansible.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata: {}
        spec:
          providerConfigRef: {name: mine}
          managementPolicies: [Observe, Create, Update]
          forProvider: {role: acme.app.server}
    b:
      ready: READY_FALSE
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata: {namespace: apps}
        spec:
          providerConfigRef: {kind: ClusterProviderConfig, name: default}
          forProvider: {role: acme.app.server}
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: Running, message: "a: is running\nb: is running", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"DependencyNotReady": {
			reason: "A run is not created before those that it refers to are ready, and the XR is not ready while one is held.",
			req: `
input: ` + inputApp + `
observed:
  composite:` + xrApp + `
  resources:
    database:` + observedRun,
			want: `
desired:
  composite: {ready: READY_FALSE}
  resources:
    database:
      ready: READY_FALSE` + renderedDatabase + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: Running, message: "database: is running\napp: waiting for database", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"DependencyReady": {
			reason: "When it is ready, its outputs can be used, and they come back on the XR.",
			req: `
input: ` + inputApp + `
observed:
  composite:` + xrApp + `
  resources:
    database:` + observedRun + readyStatus,
			want: `
desired:
  composite:
    resource: {status: {endpoint: "db:5432", port: 5432}}
  resources:
    database:
      ready: READY_TRUE` + renderedDatabase + `
    app:
      ready: READY_FALSE
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata:
          annotations: {ansible.fn.crossplane.io/depends-on: database}
        spec:
          providerConfigRef: {kind: ClusterProviderConfig, name: default}
          forProvider:
            role: acme.app.server
            vars: {port: 80}
            unsafeVars: {database: "db:5432"}
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: Running, message: "app: is running", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"Ready": {
			reason: "When all runs are ready, the condition is True, an event says so, and readiness is left to core.",
			req: `
input: ` + inputDatabase + `
observed:
  composite:` + xrApp + `
  resources:
    database:` + observedRun + readyStatus,
			want: `
desired:
  resources:
    database:
      ready: READY_TRUE` + renderedDatabase + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_TRUE, reason: Available, message: "", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"Failed": {
			reason: "A failing run shows in Ansible's own words, without what changes at each attempt.",
			req: `
input: ` + inputDatabase + `
observed:
  composite:` + xrApp + `
  resources:
    database:` + observedRun + failedStatus,
			want: `
desired:
  resources:
    database:
      ready: READY_FALSE` + renderedDatabase + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: RunFailed, message: "database: task \"Install\" failed on host \"web1\": No package matching\ndatabase: failed on host \"web2\": unreachable", target: TARGET_COMPOSITE_AND_CLAIM}
results:
- {severity: SEVERITY_WARNING, reason: RunFailed, message: "database: task \"Install\" failed on host \"web1\": No package matching\ndatabase: failed on host \"web2\": unreachable", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"StillFailed": {
			reason: "A failure is an event once.",
			req: `
input: ` + inputDatabase + `
observed:
  composite:` + xrApp + `
      status: {conditions: [{type: AnsibleRunsReady, status: "False", reason: RunFailed, message: "database: task \"Install\" failed on host \"web1\": No package matching\ndatabase: failed on host \"web2\": unreachable"}]}
  resources:
    database:` + observedRun + failedStatus,
			want: `
desired:
  resources:
    database:
      ready: READY_FALSE` + renderedDatabase + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: RunFailed, message: "database: task \"Install\" failed on host \"web1\": No package matching\ndatabase: failed on host \"web2\": unreachable", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"FailedAgain": {
			reason: "So is one with another random path.",
			req: `
input: ` + inputDatabase + `
observed:
  composite:` + xrApp + `
      status: {conditions: [{type: AnsibleRunsReady, status: "False", reason: RunFailed, message: "database: task \"Install\" failed on host \"web1\": No package matching /tmp/a8\ndatabase: failed on host \"web2\": unreachable"}]}
  resources:
    database:` + observedRun + strings.Replace(failedStatus, "matching", "matching /tmp/xy", 1),
			want: `
desired:
  resources:
    database:
      ready: READY_FALSE` + renderedDatabase + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: RunFailed, message: "database: task \"Install\" failed on host \"web1\": No package matching /tmp/a8\ndatabase: failed on host \"web2\": unreachable", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"FailedRescuedTogether": {
			reason: "Equal failures of several hosts are one line, with what was rescued before.",
			req: `
input: ` + inputDatabase + `
observed:
  composite:` + xrApp + `
  resources:
    database:` + observedRun + `
        status:
          conditions:
          - {type: Ready, status: "False", reason: RunFailed, observedGeneration: 3}
          - {type: Synced, status: "False", reason: ReconcileError, message: "the run failed, attempt 7", observedGeneration: 3}
          atProvider:
            lastRun:
              phase: Failed
              failures:
              - {task: Install, host: a, message: No space left on device, rescued: true}
              - {task: Give up, host: a, message: it fails}
              - {task: Give up, host: b, message: it fails}
              - {task: Give up, host: c, message: it fails}
`,
			want: `
desired:
  resources:
    database:
      ready: READY_FALSE` + renderedDatabase + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: RunFailed, message: &m "database: task \"Give up\" failed on hosts \"a\", \"b\" and 1 more: it fails; before, task \"Install\" failed and was rescued: No space left on device", target: TARGET_COMPOSITE_AND_CLAIM}
results:
- {severity: SEVERITY_WARNING, reason: RunFailed, message: *m, target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"Paused": {
			reason: "A run that is paused is no error.",
			req: `
input: ` + inputDatabase + `
observed:
  composite:` + xrApp + `
  resources:
    database:` + observedRun + `
        status:
          conditions:
          - {type: Synced, status: "False", reason: ReconcilePaused, observedGeneration: 3}
`,
			want: `
desired:
  resources:
    database:
      ready: READY_FALSE` + renderedDatabase + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: Paused, message: "database: is paused", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"FailedAndRetried": {
			reason: "While a failed run is tried again it is still known why it failed.",
			req: `
input: ` + inputDatabase + `
observed:
  composite:` + xrApp + `
      status: {conditions: [{type: AnsibleRunsReady, status: "False", reason: RunFailed, message: "database: task \"Install\" failed on host \"web1\": No package matching\ndatabase: failed on host \"web2\": unreachable"}]}
  resources:
    database:` + observedRun + retriedStatus,
			want: `
desired:
  resources:
    database:
      ready: READY_FALSE` + renderedDatabase + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: RunFailed, message: "database: task \"Install\" failed on host \"web1\": No package matching\ndatabase: failed on host \"web2\": unreachable", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"ApprovedAndRetried": {
			reason: "What awaited an approval, which was given, is no failure.",
			req: `
input: ` + inputDatabase + `
observed:
  composite:` + xrApp + `
      status: {conditions: [{type: AnsibleRunsReady, status: "False", reason: AwaitingApproval, message: "database: a check predicts 1 change by a.b, see status.atProvider.drift, and awaits approval of digest 1: kubectl ansible approve run"}]}
  resources:
    database:` + observedRun + retriedStatus,
			want: `
desired:
  resources:
    database:
      ready: READY_FALSE` + renderedDatabase + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: RunFailed, message: "database: failed, and is running again", target: TARGET_COMPOSITE_AND_CLAIM}
results:
- {severity: SEVERITY_WARNING, reason: RunFailed, message: "database: failed, and is running again", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"ValueNotSet": {
			reason: "A run whose value was unset stays exactly as it was applied, and the XR is not ready.",
			req: `
input: ` + inputDatabase + `
observed:
  composite:
    resource:
      apiVersion: example.org/v1
      kind: App
      metadata: {namespace: default, name: app}
      spec: {}
  resources:
    database:` + observedRun + readyStatus,
			want: `
desired:
  composite: {ready: READY_FALSE}
  resources:
    database:` + appliedDatabase + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: ValueNotSet, message: "database: vars.size: xr.spec.size is not set; write xr.spec.?size if it may be missing", target: TARGET_COMPOSITE_AND_CLAIM}
results:
- {severity: SEVERITY_WARNING, reason: ValueNotSet, message: "database: vars.size: xr.spec.size is not set; write xr.spec.?size if it may be missing", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"ValueNotSetNew": {
			reason: "A run that lacks a value is not created, and the XR is not ready although nothing is composed.",
			req: `
input: ` + inputDatabase + `
observed:
  composite:
    resource: {apiVersion: example.org/v1, kind: App, metadata: {namespace: default, name: app}}
`,
			want: `
desired:
  composite: {ready: READY_FALSE}
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: ValueNotSet, message: "database: vars.size: xr.spec is not set; write xr.?spec if it may be missing", target: TARGET_COMPOSITE_AND_CLAIM}
results:
- {severity: SEVERITY_WARNING, reason: ValueNotSet, message: "database: vars.size: xr.spec is not set; write xr.?spec if it may be missing", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"StatusKept": {
			reason: "A status field whose value is not there yet keeps the value that it has; one that is optional.none() goes.",
			req: `
input: ` + inputDatabase + `
  status:
    literal: text
    endpoint: "${runs.database.outputs.endpoint}"
    size: "${xr.spec.size}"
    gone: "${xr.spec.?gone}"
    new: "${runs.database.outputs.new}"
    nested: {port: "${runs.database.outputs.port}"}
observed:
  composite:` + xrApp + `
      status: {endpoint: "old:5432", gone: x, nested: {port: 1, other: 2}, theirs: 1}
desired:
  composite:
    resource: {status: {earlier: 1, nested: {earlier: 1}}}
`,
			want: `
desired:
  composite:
    resource: {status: {earlier: 1, literal: text, endpoint: "old:5432", size: 5, nested: {earlier: 1, port: 1}}}
  resources:
    database:
      ready: READY_FALSE` + renderedDatabase + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: Running, message: "database: is running", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"StatusMissing": {
			reason: "A status field that no run will ever give is not passed over in silence.",
			req: `
input: ` + inputDatabase + `
  status: {endpoint: "${runs.database.outputs.endpiont}"}
observed:
  composite:` + xrApp + `
  resources:
    database:` + observedRun + readyStatus,
			want: `
desired:
  resources:
    database:
      ready: READY_TRUE` + renderedDatabase + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_TRUE, reason: InvalidStatus, message: "status.endpoint: runs.database.outputs.endpiont is not there yet", target: TARGET_COMPOSITE_AND_CLAIM}
results:
- {severity: SEVERITY_WARNING, reason: InvalidStatus, message: "status.endpoint: runs.database.outputs.endpiont is not there yet", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"NotWanted": {
			reason: "A run whose when is false is removed; so is one that refers to it, but not one that can do without.",
			req: `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  defaults: {role: acme.app.server}
  runs:
  - {name: refers, vars: {x: "${runs.database.outputs.endpoint}"}}
  - {name: optional, vars: {x: "${runs.?database.outputs.endpoint.orValue(\"none\")}"}}
  - {name: database, when: "${xr.spec.size > 5}"}
  status: {endpoint: "${runs.database.outputs.endpoint}"}
observed:
  composite:` + xrApp + `
      status: {endpoint: "old:5432"}
  resources:
    database:` + observedRun + readyStatus,
			want: `
desired:
  resources:
    optional:
      ready: READY_FALSE
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata: {}
        spec:
          providerConfigRef: {kind: ClusterProviderConfig, name: default}
          forProvider:
            role: acme.app.server
            unsafeVars: {x: none}
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: Running, message: "optional: is running\nrefers: not wanted, for it refers to database, which is not wanted", target: TARGET_COMPOSITE_AND_CLAIM}
` + "results:" + removing("database"),
		},
		"NameInUse": {
			reason: "What has the name of a run, and is none, is not ours to keep: what we know of AnsibleRuns would empty it.",
			req: `
input: ` + inputDatabase + `
  - {name: app, role: acme.app.server, vars: {data: "${runs.?database.?metadata.?name.orValue('none')}"}}
observed:
  composite:` + xrApp + `
  resources:
    database: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {a: b}}}
`,
			want: `
desired:
  composite: {ready: READY_FALSE}
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: InvalidValue, message: "database: name: the XR has a ConfigMap of this name; give the run another one\napp: waiting for database", target: TARGET_COMPOSITE_AND_CLAIM}
results:
- {severity: SEVERITY_WARNING, reason: InvalidValue, message: "database: name: the XR has a ConfigMap of this name; give the run another one\napp: waiting for database", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"NameTaken": {
			reason: "What an earlier step composes is not replaced by a run of the same name.",
			req: `
input: ` + inputDatabase + `
observed:
  composite:` + xrApp + `
desired:
  resources:
    database: {resource: {apiVersion: v1, kind: ConfigMap}}
`,
			want: `
desired:
  resources:
    database: {resource: {apiVersion: v1, kind: ConfigMap}}
results:
- severity: SEVERITY_FATAL
  target: TARGET_COMPOSITE
  message: 'give run "database" another name: an earlier step of the pipeline composes "database", which is of kind ConfigMap'
`,
		},
		"EarlierRuns": {
			reason: "AnsibleRuns of an earlier step have not left the Composition, and their order is that step's business.",
			req: `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  runs: [{name: other, role: acme.app.server}]
observed:
  composite:` + xrApp + `
  resources:
    database:` + observedRun + readyStatus + `
    app:
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata: {name: app-app, annotations: {ansible.fn.crossplane.io/depends-on: database}}
desired:
  resources:
    database: {resource: {kind: AnsibleRun}}
    app: {resource: {kind: AnsibleRun}}
`,
			want: `
desired:
  resources:
    database: {resource: {kind: AnsibleRun}}
    app: {resource: {kind: AnsibleRun}}
    other:
      ready: READY_FALSE
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata: {}
        spec:
          providerConfigRef: {kind: ClusterProviderConfig, name: default}
          forProvider: {role: acme.app.server}
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: Running, message: "other: is running", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"Moved": {
			reason: "A run that would move to the other group would be forgotten by core; it stays where it is.",
			req: `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  runs: [{name: database, role: acme.postgres.server}]
observed:
  composite:
    resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app}}
  resources:
    database:` + observedRun,
			want: `
desired:
  composite: {ready: READY_FALSE}
  resources:
    database:` + appliedDatabase + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: InvalidValue, message: "database: namespace: a run cannot move to another scope or namespace: one of another name would be created, and this one removed with what it has made; give it onDelete: {policy: Keep} first", target: TARGET_COMPOSITE_AND_CLAIM}
results:
- {severity: SEVERITY_WARNING, reason: InvalidValue, message: "database: namespace: a run cannot move to another scope or namespace: one of another name would be created, and this one removed with what it has made; give it onDelete: {policy: Keep} first", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"PassThrough": {
			reason: "The desired state and the context of earlier functions pass through.",
			req: `
meta: {tag: abc}
input: ` + inputDatabase + `
context: {a: 1}
observed:
  composite:` + xrApp + `
desired:
  composite: {ready: READY_TRUE, connectionDetails: {a: YQ==}, resource: {status: {a: 1}}}
  resources: {theirs: {ready: READY_TRUE, resource: {kind: X}}}
`,
			want: `
meta: {tag: abc}
context: {a: 1}
desired:
  composite: {ready: READY_TRUE, connectionDetails: {a: YQ==}, resource: {status: {a: 1}}}
  resources:
    theirs: {ready: READY_TRUE, resource: {kind: X}}
    database:
      ready: READY_FALSE` + renderedDatabase + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: Running, message: "database: is running", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"JinjaInValues": {
			reason: "Jinja2 that the author of an XR writes arrives where Ansible does not template it, wherever it comes through.",
			req: `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  runs:
  - name: app
    role: acme.app.server
    vars:
      a: "${xr.spec.a}"
      b: "x-${xr.spec.a}"
      c: {d: [literal, "${xr.spec}"]}
      e: "{{ a }}"
observed:
  composite:
    resource:
      apiVersion: example.org/v1
      kind: App
      metadata: {namespace: default, name: app}
      spec: {a: "{{ lookup('pipe', 'id') }}", role: evil.role.name, playbookInline: "- hosts: all"}
`,
			want: `
desired:
  resources:
    app:
      ready: READY_FALSE
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata: {}
        spec:
          providerConfigRef: {kind: ClusterProviderConfig, name: default}
          forProvider:
            role: acme.app.server
            vars:
              e: "{{ a }}"
            unsafeVars:
              a: "{{ lookup('pipe', 'id') }}"
              b: "x-{{ lookup('pipe', 'id') }}"
              c: {d: [literal, {a: "{{ lookup('pipe', 'id') }}", role: evil.role.name, playbookInline: "- hosts: all"}]}
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: Running, message: "app: is running", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := &fnv1.RunFunctionResponse{}
			fromYAML(t, tc.want, want)
			withDefaults(want)

			got := respond(t, request(t, tc.req))
			withDefaults(got)

			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("\n%s\nf.RunFunction(...): -want rsp, +got rsp:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestTTL has core ask again soon while it does not hear of AnsibleRuns in progress.
func TestTTL(t *testing.T) {
	cases := map[string]struct {
		reason     string
		responsive string
		when       bool
		want       time.Duration
	}{
		"Closed":        {reason: "Core should ask when it hears of something.", responsive: "True", when: true, want: response.DefaultTTL},
		"OldCrossplane": {reason: "Before v2.1 there is no condition.", when: true, want: response.DefaultTTL},
		"Open":          {reason: "A run is in progress, and core does not hear of its end.", responsive: "False", when: true, want: circuitTTL},
		"Done":          {reason: "Nothing is to be heard of.", responsive: "False", want: response.DefaultTTL},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			conditions := "[]"
			if tc.responsive != "" {
				conditions = fmt.Sprintf(`[{type: Responsive, status: %q}]`, tc.responsive)
			}

			req := request(t, fmt.Sprintf(`
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  runs: [{name: app, role: acme.web, when: "${%t}"}]
observed:
  composite: {resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app, namespace: default}, status: {conditions: %s}}}
`, tc.when, conditions))

			rsp := respond(t, req)

			if got := rsp.GetMeta().GetTtl().AsDuration(); got != tc.want {
				t.Errorf("%s Want a TTL of %s, got %s; %v", tc.reason, tc.want, got, rsp.GetResults())
			}
		})
	}
}

// respond to a request as a new function does.
func respond(t *testing.T, req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	t.Helper()

	rsp, err := newFunction(t).RunFunction(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}

	return rsp
}

func newFunction(tb testing.TB) *Function {
	tb.Helper()

	f, err := NewFunction(logging.NewNopLogger())
	if err != nil {
		tb.Fatal(err)
	}

	return f
}

// withDefaults fills in what is the same in all responses.
func withDefaults(rsp *fnv1.RunFunctionResponse) {
	if rsp.GetMeta() == nil {
		rsp.Meta = &fnv1.ResponseMeta{}
	}

	rsp.Meta.Ttl = durationpb.New(0)

	// What steps tell each other is what the condition says.
	if delete(rsp.GetContext().GetFields(), "ansible.fn.crossplane.io/steps"); len(rsp.GetContext().GetFields()) == 0 {
		rsp.Context = nil
	}
}

func request(t *testing.T, y string) *fnv1.RunFunctionRequest {
	t.Helper()

	req := &fnv1.RunFunctionRequest{}
	fromYAML(t, y, req)

	return req
}

func fromYAML(t *testing.T, y string, m proto.Message) {
	t.Helper()

	j, err := yaml.YAMLToJSON([]byte(y))
	if err != nil {
		t.Fatalf("%v:\n%s", err, y)
	}

	if err := protojson.Unmarshal(j, m); err != nil {
		t.Fatalf("%v:\n%s", err, j)
	}
}
