package main

import (
	"strings"
	"testing"
)

// inventory returns the parameter of an AnsibleRun with the text of an inventory.
func inventory(text string) string {
	return "inventoryInline: " + quoted(strings.TrimPrefix(text, "\n"))
}

func TestFields(t *testing.T) {
	const (
		git      = `project: {src: "https://git.example.org/site.git"}`
		required = `is not set, but the run needs it; write xr.spec.?field.orValue("…") for a default`
	)

	// instead is a run with content other than a role.
	instead := func(parameters string) string { return strings.Replace(one(parameters), "role: a.b.c, ", "", 1) }

	check(t, map[string]step{
		"VarsFrom": {
			reason: "Fields of objects become unsafe variables. Later objects win over earlier ones, and vars win over all.",
			runs: `
- name: app
  vars: {size: 1, gone: "${xr.spec.?unset}", computed: "${xr.spec.a.b}"}
  varsFrom: [{value: "${xr.spec}", exclude: [more]}, {value: "${xr.spec.more}", keys: SnakeCase, include: [maxSize, a]}, {value: "${xr.spec.?none}"}]`,
			spec: `size: 9, gone: x, computed: y, a: {b: 2}, text: "{{ x }}", more: {maxSize: {minSize: [{oneTwo: 3}]}, a: 5, left: out},
    crossplane: {compositionRef: {name: x}}, resourceRefs: []`,
			response: one(`vars: {size: 1}, unsafeVars: {resourceRefs: [], a: 5, computed: 2, text: "{{ x }}", max_size: {min_size: [{one_two: 3}]}}`),
		},
		"VarsFromSpelling": {
			reason: "A left-out variable is left out in any spelling of its name.",
			runs: `
- name: app
  varsFrom:
  - {value: "${xr.spec.a}", keys: SnakeCase, exclude: [dbAdmin]}
  - {value: "${xr.spec.b}", keys: SnakeCase, exclude: [db_admin, VIP]}
  - {value: "${xr.spec.c}", keys: SnakeCase, include: [max_size]}
  - {value: "${xr.spec.d}", keys: SnakeCase, exclude: [a_1_b2c3]}
  - {value: "${{'d1e2f3': 5, 'other': 6}}", keys: SnakeCase, include: [d_1_e2f3]}`,
			spec:     `a: {dbAdmin: x, db_admin: x, "db-admin": x, a: 1}, b: {dbAdmin: x, VIP: x, VIPs: 2}, c: {maxSize: 3, min_size: 4}, d: {a1b2c3: x}`,
			response: one(`unsafeVars: {a: 1, _v_ips: 2, max_size: 3, d_1_e2f3: 5}`),
		},
		"OnDelete": {
			reason:   "onDelete of a run replaces that of the defaults as a whole.",
			defaults: "onDelete: {policy: Keep}", runs: "[{name: app, onDelete: {role: acme.app.cleanup, tags: [all]}}]",
			response: one("onDelete: {role: acme.app.cleanup, tags: [all]}"),
		},
		"OnDeleteOfDefaults": {
			reason:   "onDelete of the defaults applies to runs without their own.",
			defaults: "onDelete: {policy: Keep}", runs: "[{name: app}]", response: one("onDelete: {policy: Keep}"),
		},
		"Templated": {
			reason: "A Composition may let Ansible template a value of an XR.",
			runs:   `[{name: app, templated: [a, ansible_connection], vars: {a: "{{ x }} ${xr.spec.a}", b: "${xr.spec.a}", ansible_connection: "${xr.spec.a}"}}]`,
			spec:   `a: "{{ y }}"`, response: one(`vars: {a: "{{ x }} {{ y }}", ansible_connection: "{{ y }}"}, unsafeVars: {b: "{{ y }}"}`),
		},
		"Metadata": {
			reason: "Labels, annotations and names of objects in the namespace of the XR can be computed.",
			runs: `
- name: app
  labels: {team: "${xr.spec.team}", fixed: a, none: "${xr.spec.?none}"}
  annotations: {crossplane.io/external-name: "app-${xr.metadata.name}", literal: "$${x}"}
  managementPolicies: [Observe, Create]
  varFiles:
  - {source: SecretKey, secretKeyRef: {name: "${xr.spec.secret}", key: "$${key}"}}
  - {source: Secret, secretRef: {name: "${xr.spec.secret}-all"}}
  - {source: ConfigMapKey, configMapKeyRef: {name: mine, key: a}, variable: b}`,
			spec: "team: blue, secret: mine",
			response: one("varFiles: [{source: SecretKey, secretKeyRef: {name: mine, key: \"${key}\"}}, {source: Secret, secretRef: {name: mine-all}}, "+
				"{source: ConfigMapKey, configMapKeyRef: {name: mine, key: a}, variable: b}]",
				`labels: {team: blue, fixed: a}, annotations: {crossplane.io/external-name: app-app, literal: "${x}"}`, "managementPolicies: [Observe, Create]"),
		},
		"Project": {
			reason: "An XR may select among the versions and inventories of a project that allowed has.",
			runs: `
- name: app
  allowed: {project.version: [main, "v1.*"], inventories.path: ["inventories/*"]}
  project: {src: "https://git.example.org/site.git", version: "${xr.spec.?version.orValue('v1.0.0')}", path: web}
  inventories: [{path: "inventories/${xr.spec.stage}"}, {path: more}]`,
			defaults: `project: {src: "https://git.example.org/all.git", version: v1}`, spec: "stage: production, version: v1.4.0",
			response: one(`project: {src: "https://git.example.org/site.git", version: v1.4.0, path: web}, inventories: [{source: Project, path: inventories/production}, {source: Project, path: more}]`),
		},
		"Inventories": {
			reason:   "An AnsibleRun has references, of which names can be computed, and a text in fields of their own.",
			runs:     `[{name: app, inventories: [{secretKeyRef: {name: "${xr.metadata.name}-a", key: b}}, {configMapKeyRef: {name: c, key: d}}, {inline: h}]}]`,
			response: one("inventories: [{source: Secret, secretRef: {name: app-a, key: b}}, {source: ConfigMapKey, configMapKeyRef: {name: c, key: d}}], inventoryInline: h"),
		},
		"InventoryScript": {
			reason: "A script is not changed: an escaped expression in it is text.",
			runs:   "[{name: app, inventories: [{script: 'echo $${HOSTS}'}]}]", response: one(`inventoryInline: "echo ${HOSTS}", executableInventory: true`),
		},
		"Env": {
			reason: "Values of environment variables, and names of their Secrets, can be computed.",
			runs: `[{name: app, env: [{name: REGION, value: "${xr.spec.region}"}, {name: ANSIBLE_FORKS, value: "10"},
  {name: PASSWORD, valueFrom: {secretKeyRef: {name: "${xr.spec.region}", key: password}}}]}]`,
			spec:     "region: eu",
			response: one(`env: [{name: REGION, value: eu}, {name: ANSIBLE_FORKS, value: "10"}, {name: PASSWORD, valueFrom: {secretKeyRef: {name: eu, key: password}}}]`),
		},
		"WithoutValue": {
			reason: "An entry without its required value is left out, and so is a list without entries.",
			runs: `
- name: app
  env: [{name: A, value: "${xr.spec.?a}"}, {name: B, value: "${xr.spec.?b}"}, {name: C, valueFrom: {secretKeyRef: {name: "${xr.spec.?a}", key: c}}}]
  varFiles: [{source: Secret, secretRef: {name: "${xr.spec.?a}"}}]`,
			spec: "b: there", response: one(`env: [{name: B, value: there}]`),
		},
		"WithoutContent": {
			reason: "Content, hosts and configurations cannot be left out.",
			runs: `
- {name: app, playbook: "${xr.spec.?a}", allowed: {playbook: ["*"]}}
- {name: other, inventories: [{secretKeyRef: {name: "${xr.spec.?a}", key: b}}], providerConfigRef: {kind: ProviderConfig, name: "${xr.spec.?a}"}}`,
			said: "ValueNotSet app: playbook: " + required + "\nother: inventories[0].secretKeyRef.name: " + required + "\nother: providerConfigRef.name: " + required,
		},
		"ProjectElsewhere": {
			reason: "A path from an XR cannot leave its directory, even if allowed matches it.",
			runs:   `[{name: app, allowed: {inventories.path: ["inventories/*"]}, ` + git + `, inventories: [{path: "inventories/${xr.spec.stage}"}]}]`, spec: `stage: ".."`,
			said: `InvalidValue app: inventories[0].path: must be letters, digits and the characters _.+/- without . and .. between slashes, and is "inventories/.."`,
		},
		"Playbook": {
			reason:   "An XR may select a playbook.",
			defaults: "allowed: {playbook: [site.yml]}", runs: `[{name: app, playbook: "${xr.spec.play}.yml", allowed: {playbook: [site.yml, upgrade.yml]}, ` + git + `}]`,
			spec: "play: upgrade", response: instead("playbook: upgrade.yml, " + git),
		},
		"Playbooks": {
			reason: "An XR may select several playbooks of a collection.",
			runs:   `[{name: app, playbooks: [acme.app.site, "acme.app.${xr.spec.play}"], allowed: {playbooks: ["acme.app.*"]}}]`, spec: "play: upgrade",
			response: instead("playbooks: [acme.app.site, acme.app.upgrade]"),
		},
		"PlaybookElsewhere": {
			reason: "A playbook that is a path needs a project.",
			runs:   `[{name: app, playbook: "${xr.spec.play}", allowed: {playbook: ["*"]}}]`, spec: "play: site.yml",
			said: `InvalidValue app: playbook: "site.yml" is a path, which needs project, the repository that has it`,
		},
		"RoleVersion": {
			reason: "An XR may select the version of one role only.",
			runs: `
- name: app
  roles: [acme.base, {name: acme.app, src: "https://git.example.org/app.git", version: "${xr.spec.version}"}]
  allowed: {roles.version: ["release/v?"], project.version: ["*"]}`,
			spec: "version: release/v2", response: instead(`roles: [acme.base, {name: acme.app, src: "https://git.example.org/app.git", version: release/v2}]`),
		},
		"ProviderConfig": {
			reason: "An XR may select among the ProviderConfigs of its namespace.",
			runs:   `[{name: app, providerConfigRef: {kind: ProviderConfig, name: "${xr.spec.config}"}}]`, spec: "config: mine",
			response: strings.Replace(one(""), "kind: ClusterProviderConfig, name: default", "kind: ProviderConfig, name: mine", 1),
		},
		"Stored": {
			reason:   "Parameters are rendered in the form in which the provider writes them, since they would look changed otherwise.",
			runs:     "[{name: app, timeout: 20m, tags: [], skipTags: [a], verbosity: 0, forks: 5, varFiles: [{source: SecretKey, secretKeyRef: {name: a, key: b}, optional: false}]}]",
			response: one("timeout: 20m0s, skipTags: [a], verbosity: 0, forks: 5, varFiles: [{source: SecretKey, secretKeyRef: {name: a, key: b}}]"),
		},
		"StoredComputed": {
			reason: "Computed parameters are rendered in the form in which the provider writes them.",
			runs:   "[{name: app, timeout: '${xr.spec.timeout}'}]", spec: "timeout: 90m", response: one("timeout: 1h30m0s"),
		},
		"HostMap": {
			reason: "Hosts from an XR have the addresses of the XR.",
			runs: `[{name: app, inventories: [{yaml: {all: {hosts: "${xr.spec.hosts.transformMapEntry(i, h,
  {h.name: {'ansible_host': h.address, 'ansible_port': h.?port.orValue(22)}})}"}}}]}]`,
			spec: "hosts: [{name: a, address: 10.0.0.1, port: 2222}, {name: b, address: b.example.org}]",
			response: one(inventory(`
---
"all":
  "hosts":
    "a":
      "ansible_host": "10.0.0.1"
      "ansible_port": 2222
    "b":
      "ansible_host": !unsafe "b.example.org"
      "ansible_port": 22
`)),
		},
		"HostInGroups": {
			reason: "A computed host may be in several groups, with the same variables or with none.",
			locals: `hosts: "${xr.spec.hosts}"`,
			runs: `[{name: app, inventories: [{yaml: {a: {hosts: "${locals.hosts}"}, b: {hosts: "${locals.hosts}"},
  c: {hosts: "${xr.spec.names}"}, d: {hosts: ["${xr.spec.names[0]}"]}}}]}]`,
			spec: "hosts: {h: {size: 1}}, names: [n1]",
			response: one(inventory(`
---
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
`)),
		},
		"InventoryBeside": {
			reason: "If hosts may be in other inventories, the provider's plugin gets the computed names. Literal names may be in both.",
			runs: `
- name: app
  inventories:
  - secretKeyRef: {name: infra, key: hosts}
  - yaml:
      infra: {vars: {size: 1}, hosts: {gateway: {size: "${xr.spec.size}"}}}
      nodes: {hosts: [gateway, "${xr.spec.name}"], children: "${xr.spec.groups}"}`,
			spec: "size: 2, name: n1, groups: {racks: {hosts: [n2]}}",
			response: one("inventories: [{source: Secret, secretRef: {name: infra, key: hosts}}], " + inventory(`
---
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
`)),
		},
		"InventoryLiteral": {
			reason: "An inventory without computed names needs no plugin.",
			runs:   "[{name: app, " + git + ", inventories: [{yaml: {all: {hosts: {a: {size: '${xr.spec.size}'}}}}}]}]", spec: "size: 2",
			response: one(git + ", " + inventory("---\n\"all\":\n  \"hosts\":\n    \"a\":\n      \"size\": 2\n")),
		},
		"Inventory": {
			reason: "Ansible templates literal values of an inventory, but not computed ones.",
			runs: `
- name: app
  inventories:
  - yaml:
      all:
        vars: {literal: "{{ x }}", text: "${xr.spec.text}", user: "${xr.spec.user}"}
        hosts:
          web1: {ansible_host: "${xr.spec.address}", ansible_port: "${xr.spec.port}", tree: {a: ["${xr.spec.text}", 1.5], b: "${xr.spec.text}"}}
          web2:
        children:
          listed: {hosts: "${xr.spec.names}"}
          mapped: "${xr.spec.group}"`,
			spec: `user: root, address: "fe80::1", port: 2222, text: "{{ é😀\u007f }}", names: [a.example.org, b-1],
    group: {hosts: {c: {size: 1, "sure": "yes", ansible_host: c.example.org, ansible_port: 22, ansible_user: 'EXAMPLE\c', ansible_password: "{{ c }}"}}, children: {inner: null}, vars: {v: true}}`,
			response: one(inventory(`
---
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
          "ansible_host": !unsafe "c.example.org"
          "ansible_password": !unsafe "{{ c }}"
          "ansible_port": 22
          "ansible_user": !unsafe "EXAMPLE\\c"
          "size": 1
          "sure": "yes"
      "vars":
        "v": true
  "hosts":
    "web1":
      "ansible_host": !unsafe "fe80::1"
      "ansible_port": 2222
      "tree": !unsafe {? "a" : ["{{ \u00e9\U0001f600\u007f }}", 1.5], ? "b" : "{{ \u00e9\U0001f600\u007f }}"}
    "web2": {}
  "vars":
    "literal": "{{ x }}"
    "text": !unsafe "{{ \u00e9\U0001f600\u007f }}"
    "user": !unsafe "root"
`)),
		},
		"DependsOn": {
			reason: "A run waits for the runs in dependsOn, but not for unwanted ones.",
			runs:   `[{name: app, dependsOn: [later, database]}, {name: later, when: "${xr.spec.later}"}, {name: database}]`, spec: "later: false",
			want: "database", said: "Running database: is running\nDependencyNotReady:\napp: waiting for database",
		},
		"ReportedByName": {
			reason: "xr.status can be read by name, but is not part of the whole XR.",
			runs: `
- name: app
  varsFrom: [{value: "${xr.spec.crossplane}"}]
  vars: {version: "${xr.metadata.?resourceVersion.orValue('1')}", is: "${'crossplane' in xr.spec}", revision: "${xr.spec.crossplane.compositionRevisionRef.name}"}`,
			spec:     "crossplane: {compositionRevisionRef: {name: x}}",
			response: one(`unsafeVars: {compositionRevisionRef: {name: x}, version: "1", is: true, revision: x}`),
		},
	})
}

