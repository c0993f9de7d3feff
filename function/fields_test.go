package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A rendering is a request, short: runs and more of an input, the XR's spec, and
// what else was observed. Without a condition, one run, app, is running.
type rendering struct {
	input string
	spec  string
	// observed resources, and what else a request has.
	observed string
	want     string
}

func (r rendering) check(t *testing.T, reason string) {
	t.Helper()

	req := request(t, "{observed: {composite: {resource: {apiVersion: example.org/v1, kind: App, metadata: {namespace: default, name: app}}}}}")

	more := request(t, "meta: {}\n"+r.observed)
	req.Observed.Resources = more.GetObserved().GetResources()
	req.RequiredResources = more.GetRequiredResources()
	req.Context = more.GetContext()
	req.Desired = more.GetDesired()

	xr := request(t, "observed: {composite: {resource: {spec: {"+r.spec+"}}}}")
	req.Observed.Composite.Resource.Fields["spec"] = xr.GetObserved().GetComposite().GetResource().GetFields()["spec"]

	in := request(t, "input:\n  apiVersion: ansible.fn.crossplane.io/v1alpha1\n  kind: AnsibleRuns\n"+indent(r.input, "  "))
	req.Input = in.GetInput()

	want := &fnv1.RunFunctionResponse{}
	fromYAML(t, r.want, want)
	withDefaults(want)

	got := respond(t, req)

	withDefaults(got)

	// The schema of the XR may be asked for, too.
	if len(got.GetRequirements().GetResources()) == 0 {
		got.Requirements = nil
	}

	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("\n%s\nf.RunFunction(...): -want rsp, +got rsp:\n%s", reason, diff)
	}
}

func indent(s, by string) string {
	return by + strings.ReplaceAll(strings.Trim(s, "\n"), "\n", "\n"+by)
}

// one run that is running, with what is in its spec and its metadata.
func one(parameters string, more ...string) string {
	metadata, spec := "{}", ""
	if len(more) > 0 {
		metadata = more[0]
	}

	if len(more) > 1 {
		spec = more[1]
	}

	return `
desired:
  resources:
    app:
      ready: READY_FALSE
      resource:
        apiVersion: ansible.m.crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata: ` + metadata + `
        spec:
          providerConfigRef: {kind: ClusterProviderConfig, name: default}
          forProvider: {role: acme.app.server, ` + parameters + `}
` + indent(spec, "          ") + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: Running, message: "app: is running", target: TARGET_COMPOSITE_AND_CLAIM}
`
}

// held is the response when one run is not created.
func held(reason, message string) string {
	return `
desired: {composite: {ready: READY_FALSE}}
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: ` + reason + `, message: ` + quoted(message) + `, target: TARGET_COMPOSITE_AND_CLAIM}
results:
- {severity: SEVERITY_WARNING, reason: ` + reason + `, message: ` + quoted(message) + `, target: TARGET_COMPOSITE_AND_CLAIM}
`
}

// removing is the result when runs are removed, by their composition resource names.
func removing(names string) string {
	return "\n- {severity: SEVERITY_NORMAL, reason: RunsRemoved, message: \"removing AnsibleRuns that are not wanted any more: " + names + "\", target: TARGET_COMPOSITE_AND_CLAIM}\n"
}

func TestFields(t *testing.T) {
	cases := map[string]struct {
		reason string
		rendering
	}{
		"VarsFrom": {
			reason: "The fields of objects become variables that are never templated, the last object strongest, vars stronger.",
			rendering: rendering{
				input: `
runs:
- name: app
  role: acme.app.server
  vars: {size: 1, gone: "${xr.spec.?unset}", computed: "${xr.spec.a.b}"}
  varsFrom:
  - {value: "${xr.spec}", exclude: [more]}
  - {value: "${xr.spec.more}", keys: SnakeCase, include: [maxSize, a]}
  - {value: "${xr.spec.?none}"}
