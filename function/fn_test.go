package main

import (
	"strings"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/response"
)

// TestRunFunction compares whole responses.
func TestRunFunction(t *testing.T) {
	check(t, map[string]step{
		"NamespacedXR": {
			reason: "A namespaced XR gets namespaced AnsibleRuns. Literal and computed variables are kept apart.",
			input: `
defaults: {runPolicy: CheckWhenObserve, playbook: acme.app.default, labels: {team: blue}, vars: {nested: {a: 1, b: 2}, list: [1, 2]}}
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
`,
			spec: "size: 5",
			response: strings.Replace(one(`roles: [acme.app.install, {name: acme.app, src: "https://example.org/app", version: "1"}], hosts: web, tags: [a], forks: 10, timeout: 10m0s,
            vars: {nested: {a: 1, b: 3}, list: [3], templated: "{{ nested.a }}", literal: "${HOME}"}, unsafeVars: {label: app-app, tree: {a: [literal, 5]}}`,
				"labels: {team: blue}, annotations: {ansible.crossplane.io/runPolicy: CheckWhenObserve}"), "role: a.b.c, ", "", 1),
		},
		"ClusterXR": {
			reason: "A cluster-scoped XR gets cluster-scoped AnsibleRuns, or namespaced ones for runs with a namespace.",
			runs:   "[{name: a, providerConfigRef: {kind: ProviderConfig, name: mine}, managementPolicies: [Observe, Create, Update]}, {name: b, namespace: apps}]",
			xr:     "apiVersion: example.org/v1, kind: App, metadata: {name: app}",
			response: "desired:\n  resources:" + strings.NewReplacer("m.crossplane", "crossplane", "kind: ClusterProviderConfig, name: default", "name: mine").
				Replace(rendered("a", "", "", "managementPolicies: [Observe, Create, Update]")) + rendered("b", "", "namespace: apps", "") +
				condition("FALSE", "Running", "a: is running\nb: is running"),
		},
		"DependencyReady": {
			reason: "When a run is ready, other runs and the status of the XR can use its outputs.",
			runs:   `[{name: database}, {name: app, usages: false, vars: {database: "${runs.database.outputs.url}", port: 80}}]`,
			input:  `status: {url: "${runs.database.outputs.url}"}`, observed: existing("database", "", "role: a.b.c"),
			response: "desired:\n  composite: {resource: {status: {url: there}}}\n  resources:" + strings.Replace(rendered("database", "", "", ""), "READY_FALSE", "READY_TRUE", 1) +
				rendered("app", "vars: {port: 80}, unsafeVars: {database: there}", "name: app-e99425d57039, namespace: default, annotations: {ansible.fn.crossplane.io/depends-on: database}", "") +
				condition("FALSE", "Running", "app: is running"),
		},
		"ValueNotSet": {
			reason: "A run without a value stays as it was applied, without fields of other managers, and the XR is not ready.",
			runs:   `[{name: app, vars: {size: "${xr.spec.size}"}}]`,
			observed: `
    app:
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata:
          name: app-abc
          labels: {crossplane.io/composite: app, theirs: "1"}
          managedFields:
          - manager: apiextensions.crossplane.io/composed/abc
            operation: Apply
            fieldsV1:
              f:metadata: {f:labels: {f:crossplane.io/composite: {}}}
              f:spec: {f:providerConfigRef: {f:kind: {}, f:name: {}}, f:forProvider: {f:role: {}, f:unsafeVars: {f:size: {}}}}
          - {manager: provider, operation: Update, subresource: status, fieldsV1: {f:status: {f:atProvider: {}}}}
        spec:
          managementPolicies: ["*"]
          providerConfigRef: {kind: ClusterProviderConfig, name: default}
          forProvider: {role: a.b.c, unsafeVars: {size: 5}}
`,
			response: "desired:\n  composite: {ready: READY_FALSE}\n  resources:" + rendered("app", "unsafeVars: {size: 5}", "labels: {crossplane.io/composite: app}", "") +
				warned("FALSE", "ValueNotSet", "app: vars.size: xr.spec.size is not set; write xr.spec.?size if it may be missing"),
		},
		"StatusKept": {
			reason: "A status field without a value keeps its observed value. A field that is optional.none() is removed.",
			runs:   "[{name: database}]", spec: "size: 5",
			input: `
status:
  literal: text
  endpoint: "${runs.database.outputs.endpoint}"
  size: "${xr.spec.size}"
  gone: "${xr.spec.?gone}"
  new: "${runs.database.outputs.new}"
  nested: {port: "${runs.database.outputs.port}"}
`,
			status: `endpoint: "old:5432", gone: x, nested: {port: 1, other: 2}, theirs: 1`,
			more:   "desired: {composite: {resource: {status: {earlier: 1, nested: {earlier: 1}}}}}",
			want:   "database", said: "Running database: is running",
			shown: `{earlier: 1, literal: text, endpoint: "old:5432", size: 5, nested: {earlier: 1, port: 1}}`,
		},
		"NotWanted": {
			reason: "A run with a false when is skipped, and so is a run that needs it, but not a run with an optional reference.",
			runs: `
- {name: refers, vars: {x: "${runs.database.outputs.endpoint}"}}
- {name: app, vars: {x: "${runs.?database.outputs.endpoint.orValue(\"none\")}"}}
- {name: database, when: "${xr.spec.size > 5}"}`,
			input: `status: {endpoint: "${runs.database.outputs.endpoint}"}`, spec: "size: 5", status: `endpoint: "old:5432"`,
			observed: existing("database", "", "role: a.b.c"),
			response: "desired:\n  resources:" + rendered("app", "unsafeVars: {x: none}", "", "") +
				condition("FALSE", "Running", "app: is running\nSkipped:\nrefers: not wanted, for it refers to database, which is not wanted") +
				event("NORMAL", "RunsRemoved", "removing AnsibleRuns that are not wanted any more: database"),
		},
		"NameInUse": {
			reason:   "What has the name of a run, and is none, is not ours to keep: what we know of AnsibleRuns would empty it.",
			runs:     `[{name: database}, {name: app, vars: {data: "${runs.?database.?metadata.?name.orValue('none')}"}}]`,
			observed: "{database: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {a: b}}}}",
			said:     "InvalidValue database: name: the XR has a ConfigMap of this name; give the run another one\nDependencyNotReady:\napp: waiting for database",
		},
		"EarlierRuns": {
			reason: "An AnsibleRun of an earlier step is neither removed nor ordered by this step.",
			runs:   "[{name: other}]", observed: existing("database", "", "role: a.b.c") + existing("app", "database", "role: a.b.c"),
			earlier: "{database: {resource: {kind: AnsibleRun}}, app: {resource: {kind: AnsibleRun}}}",
			want:    "app, database, other", said: "Running other: is running",
		},
		"Moved": {
			reason: "A run with another scope than its AnsibleRun is held, since core would lose track of the old AnsibleRun.",
			runs:   "[{name: database}]", observed: existing("database", "", "role: a.b.c"), xr: "apiVersion: example.org/v1, kind: App, metadata: {name: app}",
			want: "database",
			said: "InvalidValue database: namespace: a run cannot move to another scope or namespace: one of another name would be created, and this one " +
				"removed with what it has made; give it onDelete: {policy: Keep} first",
		},
		"PassThrough": {
			reason: "The desired state and the context of earlier functions are passed on.",
			runs:   "[{name: app}]",
			more: `
meta: {tag: abc}
context: {a: 1}
desired:
  composite: {ready: READY_TRUE, connectionDetails: {a: YQ==}, resource: {status: {a: 1}}}
  resources: {theirs: {ready: READY_TRUE, resource: {kind: X}}}
`,
			response: "meta: {tag: abc}\ncontext: {a: 1}\n" + strings.Replace(one(""), "resources:", `composite: {ready: READY_TRUE, connectionDetails: {a: YQ==}, resource: {status: {a: 1}}}
  resources:
    theirs: {ready: READY_TRUE, resource: {kind: X}}`, 1),
		},
		"JinjaInValues": {
			reason: "Jinja2 from an XR is never in a place that Ansible templates.",
			runs:   `[{name: app, vars: {a: "${xr.spec.a}", b: "x-${xr.spec.a}", c: {d: [literal, "${xr.spec}"]}, e: "{{ a }}"}}]`,
			spec:   `a: "{{ lookup('pipe', 'id') }}", role: evil.role.name, playbookInline: "- hosts: all"`,
			response: one(`vars: {e: "{{ a }}"}, unsafeVars: {a: "{{ lookup('pipe', 'id') }}", b: "x-{{ lookup('pipe', 'id') }}",
            c: {d: [literal, {a: "{{ lookup('pipe', 'id') }}", role: evil.role.name, playbookInline: "- hosts: all"}]}}`),
		},
	})
}

