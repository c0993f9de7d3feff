package validate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestChanges(t *testing.T) {
	cases := map[string]struct {
		reason        string
		before, after string
		want          []string
	}{
		"None":      {reason: "What is written otherwise may be the same.", before: "{runs: [{name: a, role: x}]}", after: "{defaults: {role: x}, runs: [{name: a}]}"},
		"Create":    {reason: "A new run is created.", before: "{runs: [{name: a}]}", after: "{runs: [{name: a}, {name: b}]}", want: []string{"create b"}},
		"Remove":    {reason: "One that is gone is removed.", before: "{runs: [{name: a}, {name: b}]}", after: "{runs: [{name: a}]}", want: []string{"remove b"}},
		"Retain":    {reason: "One with prune: false stays, with what it depends on.", before: "{runs: [{name: a}, {name: b, dependsOn: [a], prune: false}, {name: c}]}", after: "{runs: [{name: d, role: y}]}", want: []string{"create d", "retain a", "retain b", "remove c"}},
		"Rename":    {reason: "Another name may be a mistake: both are held.", before: "{runs: [{name: a, role: x, vars: {x: 1, z: '${xr.spec.z}'}}]}", after: "{runs: [{name: b, role: x, vars: {x: 1, z: '${xr.spec.y}'}}]}", want: []string{"hold b (may be a)"}},
		"New":       {reason: "Unless the run is said to be new.", before: "{runs: [{name: a, role: x}]}", after: "{runs: [{name: b, role: x, previousNames: []}]}", want: []string{"create b", "remove a"}},
		"Other":     {reason: "Or has other content.", before: "{runs: [{name: a, role: x}]}", after: "{runs: [{name: b, role: y}]}", want: []string{"create b", "remove a"}},
		"Orphan":    {reason: "Or nothing is removed with the old one.", before: "{runs: [{name: a, role: x, managementPolicies: [Observe]}]}", after: "{runs: [{name: b, role: x}]}", want: []string{"create b", "remove a"}},
		"Set":       {reason: "A set adopts members by their names.", before: "{runs: [{name: a, forEach: '${xr.spec.a}'}]}", after: "{runs: [{name: b, forEach: '${xr.spec.a}', previousNames: ['a[${each.key}]']}]}", want: []string{"adopt b (was a)"}},
		"SetByName": {reason: "The name of the set is that of no member.", before: "{runs: [{name: a, forEach: '${xr.spec.a}'}]}", after: "{runs: [{name: b, forEach: '${xr.spec.a}', previousNames: [a]}]}", want: []string{"hold b (may be a)"}},
		"Gather":    {reason: "Runs may become a set.", before: "{runs: [{name: a-x}, {name: c, role: y}]}", after: "{runs: [{name: b, forEach: [x], previousNames: ['a-${each.key}']}]}", want: []string{"adopt b (was a-x)", "may remove b (forEach)", "remove c"}},
		"Adopt":     {reason: "Or says that it was the other one.", before: "{runs: [{name: a}]}", after: "{runs: [{name: b, previousNames: [a]}]}", want: []string{"adopt b (was a)"}},
		"AdoptAnew": {reason: "It may have other inputs.", before: "{runs: [{name: a, role: x}]}", after: "{runs: [{name: b, role: y, previousNames: [a]}]}", want: []string{"adopt b (was a)", "run again b (role)"}},
		"NotTwice":  {reason: "What is still there is not adopted.", before: "{runs: [{name: a}]}", after: "{runs: [{name: a}, {name: b, previousNames: [a]}]}", want: []string{"create b"}},
		"Forget":    {reason: "One that was renamed before keeps its first name.", before: "{runs: [{name: b, previousNames: [a]}]}", after: "{runs: [{name: c, previousNames: [b]}]}", want: []string{"adopt c (was b)", "may remove c (previousNames)"}},
		"ForgetAll": {reason: "So does one that keeps its name.", before: "{runs: [{name: b, previousNames: [a, 'x-${xr.metadata.name}'], vars: {x: 1}}]}", after: "{runs: [{name: b, vars: {x: 2}}]}", want: []string{"may remove b (previousNames, vars)"}},
		"PassOn":    {reason: "Another run may have the name.", before: "{runs: [{name: b, previousNames: [a, x]}]}", after: "{runs: [{name: a}, {name: b}, {name: c, previousNames: [x]}]}", want: []string{"create a", "create c"}},
		"Remember":  {reason: "More names remove nothing.", before: "{runs: [{name: b, previousNames: [a]}]}", after: "{runs: [{name: c, previousNames: [b, a]}]}", want: []string{"adopt c (was b)"}},
		"RunAgain":  {reason: "Other inputs run it again.", before: "{runs: [{name: a, vars: {x: 1}}]}", after: "{defaults: {limit: web}, runs: [{name: a, vars: {x: 2}}]}", want: []string{"run again a (limit, vars): hosts that it does not select any more stay as they are"}},
		"Update":    {reason: "What is none does not.", before: "{runs: [{name: a}]}", after: "{runs: [{name: a, forks: 3, labels: {a: b}, readyWhen: true}]}", want: []string{"update a (forks, labels, readyWhen)"}},
		"Removal":   {reason: "What limits removals is not in an AnsibleRun.", before: "{runs: [{name: a, forEach: '${xr.spec.a}', removal: {atMost: 1}}]}", after: "{runs: [{name: a, forEach: '${xr.spec.a}', removal: {atMost: 2}}]}"},
		"Locals":    {reason: "Locals matter to those that refer to them.", before: "{locals: {x: 1}, runs: [{name: a, vars: {x: '${locals.x}'}}, {name: b}]}", after: "{locals: {x: 2}, runs: [{name: a, vars: {x: '${locals.x}'}}, {name: b}]}", want: []string{"run again a (locals)"}},
		"When":      {reason: "What is wanted the XR decides.", before: "{runs: [{name: a}]}", after: "{runs: [{name: a, when: '${xr.spec.a}'}]}", want: []string{"may remove a (when)"}},
		"Move":      {reason: "No run can move.", before: "{runs: [{name: a}]}", after: "{runs: [{name: a, namespace: x}]}", want: []string{"hold a (namespace)"}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			read := func(text string) []map[string]any {
				in := map[string]any{"apiVersion": v1alpha1.APIVersion, "kind": v1alpha1.KindAnsibleRuns}
				needs.OK(t, yaml.Unmarshal([]byte(text), &in))

				return []map[string]any{in}
			}

			var got []string
			for _, c := range changesOf(read(tc.before), read(tc.after)) {
				got = append(got, c.String())
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nchangesOf(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