`,
				spec: `size: 9, gone: x, computed: y, a: {b: 2}, text: "{{ x }}", more: {maxSize: {minSize: [{oneTwo: 3}]}, a: 5, left: out}, crossplane: {compositionRef: {name: x}}, resourceRefs: []`,
				want: one(`vars: {size: 1}, unsafeVars: {resourceRefs: [], a: 5, computed: 2, text: "{{ x }}", max_size: {min_size: [{one_two: 3}]}}`),
			},
		},
		"OnDelete": {
			reason: "What deletion does is of one piece: that of a run takes the place of that of the defaults.",
			rendering: rendering{
				input: `
defaults: {onDelete: {policy: Keep}}
runs:
- name: app
  role: acme.app.server
  onDelete: {role: acme.app.cleanup, tags: [all]}
`,
				want: one(`onDelete: {role: acme.app.cleanup, tags: [all]}`),
			},
		},
		"OnDeleteOfDefaults": {
			reason: "The defaults say it for runs that do not.",
			rendering: rendering{
				input: "defaults: {onDelete: {policy: Keep}}\nruns: [{name: app, role: acme.app.server}]\n",
				want:  one(`onDelete: {policy: Keep}`),
			},
		},
		"VarsFromSpelling": {
			reason: "What is left out is left out however it is spelt.",
			rendering: rendering{
				input: `
runs:
- name: app
  role: acme.app.server
  varsFrom:
  - {value: "${xr.spec.a}", keys: SnakeCase, exclude: [dbAdmin]}
  - {value: "${xr.spec.b}", keys: SnakeCase, exclude: [db_admin, VIP]}
  - {value: "${xr.spec.c}", keys: SnakeCase, include: [max_size]}
  - {value: "${xr.spec.d}", keys: SnakeCase, exclude: [a_1_b2c3]}
  - {value: "${{'d1e2f3': 5, 'other': 6}}", keys: SnakeCase, include: [d_1_e2f3]}
`,
				spec: `a: {dbAdmin: x, db_admin: x, "db-admin": x, a: 1}, b: {dbAdmin: x, VIP: x, VIPs: 2}, c: {maxSize: 3, min_size: 4}, d: {a1b2c3: x}`,
				want: one(`unsafeVars: {a: 1, _v_ips: 2, max_size: 3, d_1_e2f3: 5}`),
			},
		},
		"Templated": {
			reason: "A platform team may let Ansible template what an XR says.",
			rendering: rendering{
				input: `
runs:
- name: app
  role: acme.app.server
  templated: [a, ansible_connection]
  vars: {a: "{{ x }} ${xr.spec.a}", b: "${xr.spec.a}", ansible_connection: "${xr.spec.a}"}
`,
				spec: `a: "{{ y }}"`,
				want: one(`vars: {a: "{{ x }} {{ y }}", ansible_connection: "{{ y }}"}, unsafeVars: {b: "{{ y }}"}`),
			},
		},
		"Metadata": {
			reason: "Labels, annotations and names of objects in the XR's namespace can be computed.",
			rendering: rendering{
				input: `
runs:
- name: app
  role: acme.app.server
  labels: {team: "${xr.spec.team}", fixed: a, none: "${xr.spec.?none}"}
  annotations: {crossplane.io/external-name: "app-${xr.metadata.name}", literal: "$${x}"}
  managementPolicies: [Observe, Create]
  varFiles:
  - {source: SecretKey, secretKeyRef: {name: "${xr.spec.secret}", key: "$${key}"}}
  - {source: Secret, secretRef: {name: "${xr.spec.secret}-all"}}
  - {source: ConfigMapKey, configMapKeyRef: {name: mine, key: a}, variable: b}