// failing returns the status of an AnsibleRun that has failed, and is retried in some phases.
func failing(phase, message string) string {
	return `status:
          conditions: [{type: Ready, status: "False", reason: RunFailed, message: ` + quoted(message) + `, observedGeneration: 1}, {type: Synced, status: "True", observedGeneration: 1}]
          atProvider: {lastRun: {phase: ` + phase + `}}
`
}

// TestFailures checks that a failure has the message of Ansible, without parts that change at each attempt, and is an
// event only once.
func TestFailures(t *testing.T) {
	const (
		message  = "task \"Install\" failed on host \"web1\": No package\nmatching (and 1 more)"
		failure  = "database: task \"Install\" failed on host \"web1\": No package matching (and 1 more)"
		check    = `status: {conditions: [{type: Ready, status: "True", observedGeneration: 1}, {type: Synced, status: "False", observedGeneration: 1}], atProvider: {lastRun: {phase: Failed, message: "No\npackage"}}}`
		paused   = `status: {conditions: [{type: Synced, status: "False", reason: ReconcilePaused, observedGeneration: 1}]}`
		refused  = `status: {conditions: [{type: Ready, status: "False", reason: InputsChanged, observedGeneration: 1}, {type: Synced, status: "False", message: no Secret, observedGeneration: 1}], atProvider: {lastRun: {mode: Apply, phase: Failed, message: old}}}`
		awaiting = `status: {conditions: [{type: Ready, status: "False", reason: AwaitingApproval, message: "says\nwhy", observedGeneration: 1}]}`
	)

	elsewhere := strings.NewReplacer("matching", "matching /tmp/a8")

	cases := map[string]struct {
		reason, status string
		// before is the observed message of the XR.
		before, said string
		event        bool
	}{
		"Failed":      {reason: "A failure is a condition and an event.", status: failing("Failed", message), said: "RunFailed " + failure, event: true},
		"StillFailed": {reason: "A failure is an event only once.", status: failing("Failed", message), before: failure, said: "RunFailed " + failure},
		"FailedAgain": {
			reason: "A failure with another random path is not a new event.", status: failing("Failed", strings.Replace(message, "matching", "matching /tmp/xy", 1)),
			before: elsewhere.Replace(failure), said: "RunFailed " + elsewhere.Replace(failure),
		},
		"OtherFailure": {reason: "Another failure is a new event.", status: failing("Failed", message), before: "database: no disk", said: "RunFailed " + failure, event: true},
		"Check":        {reason: "A failed check is an event.", status: check, said: "RunFailed database: No package", event: true},
		"CheckOfNew":   {reason: "A failed check of inputs that are not applied is an event.", status: strings.Replace(refused, "Apply", "Check", 1), said: "RunFailed database: old", event: true},
		"Refused":      {reason: "A failure with other inputs does not hide a missing Secret.", status: refused, said: "ReconcileError database: no Secret", event: true},
		"Awaiting":     {reason: "A run that waits for an approval is not ready.", status: awaiting, said: "AwaitingApproval database: says why", event: true},
		"Paused":       {reason: "A paused run is not an error.", status: paused, said: "Paused database: is paused"},
		"Retried":      {reason: "The reason of a failure is known while the run is retried.", status: failing("Running", message), before: failure, said: "RunFailed " + failure},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := step{
				runs: "[{name: database}]", observed: aRun("database", tc.status),
				status: `conditions: [{type: AnsibleRunsReady, status: "False", reason: RunFailed, message: ` + quoted(tc.before) + `}]`,
			}.respond(t)

			if got := said(rsp); got != tc.said || len(rsp.GetResults()) > 0 != tc.event {
				t.Errorf("\n%s\nwant %q, an event: %t, got %q, %v", tc.reason, tc.said, tc.event, got, rsp.GetResults())
			}
		})
	}
}

// TestTTL checks that the TTL is short while the circuit breaker of core is open.
func TestTTL(t *testing.T) {
	cases := map[string]struct {
		reason     string
		conditions string
		want       time.Duration
	}{
		"Closed":        {reason: "With a closed circuit breaker the TTL is the default.", conditions: `{type: Responsive, status: "True"}`, want: response.DefaultTTL},
		"OldCrossplane": {reason: "Without the condition, before Crossplane v2.1, the TTL is the default.", want: response.DefaultTTL},
		"Open":          {reason: "With an open circuit breaker the TTL is short, since core hears neither of AnsibleRuns nor of changes of the XR.", conditions: `{type: Responsive, status: "False"}`, want: circuitTTL},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := step{runs: "[{name: app}]", status: "conditions: [" + tc.conditions + "]"}.respond(t)

			if got := rsp.GetMeta().GetTtl().AsDuration(); got != tc.want {
				t.Errorf("%s Want a TTL of %s, got %s; %v", tc.reason, tc.want, got, rsp.GetResults())
			}
		})
	}
}
