package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// What is said has an order, that of the input or that of names: the same request has
// the same response, byte by byte, or an XR would never come to rest.
func TestStable(t *testing.T) {
	const spec = `hosts: {"-a": 1, "b c": 2, "$": 3, d: {ansible_host: "-o"}, e: {x: "${"}}, bad: {a-b: 1, c.d: 2, "e f": 3, hostvars: 4}, list: [{a: 1}, {b: 2}, 3]`

	cases := map[string]struct {
		reason, input, observed, more string
		// many are parts of what is said, in any order.
		many []string
	}{
		"Mistakes": {
			reason: "Mistakes of a Composition.",
			input: `
locals: {b: "${locals.a}", a: "${locals.b}", "not-a-name": 1, also.none: 2}
requiredResources:
  z: {apiVersion: v1, kind: ConfigMap, matchLabels: {a: "${xr.spek}", b: "${nobody}"}}
  y: {apiVersion: v1, kind: ConfigMap, matchName: "${required.z}"}
  x: {apiVersion: v1, kind: ConfigMap}
runs:
- {name: a, rolle: a.b.c, when: 1, dependsOn: [b, nobody, nobody], vars: {a: "${x}", b: "${y}", c: "${z}", hostvars: 1, "no-name": 2}, labels: {b: "${1 + 1}", a: "${2}"}}
- {name: b, role: a.b.c, dependsOn: [a], forEach: "${1}", tags: [1], limit: "${2}", timeout: x, managementPolicies: [Nothing]}
- {name: b, playbookInline: "- {hosts: all", varsFrom: [{value: x, include: [a], exclude: [b]}], inventories: [{yaml: {all: {hosts: {"-a": {}, "b c": {}}, nothing: {}}}}]}
status: {b: "${x}", a: "${y}", conditions: 1}
conditions: [{type: Ready, status: "${x}"}, {type: A, status: 1, reason: "a b"}]
connectionDetails: [{name: b, value: "${x}"}, {name: b, value: "${1}"}]
`,
			many: []string{"runs[0].rolle", "requiredResources.x", "locals", "status.a", "conditions[0]"},
		},
		"Values": {
			reason: "Values that are missing or cannot be used.",
			input: `
defaults: {role: a.b.c}
runs:
- {name: a, vars: {c: "${xr.spec.c}", b: "${xr.spec.b}", a: "${xr.spec.a}"}, labels: {z: "${xr.spec.z}", x: "${xr.spec.x}"}, tags: ["${xr.spec.t}", "${xr.spec.s}"], limit: "${xr.spec.l}"}
- {name: b, varsFrom: [{value: "${xr.spec.bad}"}]}
- {name: c, inventories: [{yaml: {all: {hosts: "${xr.spec.hosts}"}}}]}
- {name: d, forEach: "${xr.spec.list}", forEachKey: "${each.value.a}"}
- {name: e, forEach: "${xr.spec.hosts}", vars: {x: "${each.value.nothing}"}}
status: {c: "${xr.spec.c}", b: "${xr.spec.b}", a: "${runs.a.outputs.a}"}
conditions: [{type: B, status: "${xr.spec.b == 1}"}, {type: A, status: "${runs.a.outputs.a == 1}"}]
connectionDetails: [{name: b, value: "${xr.spec.b}"}, {name: a, value: "${runs.a.connectionDetails.a}"}]
`,
			observed: "{}",
			many:     []string{"a: vars.c", "a: labels.z", "b: ", "c: inventories", "d: forEach", "e: forEach"},
		},
		"Required": {
			reason: "What is required, and what other steps compose.",
			input: `
defaults: {role: a.b.c}
requiredResources:
  c: {apiVersion: v1, kind: ConfigMap, matchName: c}
  b: {apiVersion: v1, kind: ConfigMap, matchLabels: {z: "${xr.spec.z}", w: "${xr.spec.w}", x: " "}}
  a: {apiVersion: v1, kind: ConfigMap, matchName: "${xr.spec.name}"}
runs:
- {name: a, vars: {a: "${required.a.data.x}", b: "${required.b[0].data.x}", c: "${required.c.data.x}"}}
- {name: b, vars: {a: "${resources.z.data.x}", b: "${resources.y.data.x}", c: '${resources[xr.metadata.name + ","].data.x}'}}
`,
			observed: "{}",
			many:     []string{"a: requiredResources.a", "a: requiredResources.b.matchLabels.w", "b: waiting for resource y, which is not there yet, resource z"},
		},
		"Removed": {
			reason: "What is not wanted any more.",
			input: `
defaults: {role: a.b.c}
runs:
- {name: zone, forEach: [x], removal: {atMost: 0}}
- {name: area, forEach: [x], removal: {atMost: 0}}
- {name: disk, forEach: [x]}
- {name: db, previousNames: ["sql", "database"], vars: {a: 1}}
- {name: new, vars: {b: 1}}
- {name: later, vars: {c: "${xr.spec.nothing}"}}
`,
			observed: existing("zone[c]", "", "role: a.b.c") + existing("zone[b]", "", "role: a.b.c") + existing("zone[a]", "", "role: a.b.c") +
				existing("area[c]", "", "role: a.b.c") + existing("area[b]", "", "role: a.b.c") + existing("disk[a]", "", "role: a.b.c") + existing("disk[b]", "", "role: a.b.c") +
				existing("sql", "", "role: a.b.c") + existing("database", "", "role: a.b.c") + existing("old", "base", "role: a.b.c, vars: {b: 1}") + existing("older", "base", "role: a.b.c, unsafeVars: {c: 1}") +
				existing("base", "", "role: a.b.c") + existing("oldest", "base,older", "role: a.b.c, unsafeVars: {c: 2}"),
			many: []string{"zone: 3 of 3 would", "area: 2 of 2 would", "the XR has sql and database"},
		},
		"Violations": {
			reason: "What does not fit the XRD: the validators of the API server have an order of their own, each time.",
			input: `
runs: [{name: server, role: a.b.c}]
status: {one: {low: "${3}", high: "${2}"}, two: {low: "${3}", high: "${2}"}, whole: "${{'low': 3, 'high': 2}}"}
`,
			more: schemaOf(`status: {type: object, properties: {
  one: &rule {type: object, x-kubernetes-validations: [{rule: self.low <= self.high, message: low must not be above high}], properties: {low: {type: integer}, high: {type: integer}}},
  two: *rule, whole: {type: object, properties: {low: {type: integer, maximum: 1}, high: {type: integer, maximum: 1}}}}}`),
			observed: existing("server", "", "role: a.b.c"),
			many:     []string{"status.one: does not fit the XRD: Invalid value: low must not be above high", "status.two: does not fit", "status.whole: does not fit"},
		},
		"Operation": {
			reason: "What Operations say.",
			input: `
defaults: {role: a.b.c}
requiredResources:
  c: {apiVersion: v1, kind: ConfigMap, matchName: c}
runs:
- {name: c, vars: {a: '${fail("c")}', b: '${fail("b")}'}}
- {name: b, vars: {a: '${fail("b")}'}}
- {name: a, forEach: [e, d, c], vars: {a: '${fail(each.key)}'}}
`,
			more: "required_resources: {c: {items: [{resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}}]}}",
			many: []string{"a[c]: vars.a: c", "a[d]: vars.a: d", "a[e]: vars.a: e"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := step{input: tc.input, spec: spec, annotations: "ansible.fn.crossplane.io/allow-removal: zone=1", observed: tc.observed, more: tc.more}.request(t)
			if name == "Operation" {
				req.Observed = nil
			}

			var first *fnv1.RunFunctionResponse

			for range 20 {
				got := respond(t, proto.CloneOf(req))

				if first == nil {
					first = got
				}

				if diff := cmp.Diff(first, got, protocmp.Transform()); diff != "" {
					t.Fatalf("\n%s\n-first, +other:\n%s", tc.reason, diff)
				}
			}

			for _, part := range tc.many {
				if !strings.Contains(first.String(), strings.ReplaceAll(part, `"`, `\"`)) {
					t.Errorf("\n%s\nwant %q, got\n%s\n%v", tc.reason, part, first.GetConditions(), first.GetResults())
				}
			}
		})
	}
}