`,
				spec: `team: blue, secret: mine`,
				want: one("varFiles: [{source: SecretKey, secretKeyRef: {name: mine, key: \"${key}\"}}, "+
					"{source: Secret, secretRef: {name: mine-all}}, {source: ConfigMapKey, configMapKeyRef: {name: mine, key: a}, variable: b}]",
					`{labels: {team: blue, fixed: a}, annotations: {crossplane.io/external-name: app-app, literal: "${x}"}}`,
					"managementPolicies: [Observe, Create]"),
			},
		},
		"Project": {
			reason: "An XR may choose among the versions and the inventories of a project that the run allows.",
			rendering: rendering{
				input: `
defaults:
  project: {src: "https://git.example.org/all.git", version: v1}
runs:
- name: app
  role: acme.app.server
  allowed: {project.version: [main, "v1.*"], inventories.path: ["inventories/*"]}
  project: {src: "https://git.example.org/site.git", version: "${xr.spec.?version.orValue('v1.0.0')}", path: web}
  inventories: [{path: "inventories/${xr.spec.stage}"}, {path: more}]
`,
				spec: `stage: production, version: v1.4.0`,
				want: one(`project: {src: "https://git.example.org/site.git", version: v1.4.0, path: web}, inventories: [{source: Project, path: inventories/production}, {source: Project, path: more}]`),
			},
		},
		"Inventories": {
			reason: "An AnsibleRun has references, of which names can be computed, and a text in fields of their own.",
			rendering: rendering{
				input: `
runs:
- {name: app, role: acme.app.server, inventories: [{secretKeyRef: {name: "${xr.metadata.name}-a", key: b}}, {configMapKeyRef: {name: c, key: d}}, {inline: h}]}
`,
				want: one(`inventories: [{source: Secret, secretRef: {name: app-a, key: b}}, {source: ConfigMapKey, configMapKeyRef: {name: c, key: d}}], inventoryInline: h`),
			},
		},
		"InventoryScript": {
			reason: "A script is run, and what looks like an expression is its own.",
			rendering: rendering{
				input: "runs: [{name: app, role: acme.app.server, inventories: [{script: 'echo $${HOSTS}'}]}]",
				want:  one(`inventoryInline: "echo ${HOSTS}", executableInventory: true`),
			},
		},
		"Env": {
			reason: "Values of the environment, and names of the Secrets that have them, can be computed.",
			rendering: rendering{
				input: `
runs:
- name: app
  role: acme.app.server
  env:
  - {name: REGION, value: "${xr.spec.region}"}
  - {name: ANSIBLE_FORKS, value: "10"}
  - {name: PASSWORD, valueFrom: {secretKeyRef: {name: "${xr.spec.region}", key: password}}}
`,
				spec: `region: eu`,
				want: one(`env: [{name: REGION, value: eu}, {name: ANSIBLE_FORKS, value: "10"}, {name: PASSWORD, valueFrom: {secretKeyRef: {name: eu, key: password}}}]`),
			},
		},
		"ProjectElsewhere": {
			reason: "No value of an XR leads to another directory, whatever is allowed.",
			rendering: rendering{
				input: `
runs:
- {name: app, role: acme.app.server, allowed: {inventories.path: ["inventories/*"]}, project: {src: "https://git.example.org/site.git"}, inventories: [{path: "inventories/${xr.spec.stage}"}]}
`,
				spec: `stage: ".."`,
				want: held("InvalidValue", `app: inventories[0].path: must be letters, digits and the characters _.+/- without . and .. between slashes, and is "inventories/.."`),
			},
		},
		"Playbook": {
			reason: "An XR may choose a playbook.",
			rendering: rendering{
				input: `
defaults: {allowed: {playbook: [site.yml]}}
runs:
- {name: app, playbook: "${xr.spec.play}.yml", allowed: {playbook: [site.yml, upgrade.yml]}, project: {src: "https://git.example.org/site.git"}}
`,
				spec: `play: upgrade`,
				want: strings.Replace(one(`playbook: upgrade.yml, project: {src: "https://git.example.org/site.git"}`), "role: acme.app.server, ", "", 1),
			},
		},
		"Playbooks": {
			reason: "It may choose several, here of a collection.",
			rendering: rendering{
				input: `
