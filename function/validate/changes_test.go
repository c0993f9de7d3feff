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
		"None":      {reason: "The same run in another form is no change.", before: "{runs: [{name: a, role: x}]}", after: "{defaults: {role: x}, runs: [{name: a}]}"},
		"Create":    {reason: "A new run is created.", before: "{runs: [{name: a}]}", after: "{runs: [{name: a}, {name: b}]}", want: []string{"create b"}},
		"Remove":    {reason: "A run that is no longer in the input is removed.", before: "{runs: [{name: a}, {name: b}]}", after: "{runs: [{name: a}]}", want: []string{"remove b"}},
		"Retain":    {reason: "A run with prune: false stays, with its dependencies.", before: "{runs: [{name: a}, {name: b, dependsOn: [a], prune: false}, {name: c}]}", after: "{runs: [{name: d, role: y}]}", want: []string{"create d", "retain a", "retain b", "remove c"}},
		"Rename":    {reason: "A run with another name may be a mistake, so both are held.", before: "{runs: [{name: a, role: x, vars: {x: 1, z: '${xr.spec.z}'}}]}", after: "{runs: [{name: b, role: x, vars: {x: 1, z: '${xr.spec.y}'}}]}", want: []string{"hold b (may be a)"}},
		"New":       {reason: "A run with previousNames: [] replaces the old one.", before: "{runs: [{name: a, role: x}]}", after: "{runs: [{name: b, role: x, previousNames: []}]}", want: []string{"create b", "remove a"}},
		"Other":     {reason: "A run with another name and other content is a new one.", before: "{runs: [{name: a, role: x}]}", after: "{runs: [{name: b, role: y}]}", want: []string{"create b", "remove a"}},
		"Orphan":    {reason: "A new run is created at once if the deletion of the old one runs nothing.", before: "{runs: [{name: a, role: x, managementPolicies: [Observe]}]}", after: "{runs: [{name: b, role: x}]}", want: []string{"create b", "remove a"}},
		"Set":       {reason: "A set adopts members by previousNames.", before: "{runs: [{name: a, forEach: '${xr.spec.a}'}]}", after: "{runs: [{name: b, forEach: '${xr.spec.a}', previousNames: ['a[${each.key}]']}]}", want: []string{"adopt b (was a)"}},
		"SetByName": {reason: "The name of a set in previousNames is not that of a member.", before: "{runs: [{name: a, forEach: '${xr.spec.a}'}]}", after: "{runs: [{name: b, forEach: '${xr.spec.a}', previousNames: [a]}]}", want: []string{"hold b (may be a)"}},
		"Gather":    {reason: "A set adopts single runs as members.", before: "{runs: [{name: a-x}, {name: c, role: y}]}", after: "{runs: [{name: b, forEach: [x], previousNames: ['a-${each.key}']}]}", want: []string{"adopt b (was a-x)", "may remove b (forEach)", "remove c"}},
		"Adopt":     {reason: "A run adopts the one in its previousNames.", before: "{runs: [{name: a}]}", after: "{runs: [{name: b, previousNames: [a]}]}", want: []string{"adopt b (was a)"}},
		"AdoptAnew": {reason: "A run with other content adopts the one in its previousNames.", before: "{runs: [{name: a, role: x}]}", after: "{runs: [{name: b, role: y, previousNames: [a]}]}", want: []string{"adopt b (was a)", "run again b (role)"}},
		"NotTwice":  {reason: "A run that is still in the input is not adopted.", before: "{runs: [{name: a}]}", after: "{runs: [{name: a}, {name: b, previousNames: [a]}]}", want: []string{"create b"}},
		"Forget":    {reason: "A run that was renamed before keeps its first name in core, so a missing previous name may remove it.", before: "{runs: [{name: b, previousNames: [a]}]}", after: "{runs: [{name: c, previousNames: [b]}]}", want: []string{"adopt c (was b)", "may remove c (previousNames)"}},
		"ForgetAll": {reason: "A missing previous name of a run that keeps its name may remove it.", before: "{runs: [{name: b, previousNames: [a, 'x-${xr.metadata.name}'], vars: {x: 1}}]}", after: "{runs: [{name: b, vars: {x: 2}}]}", want: []string{"may remove b (previousNames, vars)"}},
		"PassOn":    {reason: "Another run may take a previous name.", before: "{runs: [{name: b, previousNames: [a, x]}]}", after: "{runs: [{name: a}, {name: b}, {name: c, previousNames: [x]}]}", want: []string{"create a", "create c"}},
		"Remember":  {reason: "Additional previous names remove nothing.", before: "{runs: [{name: b, previousNames: [a]}]}", after: "{runs: [{name: c, previousNames: [b, a]}]}", want: []string{"adopt c (was b)"}},
		"RunAgain":  {reason: "Changed inputs run the content again.", before: "{runs: [{name: a, vars: {x: 1}}]}", after: "{defaults: {limit: web}, runs: [{name: a, vars: {x: 2}}]}", want: []string{"run again a (limit, vars): hosts that it does not select any more stay as they are"}},
		"Update":    {reason: "Changes of other fields update the AnsibleRun only.", before: "{runs: [{name: a}]}", after: "{runs: [{name: a, forks: 3, labels: {a: b}, readyWhen: true}]}", want: []string{"update a (forks, labels, readyWhen)"}},
		"Removal":   {reason: "removal is not a part of an AnsibleRun.", before: "{runs: [{name: a, forEach: '${xr.spec.a}', removal: {atMost: 1}}]}", after: "{runs: [{name: a, forEach: '${xr.spec.a}', removal: {atMost: 2}}]}"},
		"Locals":    {reason: "A changed local changes only the runs that refer to it.", before: "{locals: {x: 1}, runs: [{name: a, vars: {x: '${locals.x}'}}, {name: b}]}", after: "{locals: {x: 2}, runs: [{name: a, vars: {x: '${locals.x}'}}, {name: b}]}", want: []string{"run again a (locals)"}},
		"When":      {reason: "A when may remove a run, which depends on the XR.", before: "{runs: [{name: a}]}", after: "{runs: [{name: a, when: '${xr.spec.a}'}]}", want: []string{"may remove a (when)"}},
		"Move":      {reason: "A run cannot move to another namespace.", before: "{runs: [{name: a}]}", after: "{runs: [{name: a, namespace: x}]}", want: []string{"hold a (namespace)"}},
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
