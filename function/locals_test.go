package main

import (
	"strings"
	"testing"
)

func TestLocals(t *testing.T) {
	cases := map[string]struct {
		reason string
		rendering
	}{
		"Everywhere": {
			reason: "A local is there wherever expressions are.",
			rendering: rendering{
				input: `
locals:
  fqdn: "${xr.metadata.name + '.' + xr.spec.domain}"
  big: "${xr.spec.size > 2}"
  names: ["${locals.fqdn}", other]
runs:
- name: app
  when: "${locals.big}"
  role: acme.app.server
  labels: {fqdn: "${locals.fqdn}"}
  vars: {names: "${locals.names}", size: "${xr.spec.size}"}
  inventories: [{yaml: {all: {hosts: "${locals.names}"}}}]
status: {fqdn: "${locals.fqdn}"}
`,
				spec: "domain: example.org, size: 3",
				want: strings.Replace(one(`unsafeVars: {names: [app.example.org, other], size: 3}, inventoryInline: "---\n\"all\":\n  \"hosts\":\n    \"app.example.org\": {}\n    \"other\": {}\n"`,
					`{labels: {fqdn: app.example.org}}`), "desired:\n", "desired:\n  composite: {resource: {status: {fqdn: app.example.org}}}\n", 1),
			},
		},
		"Crossplane": {
			reason: "What Crossplane adds to the XR's spec is no variable, also by another name.",
			rendering: rendering{
				input: `
locals: {parameters: "${xr.spec}", size: "${locals.parameters.size}"}
runs:
- name: app
  role: acme.app.server
  varsFrom: [{value: "${locals.parameters}"}, {value: "${ {'twice': locals.size * 2, 'known': has(locals.parameters.crossplane)} }"}]
  vars: {composition: "${xr.spec.crossplane.compositionRef.name}"}
`,
				spec: "size: 3, crossplane: {compositionRef: {name: x}}",
				want: one(`unsafeVars: {composition: x, known: false, size: 3, twice: 6}`),
			},
		},
		"NotSet": {
			reason: "What a local lacks holds the runs that use it, and says which local.",
			rendering: rendering{
				input: "locals: {fqdn: \"${xr.spec.domain}\"}\nruns: [{name: app, role: acme.app.server, vars: {a: \"${locals.fqdn}\"}}]\n",
				want:  held("ValueNotSet", "app: vars.a: locals.fqdn: xr.spec.domain is not set; write xr.spec.?domain if it may be missing"),
			},
		},
		"Failed": {
			reason: "The author of an XR reads what a Composition says of a value.",
			rendering: rendering{
				input: "runs: [{name: app, role: acme.app.server, vars: {size: \"${xr.spec.size > 9 ? fail('a size of ' + string(xr.spec.size) + ' is too large: at most 9') : xr.spec.size}\"}}]\n",
				spec:  "size: 12",
				want:  held("InvalidValue", "app: vars.size: a size of 12 is too large: at most 9"),
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { tc.check(t, tc.reason) })
	}
}

// A run that uses a local depends on the runs that the local refers to.
func TestLocalsOrder(t *testing.T) {
	const input = `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  locals: {endpoint: "${runs.database.outputs.endpoint}", url: "https://${locals.endpoint}/"}
  runs:
  - {name: app, role: acme.app.server, vars: {url: "${locals.url}"}}
  - {name: database, role: acme.db.server}
observed:
  composite: {resource: {apiVersion: example.org/v1, kind: App, metadata: {namespace: default, name: app}}}
`

	rsp := respond(t, request(t, input))

	if got := rsp.GetConditions()[0].GetMessage(); got != "database: is running\napp: waiting for database" {
		t.Errorf("want app to wait, got %q, %v", got, rsp.GetResults())
	}

	if _, ok := rsp.GetDesired().GetResources()["app"]; ok {
		t.Error("want no app before its database is ready")
	}
}

func TestLocalsInvalid(t *testing.T) {
	const input = `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  locals: {a: "${locals.b}", b: "${locals.a}", db: "${runs.app.a.outputs}", each: "${each.key}", "a-b": 1, in: 2}
  requiredResources: {net: {apiVersion: v1, kind: ConfigMap, matchName: "${locals.db.net}"}}
  runs:
  - {name: app, role: acme.app.server, forEach: [a], vars: {a: "${locals.c}", net: "${required.net.data}"}}
observed:
  composite: {resource: {apiVersion: example.org/v1, kind: App, metadata: {namespace: default, name: app}}}
`

	rsp := respond(t, request(t, input))

	got := rsp.GetResults()[0].GetMessage()
	for _, want := range []string{
		`locals.a: Invalid value: "${locals.b}": a local cannot depend on itself: a → b → a`,
		`locals.a-b: Invalid value: "a-b": the name of a local must be letters, digits and _`,
		`locals.in: Invalid value: "in": the name of a local`,
		`locals.each: Invalid value: "${each.key}": a local cannot use each, because a local is the same for all items`,
		`requiredResources.net.matchName: Forbidden: what is required cannot depend on runs`,
		`runs[0].vars.a: Invalid value: "${locals.c}": there is no local "c"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %s, got:\n%s", want, got)
		}
	}
}