runs:
- {name: app, playbooks: [acme.app.site, "acme.app.${xr.spec.play}"], allowed: {playbooks: ["acme.app.*"]}}
`,
				spec: `play: upgrade`,
				want: strings.Replace(one(`playbooks: [acme.app.site, acme.app.upgrade]`), "role: acme.app.server, ", "", 1),
			},
		},
		"PlaybookElsewhere": {
			reason: "A path means nothing without a project, and the API server would refuse it.",
			rendering: rendering{
				input: `
runs:
- {name: app, playbook: "${xr.spec.play}", allowed: {playbook: ["*"]}}
`,
				spec: `play: site.yml`,
				want: held("InvalidValue", `app: playbook: "site.yml" is a path, which needs project, the repository that has it`),
			},
		},
		"RoleVersion": {
			reason: "An XR may choose the version of a role, and not the same for another one.",
			rendering: rendering{
				input: `
runs:
- {name: app, roles: [acme.base, {name: acme.app, src: "https://git.example.org/app.git", version: "${xr.spec.version}"}], allowed: {roles.version: ["release/v?"], project.version: ["*"]}}
`,
				spec: `version: release/v2`,
				want: strings.Replace(one(`roles: [acme.base, {name: acme.app, src: "https://git.example.org/app.git", version: release/v2}]`), "role: acme.app.server, ", "", 1),
			},
		},
		"ProviderConfig": {
			reason: "An XR may choose among the ProviderConfigs of its namespace.",
			rendering: rendering{
				input: `
runs:
- {name: app, role: acme.app.server, providerConfigRef: {kind: ProviderConfig, name: "${xr.spec.config}"}}
`,
				spec: `config: mine`,
				want: strings.Replace(one(""), "kind: ClusterProviderConfig, name: default", "kind: ProviderConfig, name: mine", 1),
			},
		},
		"Stored": {
			reason: "What the provider would write otherwise is rendered as the provider writes it: it would look changed.",
			rendering: rendering{
				input: "runs: [{name: app, role: acme.app.server, timeout: 20m, tags: [], skipTags: [a], verbosity: 0, forks: 5, varFiles: [{source: SecretKey, secretKeyRef: {name: a, key: b}, optional: false}]}]\n",
				want:  one(`timeout: 20m0s, skipTags: [a], verbosity: 0, forks: 5, varFiles: [{source: SecretKey, secretKeyRef: {name: a, key: b}}]`),
			},
		},
		"StoredComputed": {
			reason: "So is what is computed.",
			rendering: rendering{
				input: "runs: [{name: app, role: acme.app.server, timeout: '${xr.spec.timeout}'}]\n",
				spec:  "timeout: 90m",
				want:  one(`timeout: 1h30m0s`),
			},
		},
		"HostMap": {
			reason: "The hosts of an XR have the addresses that it says.",
			rendering: rendering{
				input: `
runs:
- name: app
  role: acme.app.server
  inventories:
  - yaml:
      all:
        hosts: "${xr.spec.hosts.transformMapEntry(i, h, {h.name: {'ansible_host': h.address, 'ansible_port': h.?port.orValue(22)}})}"
`,
				spec: `hosts: [{name: a, address: 10.0.0.1, port: 2222}, {name: b, address: b.example.org}]`,
				want: one(`inventoryInline: "---\n\"all\":\n  \"hosts\":\n    \"a\":\n      \"ansible_host\": \"10.0.0.1\"\n      \"ansible_port\": 2222\n    \"b\":\n      \"ansible_host\": \"b.example.org\"\n      \"ansible_port\": 22\n"`),
			},
		},
		"HostInGroups": {
			reason: "A computed host may be in several groups, with the same variables or without any.",
			rendering: rendering{
				input: `