// TestNotAllowed has XRs with versions that allowed does not have.
func TestNotAllowed(t *testing.T) {
	const (
		commit = `%q may be a commit, which no pattern allows; to allow it, list it in allowed for project.version`
		listed = "0123456789abcdef0123456789abcdef01234567"
	)

	cases := map[string]struct {
		reason, version, want string
	}{
		"Version":     {reason: "A version must match a pattern in allowed.", version: "v2.0.0", want: `"v2.0.0" is not allowed; allowed for project.version is main, v1.*, 1*, *-g*, ` + listed},
		"Hash":        {reason: "A commit may belong to a fork, so no pattern allows it.", version: "1234567890abcdef1234567890abcdef12345678", want: commit},
		"Abbreviated": {reason: "git accepts a hash of 4 digits as a commit.", version: "1aBc", want: commit},
		"Described":   {reason: "git resolves the hash after -g.", version: "v1.0-gabcd", want: commit},
		"Listed":      {reason: "A commit that allowed lists literally is allowed.", version: listed},
		"Tag":         {reason: "A version that git cannot take for a commit must match a pattern only.", version: "1.4-graph"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := step{
				reason: tc.reason,
				defaults: `project: {src: "https://git.example.org/site.git", version: "${xr.spec.version}"}, ` +
					`allowed: {project.version: [main, "v1.*", "1*", "*-g*", "` + listed + `"]}`,
				runs: "[{name: app}]", spec: "version: " + quoted(tc.version), want: "app",
				observed: existing("app", "", `role: a.b.c, project: {src: "https://git.example.org/site.git", version: v1.4.0}`),
				said:     "InvalidValue app: project.version: " + strings.Replace(tc.want, "%q", quoted(tc.version), 1),
				fields:   map[string]string{"app spec.forProvider.project.version": "v1.4.0"},
			}

			if tc.want == "" {
				s.said, s.fields = "Running app: is running", map[string]string{"app spec.forProvider.project.version": quoted(tc.version)}
			}

			s.check(t)
		})
	}
}
