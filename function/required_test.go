package main

import "testing"

func TestRequiredResources(t *testing.T) {
	const (
		required = `
requiredResources:
  network: {apiVersion: example.org/v1, kind: Network, matchName: "${xr.spec.network}"}
  subnets: {apiVersion: example.org/v1, kind: Subnet, matchLabels: {network: "${required.network.metadata.name}"}}
  settings: {apiVersion: v1, kind: ConfigMap, matchName: settings, namespace: platform}
`
		runs = `
- name: app
  vars: {subnets: "${required.subnets.map(s, s.spec.cidr)}", color: "${required.settings.data.color}", region: "${environment.region}", other: '${context["example.org/other"].a}'}`
		optional     = `requiredResources: {network: {apiVersion: example.org/v1, kind: Network, matchName: "${xr.spec.?network}"}}`
		optionalRuns = `[{name: app, vars: {a: "${required.?network.?metadata.?name.orValue(\"none\")}"}}]`

		needsNetwork = `
requirements:
  resources:
    network: {apiVersion: example.org/v1, kind: Network, matchName: net, namespace: default}
    settings: {apiVersion: v1, kind: ConfigMap, matchName: settings, namespace: platform}
`
		needsSubnets = needsNetwork + "    subnets: {apiVersion: example.org/v1, kind: Subnet, matchLabels: {labels: {network: net}}, namespace: default}\n"
		context      = "{apiextensions.crossplane.io/environment: {apiVersion: internal.crossplane.io/v1alpha1, kind: Environment, region: eu}, example.org/other: {a: 1}}"
		foundNetwork = `
required_resources:
  network: {items: [{resource: {apiVersion: example.org/v1, kind: Network, metadata: {name: net, namespace: default}}}]}
  settings: {items: [{resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: platform}, data: {color: blue}}}]}
`
		foundSubnets = foundNetwork + `
  subnets:
    items:
    - {resource: {apiVersion: example.org/v1, kind: Subnet, metadata: {name: b, namespace: default}, spec: {cidr: 10.0.1.0/24}}}
    - {resource: {apiVersion: example.org/v1, kind: Subnet, metadata: {name: a, namespace: default}, spec: {cidr: 10.0.0.0/24}}}
`
	)

	// pending is the response while the run is not created.
	pending := func(message string) string {
		return "desired: {composite: {ready: READY_FALSE}}" + condition("FALSE", "ValuePending", message) + "context: " + context
	}

	check(t, map[string]step{
		"FirstRound": {
			reason: "Resources are required with their selectors. A namespaced XR selects only from its own namespace.",
			runs:   runs, input: required, spec: "network: net", context: context,
			response: pending("app: requiredResources.subnets.matchLabels.network: required.network is not there yet") + needsNetwork,
		},
		"SecondRound": {
			reason: "A required resource can select further ones.",
			runs:   runs, input: required, spec: "network: net", context: context, more: foundNetwork,
			response: pending("app: vars.subnets: required.subnets is not there yet") + needsSubnets,
		},
		"Found": {
			reason: "Expressions see all required resources, the environment and the context. The context is passed on.",
			runs:   runs, input: required, spec: "network: net", context: context, more: foundSubnets,
			response: one("unsafeVars: {subnets: [10.0.0.0/24, 10.0.1.0/24], color: blue, region: eu, other: 1}") + "context: " + context + needsSubnets,
		},
		"Watched": {
			reason: "The name watched has a meaning only in Operations.",
			runs:   `[{name: app, vars: {color: "${required.watched.data.color}"}}]`, input: "requiredResources: {watched: {apiVersion: v1, kind: ConfigMap, matchName: settings}}",
			more: "required_resources: {watched: {items: [{resource: {data: {color: blue}}}]}}",
			want: "app", said: "Running app: is running",
		},
		"NotFound": {
			reason: "The message tells a missing resource from one that is not fetched yet.",
			runs:   runs, input: required, spec: "network: net", context: context, more: "required_resources: {network: {}, settings: {items: [{resource: {data: {color: blue}}}]}}",
			response: pending("app: required.network: there is no Network net in namespace default") + needsNetwork,
		},
		"NotSet": {
			reason: "A selector without a value is a problem of runs that need it, and not of runs with an optional reference.",
			runs:   `[{name: app, vars: {a: "${required.?network.?metadata.?name}", b: "${required.network.metadata.name}"}}]`,
			input:  `requiredResources: {network: {apiVersion: example.org/v1, kind: Network, matchName: "${xr.spec.network}"}}`,
			said:   "ValueNotSet app: requiredResources.network.matchName: xr.spec.network is not set; write xr.spec.?network if it may be missing",
		},
		"Optional": {
			reason: "A run does not wait for a resource with an optional reference.",
			runs:   optionalRuns, input: optional, response: one("unsafeVars: {a: none}"),
		},
		"Unset": {
			reason: "A resource that is not selected any more does not exist, although core still sends it.",
			runs:   optionalRuns, input: optional, more: "required_resources: {network: {items: [{resource: {metadata: {name: net}}}]}}", response: one("unsafeVars: {a: none}"),
		},
		"Gone": {
			reason: "An existing run stays as it is when a required resource is deleted.",
			runs:   `[{name: app, vars: {size: "${required.network.spec.size}"}}]`, input: "requiredResources: {network: {apiVersion: example.org/v1, kind: Network, matchName: net}}",
			observed: existing("app", "", "role: a.b.c"), more: "required_resources: {network: {}}", want: "app", said: "ValuePending app: required.network: there is no Network net",
		},
	})
}