locals: {hosts: "${xr.spec.hosts}"}
runs:
- name: app
  role: acme.app.server
  inventories:
  - yaml:
      a: {hosts: "${locals.hosts}"}
      b: {hosts: "${locals.hosts}"}
      c: {hosts: "${xr.spec.names}"}
      d: {hosts: ["${xr.spec.names[0]}"]}
`,
				spec: `hosts: {h: {size: 1}}, names: [n1]`,
				want: one(`inventoryInline: "` + strings.NewReplacer("\"", "\\\"", "\n", "\\n").Replace(`---
"a":
  "hosts":
    "h":
      "size": 1
"b":
  "hosts":
    "h":
      "size": 1
"c":
  "hosts":
    "n1": {}
"d":
  "hosts":
    "n1": null
`) + `"`),
			},
		},
		"InventoryBeside": {
			reason: "Where hosts may come from elsewhere, the provider is told which names are computed. Literal ones may be there, too.",
			rendering: rendering{
				input: `
runs:
- name: app
  role: acme.app.server
  inventories:
  - secretKeyRef: {name: infra, key: hosts}
  - yaml:
      infra: {vars: {size: 1}, hosts: {gateway: {size: "${xr.spec.size}"}}}
      nodes: {hosts: [gateway, "${xr.spec.name}"], children: "${xr.spec.groups}"}
`,
				spec: `size: 2, name: n1, groups: {racks: {hosts: [n2]}}`,
				want: one(`inventories: [{source: Secret, secretRef: {name: infra, key: hosts}}], inventoryInline: "` +
					strings.NewReplacer("\"", "\\\"", "\n", "\\n").Replace(`---
"inventory":
  "infra":
    "hosts":
      "gateway":
        "size": 2
    "vars":
      "size": 1
  "nodes":
    "children":
      "racks":
        "hosts":
          "n2": {}
    "hosts":
      "gateway": null
      "n1": null
"names": ["n1", "n2", "racks"]
"plugin": "crossplane.ansible.computed"
`) + `"`),
			},
		},
		"InventoryLiteral": {
			reason: "Without a computed name it is an inventory like others.",
			rendering: rendering{
				input: "runs: [{name: app, role: acme.app.server, project: {src: 'https://git.example.org/a.git'}, inventories: [{yaml: {all: {hosts: {a: {size: '${xr.spec.size}'}}}}}]}]\n",
				spec:  `size: 2`,
				want:  one(`project: {src: 'https://git.example.org/a.git'}, inventoryInline: "---\n\"all\":\n  \"hosts\":\n    \"a\":\n      \"size\": 2\n"`),
			},
		},
		"Inventory": {
			reason: "What is literal in an inventory is templated; what is computed is not.",
			rendering: rendering{
				input: `
runs:
- name: app
  role: acme.app.server
  inventories:
  - yaml:
      all:
        vars: {literal: "{{ x }}", text: "${xr.spec.text}", user: "${xr.spec.user}"}
        hosts:
          web1: {ansible_host: "${xr.spec.address}", ansible_port: "${xr.spec.port}", tree: {a: ["${xr.spec.text}", 1.5], b: "${xr.spec.text}"}}
          web2:
        children:
          listed: {hosts: "${xr.spec.names}"}
          mapped: "${xr.spec.group}"
`,
				spec: `user: root, address: "fe80::1", port: 2222, text: "{{ é😀\u007f }}", names: [a.example.org, b-1], group: {hosts: {c: {size: 1, "sure": "yes", ansible_host: c.example.org, ansible_port: 22, ansible_user: 'EXAMPLE\c', ansible_password: "{{ c }}"}}, children: {inner: null}, vars: {v: true}}`,
				want: one(`inventoryInline: "` + strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "\n", "\\n").Replace(`---
"all":
  "children":
    "listed":
      "hosts":
        "a.example.org": {}
        "b-1": {}
    "mapped":
      "children":
        "inner": {}
      "hosts":
        "c":
          "ansible_host": "c.example.org"
          "ansible_password": !unsafe "{{ c }}"
          "ansible_port": 22
          "ansible_user": !unsafe "EXAMPLE\\c"
          "size": 1
          "sure": "yes"
      "vars":
        "v": true
  "hosts":
    "web1":
      "ansible_host": "fe80::1"
      "ansible_port": 2222
      "tree": {? "a" : [!unsafe "{{ \u00e9\U0001f600\u007f }}", 1.5], ? "b" : !unsafe "{{ \u00e9\U0001f600\u007f }}"}
    "web2": {}
  "vars":
    "literal": "{{ x }}"
    "text": !unsafe "{{ \u00e9\U0001f600\u007f }}"
    "user": "root"
`) + `"`),
			},
		},
		"DependsOn": {
			reason: "A run waits for those that it names, and not for one that is not wanted.",
			rendering: rendering{
				input: `
defaults: {role: acme.app.server}
runs:
- {name: app, dependsOn: [later, database]}
- {name: later, when: "${xr.spec.later}"}
- {name: database, runPolicy: RunOnChange, role: acme.postgres.server, vars: {size: "${xr.spec.size}"}}
`,
				spec:     `size: 5, later: false`,
				observed: "\nobserved:\n  resources:\n    database:" + observedRun + "\n",
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
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.check(t, tc.reason)
		})
	}
}

