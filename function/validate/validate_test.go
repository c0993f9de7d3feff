package validate

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestFiles(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  string
		inputs int
		// want are the warnings and the mistakes.
		want []string
	}{
		"Valid": {"Inputs of other functions are not looked at.", "composition.yaml", 1, nil},
		"Mistakes": {
			"All mistakes are found, each on its line of the file.",
			"mistakes.yaml", 1,
			[]string{
				`mistakes.yaml:54: runs[0].vars.title: Invalid value: "${xr.spek.title}": xr has no field "spek" (did you mean "spec"?), here: xr▸.spek.title`,
				`mistakes.yaml:58: runs[0].vars.nested.my.key[1]: Invalid value: "${nobody}": undeclared reference to 'nobody', here: ▸nobody`,
				"mistakes.yaml:60: runs[0].conection: Forbidden: there is no such field",
				`mistakes.yaml:62: status.uri: Forbidden: the XRD does not declare this field (did you mean "url"?)`,
				`mistakes.yaml:63: status.pages[0].nam: Forbidden: the XRD does not declare this field (did you mean "name"?)`,
			},
		},
		"Composed": {
			"What other steps compose is known where they say so, and typed with its CRD.",
			"composed.yaml", 2,
			[]string{
				`composed.yaml:43: runs[0].vars.misspelt: Invalid value: "${resources.machine.status.adress}": resources.machine.status has no field "adress" (did you mean "address"?), here: resources.machine.status▸.adress`,
				`composed.yaml:44: runs[0].vars.nobody: Invalid value: "${resources.machina.status.address}": no step composes a resource "machina" (did you mean "machine"?), here: resources▸.machina.status.address`,
			},
		},
		"Written": {
			"What is written as elsewhere, or as before, is one mistake, which says how it is written here.",
			"written.yaml", 1,
			[]string{
				"written.yaml:15: runs[0].inventory: Forbidden: there is no such field: write inventories: [{yaml: …}], [{inline: …}] or [{path: …}]",
				"written.yaml:18: runs[1].inventoryInline: Forbidden: there is no such field: write inventories: [{yaml: …}], [{inline: …}] or [{path: …}]",
			},
		},
		"Typed": {
			"With the XRD, expressions are checked against its schema.",
			"composition.yaml typed.yaml", 2,
			[]string{
				`typed.yaml:15: runs[0].when: Invalid value: "${xr.spec.title}": must be true, false, or an expression that is one of them`,
				`typed.yaml:17: runs[0].vars.title: Invalid value: "${xr.spec.titel}": xr.spec has no field "titel" (did you mean "title"?), here: xr.spec▸.titel`,
				`typed.yaml:19: runs[0].vars.wrong: Invalid value: "${xr.spec.title + 1}": found no matching overload for '_+_' applied to '(string, int)', here: xr.spec.title ▸+ 1`,
				`typed.yaml:22: runs[0].vars.nested.list[0]: Invalid value: "${xr.spec.?sise}": xr.spec has no field "sise" (did you mean "size"?), here: xr.spec▸.?sise`,
			},
		},
		"Types": {
			"What can never be of the type that it has to be is found without an XR.",
			"types.yaml", 2,
			[]string{
				`types.yaml:76: requiredResources.network.matchName: Invalid value: "${xr.spec.size}": must be of type string, and is of type integer; write string(…) around it`,
				`types.yaml:77: requiredResources.unused: Forbidden: no expression refers to required.unused`,
				`types.yaml:78: requiredResources.unused.matchLabels[a]: Invalid value: "${xr.spec.active}": must be of type string, and is of type boolean; write string(…) around it`,
				`types.yaml:81: runs[0].forEach: Invalid value: "${xr.spec.title}": must be a map, a list, or an expression that is one of them`,
				`types.yaml:83: runs[1].forEach: Invalid value: "${xr.spec.users}": is a list of type object, which needs forEachKey`,
				`types.yaml:86: runs[2].forEachKey: Invalid value: "${xr.spec.titel}": xr.spec has no field "titel" (did you mean "title"?), here: xr.spec▸.titel`,
				`types.yaml:89: runs[3].forEachKey: Invalid value: "${each.key == 'a'}": must be of type string or integer or number, and is of type boolean`,
				`types.yaml:91: runs[4].when: Invalid value: "${xr.spec.?size}": must be true, false, or an expression that is one of them`,
				`types.yaml:92: runs[4].labels[size]: Invalid value: "${xr.spec.size}": must be of type string, and is of type integer; write string(…) around it`,
				`types.yaml:95: runs[4].varsFrom[0].include[1]: Unsupported value: "width": supported values: "depth", "wide"`,
				`types.yaml:96: runs[4].varsFrom[1].value: Invalid value: "${xr.spec.zones}": must be of type object, and is of type array`,
				`types.yaml:97: runs[4].varFiles[0].secretKeyRef.name: Invalid value: "${xr.spec.secret}": must be of type string, and is of type object`,
				`types.yaml:99: runs[4].inventories[0].yaml.all.hosts: Invalid value: "${xr.spec.title}": must be of type object or array, and is of type string`,
				`types.yaml:99: runs[4].inventories[0].yaml.all.vars: Invalid value: "${xr.spec.zones}": must be of type object, and is of type array`,
				`types.yaml:102: runs[5].varsFrom[0]: Forbidden: "hostvars" cannot be the name of a variable: it has a meaning to Ansible; exclude it`,
				`types.yaml:102: runs[5].varsFrom[1]: Forbidden: "q" cannot be the name of a variable: it has a meaning to Ansible; exclude it`,
				`types.yaml:104: runs[5].vars.fase: Invalid value: "${runs.other.lastRun.fase}": runs.other.lastRun has no field "fase" (did you mean "phase"?), here: runs.other.lastRun▸.fase`,
				`types.yaml:105: runs[5].vars.failed: Invalid value: "${runs.other.lastRun.hosts.failed + 'x'}": found no matching overload for '_+_' applied to '(int, string)', here: runs.other.lastRun.hosts.failed ▸+ 'x'`,
				`types.yaml:106: runs[5].vars.condition: Invalid value: "${runs.other.status.conditions[0].typ}": undefined field 'typ', here: runs.other.status.conditions[0]▸.typ`,
				`types.yaml:108: status.url: Invalid value: "${xr.spec.zones}": must be of type string, as the XRD says, and is of type array`,
				`types.yaml:109: status.size: Invalid value: "${xr.spec.active}": must be of type integer, as the XRD says, and is of type boolean`,
				`types.yaml:110: status.active: Invalid value: "${xr.spec.size > 1 ? 1 : 2}": must be of type boolean, as the XRD says, and is of type integer`,
				`types.yaml:111: status.color: Invalid value: "green": does not fit the XRD: Unsupported value: "green": supported values: "red", "blue"`,
				`types.yaml:113: status.users[0].nick: Forbidden: the XRD does not declare this field`,
				`types.yaml:113: status.users[1]: Invalid value: "${xr.spec.title}": must be of type object, as the XRD says, and is of type string`,
				`types.yaml:114: status.tuning.depth: Invalid value: "${xr.spec.active}": must be of type integer, as the XRD says, and is of type boolean`,
				`types.yaml:115: status.unknown: Forbidden: the XRD does not declare this field`,
				`types.yaml:117: connectionDetails[0].value: Invalid value: "${xr.spec.size}": must be of type string, and is of type integer; write string(…) around it`,
			},
		},
		"WholeStatus": {
			"A status is fields, or one expression that is an object.",
			"status.yaml", 8,
			[]string{
				`status.yaml:38: status: Invalid value: "there": must be fields, or an expression that is an object`,
				`status.yaml:40: status: Invalid value: "at ${runs.server3.outputs.status}": must be of type object, and is of type string`,
				`status.yaml:42: status: Invalid value: "${xr.spec.title}": must be of type object, and is of type string`,
				`status.yaml:44: status: Invalid value: "array": must be of type object, and is of type array`,
				"status.yaml:46: status: Invalid value: null: must be fields, or an expression that is an object",
				`status.yaml:48: status: Invalid value: "${runs.sever.outputs.merge(xr.spec.tunnig)}": there is no run "sever" (did you mean "server"?), here: runs▸.sever.outputs.merge(xr.spec.tunnig)`,
				`status.yaml:48: status: Invalid value: "${runs.sever.outputs.merge(xr.spec.tunnig)}": xr.spec has no field "tunnig" (did you mean "tuning"?), here: runs.sever.outputs.merge(xr.spec▸.tunnig)`,
			},
		},
		"Untyped": {"Without the XRD, the XR may have any field.", "typed.yaml", 1, nil},
		"ScopeUnknown": {
			"Without the XRD, what is right for one of the scopes is right. A step of our group is meant for us, whatever its kind.",
			"cluster.yaml", 2,
			[]string{
				`cluster.yaml:18: kind: Invalid value: "AnsibleRun": the input must be of apiVersion ansible.fn.crossplane.io/v1alpha1, kind AnsibleRuns`,
			},
		},
		"ScopeCluster": {
			"XRDs of the old API are cluster-scoped.",
			"cluster.yaml xrd-v1.yaml", 2,
			[]string{
				`cluster.yaml:18: kind: Invalid value: "AnsibleRun": the input must be of apiVersion ansible.fn.crossplane.io/v1alpha1, kind AnsibleRuns`,
			},
		},
		"ScopeNamespaced": {
			"XRDs of the new API are namespaced.",
			"xrd-namespaced.yaml cluster.yaml", 2,
			[]string{
				"cluster.yaml:14: runs[0].namespace: Forbidden: the runs of a namespaced XR are in its own namespace",
				`cluster.yaml:18: kind: Invalid value: "AnsibleRun": the input must be of apiVersion ansible.fn.crossplane.io/v1alpha1, kind AnsibleRuns`,
			},
		},
		"SecretNowhere": {
			"The Secret of a cluster-scoped run has its namespace from the Composition.",
			"nowhere.yaml xrd-v1.yaml", 1,
			[]string{
				"nowhere.yaml:9: connectionSecret.namespace: Required value: the cluster-scoped run site has a Secret for the connection details that an expression reads, and that Secret needs a namespace",
			},
		},
		"NoSuchVersion": {
			"A Composition that no XR will ever use is a mistake.",
			"cluster.yaml xrd-v2.yaml", 2,
			[]string{
				`cluster.yaml:6: spec.compositeTypeRef: the XRD of Site in group example.org has no version "v1", only v2`,
				`cluster.yaml:18: kind: Invalid value: "AnsibleRun": the input must be of apiVersion ansible.fn.crossplane.io/v1alpha1, kind AnsibleRuns`,
			},
		},
		"NoSuchKind": {
			"A Composition that none of the XRDs is for cannot be checked against them.",
			"cluster.yaml xrd-page.yaml", 2,
			[]string{
				"cluster.yaml:6: spec.compositeTypeRef: no XRD in these files defines Site in group example.org",
				`cluster.yaml:18: kind: Invalid value: "AnsibleRun": the input must be of apiVersion ansible.fn.crossplane.io/v1alpha1, kind AnsibleRuns`,
			},
		},
		"NoType": {
			"A Composition that says of no XRs that it is for them is told so.",
			"none.yaml xrd-page.yaml", 0,
			[]string{
				"none.yaml:1: Composition none has no input of function-ansible",
				"none.yaml:5: spec.compositeTypeRef: must have an apiVersion and a kind",
			},
		},
		"NoInput": {
			"A Composition without an input for us is said to be one.",
			"none.yaml", 0,
			[]string{
				"none.yaml:1: Composition none has no input of function-ansible",
			},
		},
		"Operations": {
			"What an Operation cannot have is found, too, in the kinds that make Operations as well. An XRD has nothing to do with them.",
			"operations.yaml xrd-namespaced.yaml", 3,
			[]string{
				"operations.yaml:72: Operation other has no input of function-ansible",
				`operations.yaml:42: runs[0].vars.store: Invalid value: "${xr.spec.store}": there is no XR in an Operation, here: ▸xr.spec.store`,
				`operations.yaml:44: runs[1].rol: Forbidden: there is no such field (did you mean "role"?)`,
				"operations.yaml:46: runs[1].dependsOn: Forbidden: nothing is waited for in an Operation; make one run of them, with roles or playbooks",
				`operations.yaml:48: runs[1].vars.file: Invalid value: "${runs.dumpAll.outputs.file}": there are no observed runs in an Operation, here: ▸runs.dumpAll.outputs.file`,
				"operations.yaml:49: status: Forbidden: there is no XR in an Operation",
				`operations.yaml:70: runs[0].vars.a: Invalid value: "${1 +}": syntax error: it ends too early, here: 1 +▸`,
			},
		},
		"NotYAML": {
			"What cannot be read is a mistake; the documents beside it are read.",
			"broken.yaml", 0,
			[]string{
				`broken.yaml:5: this is not YAML: unmarshal errors: line 5: key "b" already set in map`,
				"broken.yaml:7: this is not a Kubernetes object",
				"broken.yaml:12: this is not YAML: line 12: did not find expected node content",
			},
		},
		"Refused": {
			"What the API server would refuse is found, where it was written, whatever is computed.",
			"refused.yaml", 1,
			[]string{
				`refused.yaml:5: defaults.managementPolicies[1]: Unsupported value: "Upate": supported values: "Observe", "Create", "Update", "Delete", "LateInitialize", "*"`,
				`refused.yaml:11: runs[0].managementPolicies[1]: Unsupported value: "Upate": supported values: "Observe", "Create", "Update", "Delete", "LateInitialize", "*"`,
				`refused.yaml:17: runs[2].inventories[0].secretKeyRef.name: Invalid value: "a b": cannot be the name of an object`,
				"refused.yaml:20: runs[3].roles: Forbidden: must be a list",
				`refused.yaml:26: runs[4].roles[1]: Forbidden: must be a string or an object {name, src, version}: json: unknown field "sorce"`,
				`refused.yaml:32: runs[5].providerConfigRef.name: Invalid value: "My_Config": cannot be the name of an object`,
				`refused.yaml:35: runs[5].varFiles[0].secretKeyRef.name: Invalid value: "a b": cannot be the name of an object`,
				"refused.yaml:41: runs[6].varFiles[0].secretKeyRef.nme: Forbidden: there is no such field (did you mean \"name\"?)",
			},
		},
		"RefusedUnknownScope": {"What is right for one of the scopes is right.", "refused-scope.yaml", 1, nil},
		"RefusedNamespaced": {
			"What is wrong in the scope of the XRD is not.",
			"refused-scope.yaml xrd-namespaced.yaml", 1,
			[]string{
				"refused-scope.yaml:19: runs[0].namespace: Forbidden: the runs of a namespaced XR are in its own namespace",
			},
		},
		"Playbooks": {
			"Playbooks that Ansible would refuse are found, on the lines of their fields.",
			"playbooks.yaml", 1,
			[]string{
				"playbooks.yaml:16: runs[0].playbookInline: a playbook must be a list of plays",
				"playbooks.yaml:20: runs[1].playbookInline: a playbook must be a list of plays",
				"playbooks.yaml:22: runs[2].playbookInline: the playbook is not YAML: line 1: did not find expected '-' indicator",
				"playbooks.yaml:33: runs[4].onDelete.playbookInline: a playbook must be a list of plays",
			},
		},
		"Items": {
			"What forEach goes through says what its items are.",
			"items.yaml", 1,
			[]string{
				`items.yaml:67: runs[3].forEachKey: Invalid value: "${each.value.nmae}": each.value has no field "nmae" (did you mean "name"?), here: each.value▸.nmae`,
				`items.yaml:68: runs[3].when: Invalid value: "${each.value.age}": must be true, false, or an expression that is one of them`,
				`items.yaml:69: runs[3].labels[age]: Invalid value: "${each.value.age}": must be of type string, and is of type integer; write string(…) around it`,
				`items.yaml:70: runs[3].varsFrom[0].include[0]: Unsupported value: "nmae": supported values: "admin", "age", "keys", "name", "share"`,
				`items.yaml:72: runs[3].vars.id: Invalid value: "${each.value.keys.map(k, k.di)}": undefined field 'di', here: each.value.keys.map(k, k▸.di)`,
				`items.yaml:73: runs[3].vars.index: Invalid value: "${each.value['nmae']}": each.value has no field "nmae" (did you mean "name"?), here: each.value▸['nmae']`,
				`items.yaml:77: runs[4].vars.lead: Invalid value: "${each.value.laed}": each.value has no field "laed" (did you mean "lead"?), here: each.value▸.laed`,
				`items.yaml:78: runs[4].vars.first: Invalid value: "${each.value.users[0].nmae}": undefined field 'nmae', here: each.value.users[0]▸.nmae`,
				`items.yaml:81: runs[5].vars.name: Invalid value: "${each.value + 1}": found no matching overload for '_+_' applied to '(string, int)', here: each.value ▸+ 1`,
			},
		},
		"Ours": {
			"What is a step of ours, or looks like one, has an input for us; and each misspelt name is one mistake.",
			"ours.yaml", 5,
			[]string{
				"ours.yaml:30: spec.pipeline[4]: warning: function-auto-ready comes before a step of function-ansible: it makes nothing ready that later steps compose; put it last",
				`ours.yaml:13: apiVersion: Invalid value: "ansible.fn.crossplane.oi/v1alpha1": the input must be of apiVersion ansible.fn.crossplane.io/v1alpha1, kind AnsibleRuns`,
				`ours.yaml:20: kind: Invalid value: "AnsibleRun": the input must be of apiVersion ansible.fn.crossplane.io/v1alpha1, kind AnsibleRuns`,
				`ours.yaml:25: apiVersion: Invalid value: "ansible.fn.crossplane.io/v1": the input must be of apiVersion ansible.fn.crossplane.io/v1alpha1, kind AnsibleRuns`,
				"ours.yaml:27: kind: Invalid value: null: the input must be of apiVersion ansible.fn.crossplane.io/v1alpha1, kind AnsibleRuns",
				`ours.yaml:40: defaults.timout: Forbidden: there is no such field (did you mean "timeout"?)`,
				`ours.yaml:41: defaults.playbok: Forbidden: there is no such field (did you mean "playbook"?)`,
				`ours.yaml:44: runs[1].nmae: Forbidden: there is no such field (did you mean "name"?)`,
				`ours.yaml:45: runs[1].rol: Forbidden: there is no such field (did you mean "role"?)`,
				`ours.yaml:47: runs[2].dependsOn[0]: Invalid value: "frist": there is no such run (did you mean "first"?)`,
				`ours.yaml:48: runs[2].varFiles[0].configMapKeyRef.nam: Forbidden: there is no such field (did you mean "name"?)`,
				`ours.yaml:49: runs[2].templated[0]: Invalid value: "ab": there is no such variable in vars (did you mean "abc"?)`,
			},
		},
		"Warnings": {
			"A run that is held when another one is not wanted is named, unless it asks, or is not wanted either, or the other one always is.",
			"warnings.yaml", 1,
			[]string{
				"warnings.yaml:9: runs[2]: warning: held refers to maybe, which has a when: once maybe is not wanted, this run is not created, or stays as it is; write runs.?maybe with .?… and orValue(…) if it can do without, or give it the same when",
			},
		},
		"StateIgnored": {
			"A playbook that is the whole content, and does not look at the state, is named: deletion runs nothing, and what was made stays.",
			"state.yaml", 1,
			[]string{
				"state.yaml:4: runs[0]: warning: ignores: ansible_provider_meta does not occur in the playbooks, roles and variables, so that deletion runs nothing, and what was made stays: have them look at the state, or say in onDelete what deletion does",
				"state.yaml:6: runs[1]: warning: ignoresVariable: neither ansible_provider_meta nor wanted occurs in the playbooks, roles and variables, so that deletion runs nothing, and what was made stays: have them look at the state, or say in onDelete what deletion does",
			},
		},
		"InputAlone": {
			"An input can stand alone, as in documentation.",
			"input.yaml", 1,
			[]string{
				`input.yaml:6: runs[0].role: Invalid value: "${xr.spec.role}": this field is literal, it cannot hold an expression; pass the value in vars, or write $${ for the text ${`,
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var files []File

			for f := range strings.FieldsSeq(tc.files) {
				files = append(files, File{Name: f, Content: []byte(needs.Read(t, filepath.Join("testdata", f)))})
			}

			result := Files(files...)

			var got []string
			for _, m := range append(result.Warnings, result.Mistakes...) {
				got = append(got, m.String())
			}

			if diff := cmp.Diff(tc.want, got); diff != "" || result.Inputs != tc.inputs {
				t.Errorf("\n%s\nFiles(...): %d inputs; -want, +got:\n%s", tc.reason, result.Inputs, diff)
			}
		})
	}
}
