package main

import (
	"strings"
	"testing"
)

const inputRequired = `
requiredResources:
  network: {apiVersion: example.org/v1, kind: Network, matchName: "${xr.spec.network}"}
  subnets: {apiVersion: example.org/v1, kind: Subnet, matchLabels: {network: "${required.network.metadata.name}"}}
  settings: {apiVersion: v1, kind: ConfigMap, matchName: settings, namespace: platform}
runs:
- name: app
  role: acme.app.server
  vars:
    subnets: "${required.subnets.map(s, s.spec.cidr)}"
    color: "${required.settings.data.color}"
    region: "${environment.region}"
    other: '${context["example.org/other"].a}'
`

const (
	needsNetwork = `
requirements:
  resources:
    network: {apiVersion: example.org/v1, kind: Network, matchName: net, namespace: default}
    settings: {apiVersion: v1, kind: ConfigMap, matchName: settings, namespace: platform}
`
	needsSubnets = needsNetwork + `
    subnets: {apiVersion: example.org/v1, kind: Subnet, matchLabels: {labels: {network: net}}, namespace: default}
`
	contextAll = `
context:
  apiextensions.crossplane.io/environment: {apiVersion: internal.crossplane.io/v1alpha1, kind: Environment, region: eu}
  example.org/other: {a: 1}
`
	foundNetwork = `
required_resources:
  network: {items: [{resource: {apiVersion: example.org/v1, kind: Network, metadata: {name: net, namespace: default}}}]}
  settings: {items: [{resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: platform}, data: {color: blue}}}]}
`
)

// pending is the response when one run is not created yet.
func pending(message string) string {
	return strings.Split(held("ValuePending", message), "results:")[0]
}

func TestRequiredResources(t *testing.T) {
	cases := map[string]struct {
		reason string
		rendering
	}{
		"FirstRound": {
			reason: "What can be selected is asked for, in the XR's own namespace where the XR chooses.",
			rendering: rendering{
				input: inputRequired, spec: `network: net`, observed: contextAll,
				want: pending("app: requiredResources.subnets.matchLabels.network: required.network is not there yet") + contextAll + needsNetwork,
			},
		},
		"SecondRound": {
			reason: "What is found selects more.",
			rendering: rendering{
				input: inputRequired, spec: `network: net`, observed: contextAll + foundNetwork,
				want: pending("app: vars.subnets: required.subnets is not there yet") + contextAll + needsSubnets,
			},
		},
		"Found": {
			reason: "All of it can be used, beside the environment and what other functions put into the context, which goes on to those that follow.",
			rendering: rendering{
				input: inputRequired, spec: `network: net`,
				observed: contextAll + foundNetwork + `
  subnets:
    items:
    - {resource: {apiVersion: example.org/v1, kind: Subnet, metadata: {name: b, namespace: default}, spec: {cidr: 10.0.1.0/24}}}
    - {resource: {apiVersion: example.org/v1, kind: Subnet, metadata: {name: a, namespace: default}, spec: {cidr: 10.0.0.0/24}}}
`,
				want: one("unsafeVars: {subnets: [10.0.0.0/24, 10.0.1.0/24], color: blue, region: eu, other: 1}") + contextAll + needsSubnets,
			},
		},
		"Watched": {
			reason: "Only in Operations this name means something of its own.",
			rendering: rendering{
				input: `
requiredResources:
  watched: {apiVersion: v1, kind: ConfigMap, matchName: settings, namespace: platform}
runs:
- name: app
  role: acme.app.server
  vars: {color: "${required.watched.data.color}"}
`,
				spec: `network: net`, observed: "\nrequired_resources: {watched: {items: [{resource: {data: {color: blue}}}]}}\n",
				want: one("unsafeVars: {color: blue}") + `
requirements:
  resources:
    watched: {apiVersion: v1, kind: ConfigMap, matchName: settings, namespace: platform}
`,
			},
		},
		"NotFound": {
			reason: "What does not exist is told from what was not fetched yet.",
			rendering: rendering{
				input: inputRequired, spec: `network: net`,
				observed: contextAll + "\nrequired_resources: {network: {}, settings: {items: [{resource: {data: {color: blue}}}]}}\n",
				want:     pending("app: required.network: there is no Network net in namespace default") + contextAll + needsNetwork,
			},
		},
		"NotSet": {
			reason: "A selector whose value is not set says so where it is needed, and not where it may be missing.",
			rendering: rendering{
				input: `
requiredResources:
  network: {apiVersion: example.org/v1, kind: Network, matchName: "${xr.spec.network}"}
runs:
- {name: app, role: acme.app.server, vars: {a: "${required.?network.?metadata.?name}", b: "${required.network.metadata.name}"}}
`,
				want: held("ValueNotSet", "app: requiredResources.network.matchName: xr.spec.network is not set; write xr.spec.?network if it may be missing"),
			},
		},
		"Optional": {
			reason: "A reference that asks whether it is there does not wait.",
			rendering: rendering{
				input: `
requiredResources:
  network: {apiVersion: example.org/v1, kind: Network, matchName: "${xr.spec.?network}"}
runs:
- {name: app, role: acme.app.server, vars: {a: "${required.?network.?metadata.?name.orValue(\"none\")}"}}
`,
				want: one("unsafeVars: {a: none}"),
			},
		},
		"Unset": {
			reason: "What is not selected any more is not there, although core sends along what was selected in the last reconcile.",
			rendering: rendering{
				input: `
requiredResources:
  network: {apiVersion: example.org/v1, kind: Network, matchName: "${xr.spec.?network}"}
runs:
- {name: app, role: acme.app.server, vars: {a: "${required.?network.?metadata.?name.orValue(\"none\")}"}}
`,
				observed: "\nrequired_resources: {network: {items: [{resource: {metadata: {name: net}}}]}}\n",
				want:     one("unsafeVars: {a: none}"),
			},
		},
		"Gone": {
			reason: "A run that exists stays as it is when what it requires is gone.",
			rendering: rendering{
				input: `
requiredResources:
  network: {apiVersion: example.org/v1, kind: Network, matchName: net}
runs:
- {name: database, runPolicy: RunOnChange, role: acme.postgres.server, vars: {size: "${required.network.spec.size}"}}
`,
				observed: "required_resources: {network: {}}\nobserved:\n  resources:\n    database:" + observedRun + readyStatus,
				want: `
desired:
  composite: {ready: READY_FALSE}
  resources:
    database:` + appliedDatabase + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: ValuePending, message: "database: required.network: there is no Network net", target: TARGET_COMPOSITE_AND_CLAIM}
requirements: {resources: {network: {apiVersion: example.org/v1, kind: Network, matchName: net}}}
`,
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { tc.check(t, tc.reason) })
	}
}