// quoted is a string in JSON, which is YAML.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}

	return string(b)
}

// TestNotAllowed has XRs that ask for another version than those that are allowed.
func TestNotAllowed(t *testing.T) {
	const (
		commit = `%q may be a commit, which no pattern allows; to allow it, list it in allowed for project.version`
		listed = "0123456789abcdef0123456789abcdef01234567"
	)

	cases := map[string]struct {
		reason, version, want string
	}{
		"Version":     {reason: "Another version is none of them.", version: "v2.0.0", want: `"v2.0.0" is not allowed; allowed for project.version is main, v1.*, 1*, *-g*, ` + listed},
		"Hash":        {reason: "A commit may be that of any fork.", version: "1234567890abcdef1234567890abcdef12345678", want: commit},
		"Abbreviated": {reason: "Git takes a hash of 4 digits.", version: "1aBc", want: commit},
		"Described":   {reason: "Git resolves what follows -g.", version: "v1.0-gabcd", want: commit},
		"Listed":      {reason: "A commit that is listed as it is has been chosen by the Composition.", version: listed},
		"Tag":         {reason: "What git cannot take for a commit follows the patterns.", version: "1.4-graph"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := step{
				defaults: `project: {src: "https://git.example.org/site.git", version: "${xr.spec.version}"}, ` +
					`allowed: {project.version: [main, "v1.*", "1*", "*-g*", "` + listed + `"]}`,
				runs: "[{name: app}]", spec: "version: " + quoted(tc.version),
				observed: existing("app", "", `role: a.b.c, project: {src: "https://git.example.org/site.git", version: v1.4.0}`),
			}.respond(t)

			stays, said := "v1.4.0", "app: project.version: "+strings.Replace(tc.want, "%q", quoted(tc.version), 1)
			if tc.want == "" {
				stays, said = tc.version, ""
			}

			app := rsp.GetDesired().GetResources()["app"].GetResource().AsMap()
			if got := manifest.Nested(app, "spec", "forProvider", "project", "version"); got != stays {
				t.Errorf("%s\nThe AnsibleRun should have %v, got %v", tc.reason, stays, got)
			}

			if got := rsp.GetConditions()[0].GetMessage(); !strings.HasPrefix(got, said) {
				t.Errorf("%s\nThe XR should say %q, got %q", tc.reason, said, got)
			}
		})
	}
}
