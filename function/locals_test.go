package main

import "testing"

func TestLocals(t *testing.T) {
	check(t, map[string]step{
		"Everywhere": {
			reason: "Locals can be used in all expressions.",
			locals: `fqdn: "${xr.metadata.name + '.' + xr.spec.domain}", big: "${xr.spec.size > 2}", names: ["${locals.fqdn}", other]`,
			runs:   `[{name: app, when: "${locals.big}", labels: {fqdn: "${locals.fqdn}"}, vars: {names: "${locals.names}"}, inventories: [{yaml: {all: {hosts: "${locals.names}"}}}]}]`,
			input:  `status: {fqdn: "${locals.fqdn}"}`, spec: "domain: example.org, size: 3",
			response: "desired:\n  composite: {resource: {status: {fqdn: app.example.org}}}\n  resources:" +
				rendered("app", `unsafeVars: {names: [app.example.org, other]}, inventoryInline: "---\n\"all\":\n  \"hosts\":\n    \"app.example.org\": {}\n    \"other\": {}\n"`,
					"labels: {fqdn: app.example.org}", "") + condition("FALSE", "Running", "app: is running"),
		},
		"Crossplane": {
			reason: "Fields of the spec that Crossplane adds do not become variables, even through a local.",
			locals: `parameters: "${xr.spec}", size: "${locals.parameters.size}"`,
			runs: `
- name: app
  varsFrom: [{value: "${locals.parameters}"}, {value: "${ {'twice': locals.size * 2, 'known': has(locals.parameters.crossplane)} }"}]
  vars: {composition: "${xr.spec.crossplane.compositionRef.name}"}`,
			spec: "size: 3, crossplane: {compositionRef: {name: x}}", response: one("unsafeVars: {composition: x, known: false, size: 3, twice: 6}"),
		},
		"NotSet": {
			reason: "A value that a local lacks holds the runs that use the local, and the message names the local.",
			locals: `fqdn: "${xr.spec.domain}"`, runs: `[{name: app, vars: {a: "${locals.fqdn}"}}]`,
			said: "ValueNotSet app: vars.a: locals.fqdn: xr.spec.domain is not set; write xr.spec.?domain if it may be missing",
		},
		"Failed": {
			reason: "A message of fail() in a local is shown to the author of an XR.",
			runs:   `[{name: app, vars: {size: "${xr.spec.size > 9 ? fail('a size of ' + string(xr.spec.size) + ' is too large: at most 9') : xr.spec.size}"}}]`,
			spec:   "size: 12", said: "InvalidValue app: vars.size: a size of 12 is too large: at most 9",
		},
		"Order": {
			reason: "A run that uses a local depends on the runs that the local refers to.",
			locals: `endpoint: "${runs.database.outputs.endpoint}", url: "https://${locals.endpoint}/"`,
			runs:   `[{name: app, vars: {url: "${locals.url}"}}, {name: database}]`,
			want:   "database", said: "Running database: is running\nDependencyNotReady:\napp: waiting for database",
		},
	})
}

func TestLocalsInvalid(t *testing.T) {
	step{
		locals: `a: "${locals.b}", b: "${locals.a}", db: "${runs.app.a.outputs}", each: "${each.key}", "a-b": 1, in: 2`,
		runs:   `[{name: app, forEach: [a], vars: {a: "${locals.c}", net: "${required.net.data}"}}]`,
		input:  `requiredResources: {net: {apiVersion: v1, kind: ConfigMap, matchName: "${locals.db.net}"}}`,
	}.mistakes(t,
		`locals.a: Invalid value: "${locals.b}": a local cannot depend on itself: a → b → a`,
		`locals.a-b: Invalid value: "a-b": the name of a local must be letters, digits and _`,
		`locals.in: Invalid value: "in": the name of a local`,
		`locals.each: Invalid value: "${each.key}": each is there only in a run with forEach, and in no local`,
		`requiredResources.net.matchName: Forbidden: what is required cannot depend on runs`,
		`runs[0].vars.a: Invalid value: "${locals.c}": there is no local "c"`,
	)
}
