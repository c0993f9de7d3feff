package main

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// TestInvalidInput checks that mistakes in an input are one Fatal result with the path of each.
func TestInvalidInput(t *testing.T) {
	const (
		cluster   = "apiVersion: example.org/v1, kind: App, metadata: {name: app}"
		literal   = ": this field is literal, it cannot hold an expression; pass the value in vars, or write $${ for the text ${"
		inQuotes  = " is what YAML makes of words such as y, n, on and off: write the name in quotes"
		cron      = `: must have minute, hour, day of the month, month and day of the week, such as "30 3 * * 1-5", or be @hourly, @daily, @weekly, @monthly or @yearly: expected exactly 5 fields, found 4: `
		playbook  = "must be namespace.collection.playbook, or the path of one in the project, such as site.yml, without . and .., quotes, spaces and ="
		noDefault = ": Forbidden: defaults do not have this field; write it in each run"
		ofXR      = ".secretKeyRef.name: Forbidden: the name of what is not in an XR's own namespace must hold ${xr.metadata.uid}, and beside it only the name of the XR, its claim and each.key; other names may be those of other XRs"
	)

	cases := map[string]step{
		"Inventories": {
			reason: "An AnsibleRun has one text of an inventory, after the others, and either reads all or runs all.",
			runs: `
- {name: two, inventories: [{inline: a}, {yaml: {}}]}
- {name: first, inventories: [{inline: a}, {secretKeyRef: {name: a, key: b}}]}
- {name: beside, inventories: [{script: a}, {secretKeyRef: {name: a, key: b}}]}
- {name: both, inventories: [{inline: a, script: b}]}`,
			said: `
runs[0].inventories: Invalid value: only one item can have yaml, inline or script
runs[1].inventories: Invalid value: the item with yaml or inline must be the last one: Ansible reads it after the others
runs[2].inventories: Invalid value: script must be the only item: beside it, Ansible would run the others as scripts, too
runs[3].inventories[0]: Invalid value: exactly one of yaml, inline, script, path, secretKeyRef and configMapKeyRef must be set`,
		},
		"BesideComputed": {
			reason: "A computed setting hides no mistake in a literal one.",
			runs:   `[{name: a, pollInterval: soon, tags: "${xr.spec.?tags}"}, {name: b, keepOutput: always, approval: "${xr.spec.?a}"}]`,
			said: `
runs[0].pollInterval: Invalid value: "soon": must be a duration of more than 0, such as 30m
runs[1].keepOutput: Invalid value: "always": must be "true", or a duration of more than 0, such as 24h`,
		},
		"OneMistake": {
			reason: "What is of another type is one mistake, which says what to write.",
			runs: `
- {name: a, approval: yes, schedule: "0 0 * * *", window: 8, runPolicy: [a], keepOutput: true, timeout: 5}
- {name: b, env: {A: b}, project: "https://git.example.org/a.git", removal: 5, forEach: [a], hosts: null, skipTags: [1]}`,
			said: `
runs[0].approval: Unsupported value: true: supported values: "Required", "NotRequired"
runs[0].keepOutput: Invalid value: true: must be a string: write it in quotes
runs[0].runPolicy: Unsupported value: ["a"]: supported values: "ObserveAndDelete", "CheckWhenObserve", "RunOnChange"
runs[0].schedule: Invalid value: "0 0 * * *": must be an object with the fields cron, timeZone
runs[0].timeout: Invalid value: 5: must be a string: write it in quotes
runs[0].window: Invalid value: 8: must be an object with the fields changes, cron, duration, timeZone
runs[1].env: Invalid value: {"A":"b"}: must be a list
runs[1].hosts: Invalid value: "null": must be a string
runs[1].project: Invalid value: "https://git.example.org/a.git": must be an object with the fields path, src, submodules, version
runs[1].removal: Invalid value: 5: must be an object with the fields atMost
runs[1].skipTags[0]: Invalid value: 1: must be a string: write it in quotes`,
		},
		"Patterns": {
			reason: "What the API server says with a pattern is said in words.",
			runs: `
- {name: a-b, limit: "a\nb", hosts: "a\tb", tags: ["a\0"], onDelete: {skipTags: ["\e"]}, env: [{name: A-B, value: c}], stateVariable: {name: 1a}, project: {src: git.example.org/a, version: a b}}`,
			input: `
conditions: [{type: databaseReady, status: true}]
connectionDetails: [{name: "a b", value: c}]`,
			said: `
conditions[0].type: Invalid value: "databaseReady": must be letters and digits, and begin with an upper-case letter
connectionDetails[0].name: Invalid value: "a b": must be letters, digits and the characters -._
runs[0].env[0].name: Invalid value: "A-B": must be letters, digits and _, and not begin with a digit
runs[0].hosts: Invalid value: "a\tb": must not contain control characters, such as the end of a line
runs[0].limit: Invalid value: "a\nb": must not contain control characters, such as the end of a line
runs[0].name: Invalid value: "a-b": must be letters and digits, and begin with a lower-case letter
runs[0].onDelete.skipTags[0]: Invalid value: "\x1b": must not contain control characters, such as the end of a line
runs[0].project.src: Invalid value: "git.example.org/a": must be a URL such as https://git.example.org/acme/site.git, or user@host:path
runs[0].project.version: Invalid value: "a b": must be a tag, a branch or a commit
runs[0].stateVariable.name: Invalid value: "1a": must be letters, digits and _, and not begin with a digit
runs[0].tags[0]: Invalid value: "a\x00": must not contain control characters, such as the end of a line`,
		},
		"OfDefaults": {
			reason:   "What is written once is one mistake, where it is written.",
			defaults: `schedule: {cron: "0 3 * *"}, vars: {a: "${x}"}`, runs: `[{name: a}, {name: b, vars: {b: 1}}, {name: c, schedule: {cron: "0 4 * *"}}]`,
			said: `
defaults.schedule.cron: Invalid value: "0 3 * *"` + cron + `[0 3 * *]
defaults.vars.a: Invalid value: "${x}": undeclared reference to 'x', here: ▸x
runs[2].schedule.cron: Invalid value: "0 4 * *"` + cron + `[0 4 * *]`,
		},
		"InDefaults": {
			reason:   "A mistake in the defaults is one of the runs that have it: items are those of sets alone.",
			defaults: `vars: {key: "${each.key}"}`, runs: `[{name: a}, {name: b, forEach: [x]}]`,
			said: `
defaults.vars.key: Invalid value: "${each.key}": each is there only in a run with forEach, and in no local, here: ▸each.key`,
		},
		"InInventory": {
			reason: "The YAML of an inventory holds expressions, too.",
			runs:   `[{name: a, inventories: [{yaml: {all: {hosts: "${hosts}", vars: {size: "${xr.spec.size + }"}}}}]}]`,
			said: `
runs[0].inventories[0].yaml.all.hosts: Invalid value: "${hosts}": undeclared reference to 'hosts', here: ▸hosts
runs[0].inventories[0].yaml.all.vars.size: Invalid value: "${xr.spec.size + }": syntax error: it ends too early, here: xr.spec.size + ▸`,
		},
		"Own": {
			reason:   "What a run alone can have is no default.",
			defaults: `name: a, previousNames: [], forEach: [a], forEachKey: "${each.value}", readyWhen: true, dependsOn: [], retryLimits: 1`, runs: "[{name: a}]",
			said: `
defaults.dependsOn` + noDefault + `
defaults.forEach` + noDefault + `
defaults.forEachKey` + noDefault + `
defaults.name` + noDefault + `
defaults.previousNames` + noDefault + `
defaults.readyWhen` + noDefault + `
defaults.retryLimits: Forbidden: there is no such field (did you mean "retryLimit"?)`,
		},
		"AllowedSource": {
			reason:   "No source can be allowed.",
			defaults: `allowed: {project.src: ["*"]}`, runs: "[{name: a}]",
			said: `
defaults.allowed: Invalid value: only project.version, playbook, playbooks, roles.version and inventories.path can be allowed: no XR chooses a source`,
		},
		"OtherNamespace": {
			reason:   "A namespaced run refers to its own namespace.",
			defaults: "varFiles: [{source: Secret, secretRef: {name: a, namespace: other}}]",
			runs:     "[{name: a, env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: b, namespace: team}}}]}]",
			said: `
defaults.varFiles[0].secretRef.namespace: Forbidden: a namespaced run refers to what is in its own namespace; leave the field out
runs[0].env[0].valueFrom.secretKeyRef.namespace: Forbidden: a namespaced run refers to what is in its own namespace; leave the field out`,
		},
		"Member": {
			reason: "What a set has is that of its members.",
			runs:   `[{name: web, forEach: [a]}, {name: b, vars: {x: "${runs.web.outputs.port}"}}]`,
			input:  `connectionDetails: [{name: a, value: "${runs.web.connectionDetails.password}"}]`,
			said: `
connectionDetails[0].value: Invalid value: "${runs.web.connectionDetails.password}": undefined field 'password'; runs.web has its members by key, as in runs.web["KEY"].connectionDetails, here: runs.web.connectionDetails▸.password
runs[1].vars.x: Invalid value: "${runs.web.outputs.port}": undefined field 'port'; runs.web has its members by key, as in runs.web["KEY"].outputs, here: runs.web.outputs▸.port`,
		},
		"Content": {
			reason: "An archive has no versions, unless it is a repository with a strange name, and a playbook that is a path is one of a project.",
			input: `
runs:
- {name: a, playbook: site.yml, project: {src: "https://files.example.org/site.tgz", version: v1}}
- {name: b, playbook: site.yml, project: {src: "git+https://files.example.org/site.tgz", version: v1}}
- {name: c, playbook: site.yml}
- {name: d, playbook: /site.yml, project: {src: "https://git.example.org/a.git", path: ../web}}
- {name: e, playbooks: [a.b.c, ../site.yml, site], project: {src: "https://git.example.org/a.git"}, inventories: [{path: a}, {path: /etc}]}
- {name: f, role: a.b.c, onDelete: {playbook: site}}`,
			said: `
runs[0].project: Invalid value: an archive has neither version nor submodules: its URL says which one is meant
runs[2]: Invalid value: a playbook that is a path needs project, the repository that has it
runs[3].playbook: Invalid value: "/site.yml": ` + playbook + `
runs[3].project.path: Invalid value: path must be that of a directory in the repository, such as ansible/web, without . and ..
runs[4].inventories[1].path: Invalid value: "/etc": must be that of a file or a directory in the project, without . and ..
runs[4].playbooks[1]: Invalid value: "../site.yml": ` + playbook + `
runs[4].playbooks[2]: Invalid value: "site": ` + playbook + `
runs[5].onDelete: Invalid value: a playbook ` + playbook,
		},
		"Keys": {
			reason: "false, which YAML 1.1 makes of n, is no name. Content cannot read a variable without an identifier as its name.",
			runs: `
- {name: a, vars: {n: 1, y: "${xr.spec.y}", max-size: 2, 80: x, "n": 3}}
- {name: b, vars: {on: "${xr.spec.y}"}, templated: ["true"]}
- {name: c, inventories: [{yaml: {all: {hosts: {no: {off: 1}}, children: {yes: {vars: {a-b: "${xr.spec.y}"}}}}}}]}`,
			said: `
runs[0].vars.80: Forbidden: "80" cannot be the name of a variable: it must be an identifier
runs[0].vars.false: Forbidden: false` + inQuotes + `
runs[0].vars.max-size: Forbidden: "max-size" cannot be the name of a variable: it must be an identifier
runs[0].vars.true: Forbidden: true` + inQuotes + `
runs[1].vars.true: Forbidden: true` + inQuotes + `
runs[2].inventories[0].yaml.all.children.true: Forbidden: true` + inQuotes + `
runs[2].inventories[0].yaml.all.children.true.vars.a-b: Forbidden: "a-b" cannot be the name of a variable: it must be an identifier
runs[2].inventories[0].yaml.all.hosts.false: Forbidden: false` + inQuotes + `
runs[2].inventories[0].yaml.all.hosts.false.false: Forbidden: false` + inQuotes,
		},
		"NoRuns": {
			reason: "There must be runs.",
			input:  "runs: []",
			said: `
runs: Invalid value: 0: should have at least 1 items`,
		},
		"Everything": {
			reason: "All mistakes are in one result, each with its path: unknown fields, wrong types, expressions, and what they mean together.",
			input: `
default: {}
defaults: {vars: {a: "${foo}"}}
requiredResources: {network: {apiVersion: example.org/v1, kind: Network, matchName: x}}
runs:
- {name: database, roel: acme.postgres.server, forks: many, verbosity: 9, runPolicy: Sometimes, hosts: "${xr.spec.limit}", when: "maybe"}
- name: app
  role: a.b.c
  playbook: a.b.c
  forEach: "${xr.spec.zones}"
  namespace: other
  annotations: {ansible.crossplane.io/runPolicy: RunOnChange}
  vars: {b: "${runs.databse.outputs.x}", c: "{{ x }}-${xr.spec.c}", d: 9007199254740994, ansible_provider_meta: x}
- {name: app, role: a.b.c}
- {name: Upper-Case, role: a.b.c}
status: {conditions: [], x: "${bar}"}
conditions: [{type: A, status: "Yes"}]
`,
			said: `
conditions[0].status: Invalid value: "Yes": must be true, false, or an expression that is one of them
default: Forbidden: there is no such field (did you mean "defaults"?)
defaults.vars.a: Invalid value: "${foo}": undeclared reference to 'foo', here: ▸foo
runs[0].forks: Invalid value: "many": must be an integer
runs[0].hosts: Invalid value: "${xr.spec.limit}"` + literal + `
runs[0].roel: Forbidden: there is no such field (did you mean "role"?)
runs[0].runPolicy: Unsupported value: "Sometimes": supported values: "ObserveAndDelete", "CheckWhenObserve", "RunOnChange"
runs[0].verbosity: Invalid value: 9: should be less than or equal to 5
runs[0].when: Invalid value: "maybe": must be true, false, or an expression that is one of them
runs[1]: Forbidden: exactly one of role, roles, playbook, playbooks and playbookInline must be set, not role and playbook
runs[1].annotations[ansible.crossplane.io/runPolicy]: Forbidden: write the field runPolicy of the run in its place
runs[1].namespace: Forbidden: the runs of a namespaced XR are in its own namespace
runs[1].vars.ansible_provider_meta: Forbidden: this variable is the provider's own
runs[1].vars.b: Invalid value: "${runs.databse.outputs.x}": there is no run "databse" (did you mean "database"?), here: runs▸.databse.outputs.x
runs[1].vars.c: Forbidden: Jinja2 beside an expression: a variable that holds an expression is never templated by Ansible; use two variables
runs[1].vars.d: Invalid value: 9007199254740994: integers are exact up to 2^53-1 only; write it as a string
runs[2].name: Duplicate value: "app"
runs[3].name: Invalid value: "Upper-Case": must be letters and digits, and begin with a lower-case letter
status.conditions: Forbidden: this field is Crossplane's own
status.x: Invalid value: "${bar}": undeclared reference to 'bar', here: ▸bar`,
		},
		"Cycle": {
			reason: "Runs cannot wait for each other.",
			input: `
defaults: {role: a.b.c}
runs:
- {name: a, vars: {x: "${runs.b.outputs.x}"}}
- {name: b, when: "${runs.c.ready}"}
- {name: c, vars: {x: "${runs.a.outputs.x}"}}
- {name: d, vars: {x: "${runs.d.outputs.x}"}}
`,
			said: `
runs: Invalid value: "a → b → c → a": a run cannot depend on itself, directly or through others
runs: Invalid value: "d → d": a run cannot depend on itself, directly or through others`,
		},
		"ClusterScoped": {
			reason: "What a cluster-scoped XR cannot have.",
			xr:     cluster,
			input: `
defaults: {role: a.b.c, providerConfigRef: {kind: ClusterProviderConfig, name: default}}
runs:
- {name: a}
- {name: b, namespace: x}
- {name: d, providerConfigRef: {kind: ProviderConfig, name: d}, dependsOn: [b]}
`,
			said: `
defaults.providerConfigRef.kind: Invalid value: "ClusterProviderConfig": a cluster-scoped run can only refer to a ProviderConfig
runs[2].usages: Forbidden: Crossplane has no Usage of a namespaced object by a cluster-scoped one, so b could be deleted before d; set usages: false if that does no harm`,
		},
		"Namespaces": {
			reason: "Nothing can be composed in a namespace that cannot be.",
			xr:     cluster,
			input: `
defaults: {role: a.b.c}
runs:
- {name: a, namespace: Team_A}
- {name: b, namespace: "${xr.spec.team}"}
connectionDetails: [{name: a, value: b}]
connectionSecret: {namespace: "${xr.spec.team}"}
`,
			said: `
connectionSecret.namespace: Invalid value: "${xr.spec.team}": cannot be the name of a namespace; it is literal
runs[0].namespace: Invalid value: "Team_A": cannot be the name of a namespace; it is literal
runs[1].namespace: Invalid value: "${xr.spec.team}"` + literal,
		},
		"Fields": {
			reason: "Mistakes in what belongs together.",
			input: `
defaults: {role: a.b.c}
requiredResources:
  a: {apiVersion: v1, kind: ConfigMap, matchName: "${required.b.metadata.name}"}
  b: {apiVersion: v1, kind: ConfigMap, matchName: "${required.a.metadata.name}"}
  both: {apiVersion: v1, kind: "${xr.kind}", matchName: a, matchLabels: {a: b}}
  chain1: {apiVersion: v1, kind: ConfigMap, matchName: a}
  chain2: {apiVersion: v1, kind: ConfigMap, matchName: "${required.chain1.data.next}"}
  chain3: {apiVersion: v1, kind: ConfigMap, matchName: "${required.chain2.data.next}"}
  chain4: {apiVersion: v1, kind: ConfigMap, matchName: "${required.chain3.data.next}"}
  chain5: {apiVersion: v1, kind: ConfigMap, matchName: "${required.chain4.data.next}"}
  chosen: {apiVersion: v1, kind: Secret, matchName: "${xr.spec.a}", namespace: other}
  y: {apiVersion: v1, kind: Secret, matchName: a}
  not-a-name: {apiVersion: v1, kind: Secret, matchLabels: {a: "${runs.single.outputs.x}"}}
runs:
- {name: single, dependsOn: [single, nobody, list, list], forEachKey: x, vars: {a: "${each.key}"}}
- {name: list, forEach: 5, forEachKey: "${each.valu}"}
- name: vars
  templated: [b]
  vars: {a: 1, ansible_connection: "${xr.spec.a}"}
  varsFrom: [{value: text}, {value: "${xr.spec}", include: [a], exclude: [b], keys: CamelCase}]
- name: inventory
  inventories:
  - yaml: {all: {vars: {ansible_user: "${xr.spec.a}"}, hosts: {a: {ansible_ssh_common_args: "${xr.spec.a}", b: "{{ x }}${xr.spec.a}"}}, host: {}}}
- name: names
  annotations: {"${xr.spec.a}": b, crossplane.io/composition-resource-name: x}
  labels: {crossplane.io/composite: x, no label: x, a: "not a value"}
  providerConfigRef: {name: "${xr.spec.a}"}
  varFiles: [{source: SecretKey, secretKeyRef: {name: "${foo}", key: "${xr.spec.a}"}, variable: "${xr.spec.b}"}]
- {name: share, forEach: "${xr.spec.list}", removal: {atMost: 101%}}
- {name: number, forEach: "${xr.spec.list}", removal: {atMost: -1}}
- {name: turns, forEach: "${xr.spec.list}", atATime: 0}
- {name: all, forEach: "${xr.spec.list}", atATime: 101%}
- {name: none, forEach: "${xr.spec.list}", atATime: 0%}
- {name: computed, forEach: "${xr.spec.list}", atATime: "${xr.spec.n}"}
- {name: alone, atATime: 1}
connectionDetails: [{name: a, value: b}]
`,
			said: `
requiredResources.a: Invalid value: "a → b → a": a required resource cannot depend on itself, directly or through others
requiredResources.both: Required value: exactly one of matchName and matchLabels must be set
requiredResources.both.kind: Invalid value: "${xr.kind}": this field is literal, it cannot hold an expression
requiredResources.chain5: Invalid value: "chain5": required resources can depend on each other three times in a row at most
requiredResources.chosen.namespace: Forbidden: what an expression selects is in the XR's own namespace, or cluster scoped
requiredResources.not-a-name: Invalid value: "not-a-name": the name of a required resource must be letters and digits, as in required.network
requiredResources.not-a-name.matchLabels: Forbidden: what is required cannot depend on runs
requiredResources.true: Forbidden: true` + inQuotes + `
runs: Invalid value: "single → single": a run cannot depend on itself, directly or through others
runs[0].dependsOn[1]: Invalid value: "nobody": there is no such run
runs[0].dependsOn[3]: Duplicate value: "list"
runs[0].forEachKey: Forbidden: only with forEach
runs[0].vars.a: Invalid value: "${each.key}": each is there only in a run with forEach, and in no local, here: ▸each.key
runs[10].atATime: Invalid value: "${xr.spec.n}"` + literal + `
runs[10].atATime: Invalid value: "${xr.spec.n}": must be 1 or more, or a share from 1% to 100%
runs[11].atATime: Forbidden: only with forEach
runs[1].forEach: Invalid value: 5: must be a map, a list, or an expression that is one of them
runs[1].forEachKey: Invalid value: "${each.valu}": each has no field "valu" (did you mean "value"?), here: each▸.valu
runs[2].templated[0]: Invalid value: "b": there is no such variable in vars
runs[2].vars.ansible_connection: Forbidden: an expression cannot say how Ansible connects and what it executes; name it in templated if the source of its value may run code in the provider
runs[2].varsFrom[0].value: Invalid value: "text": must be an expression, as in ${xr.spec.parameters}
runs[2].varsFrom[1]: Forbidden: only one of include and exclude can be set
runs[2].varsFrom[1].keys: Unsupported value: "CamelCase": supported values: "AsIs", "SnakeCase"
runs[3].inventories[0].yaml.all.host: Forbidden: a group has hosts, vars and children only
runs[3].inventories[0].yaml.all.hosts.a.ansible_ssh_common_args: Forbidden: an expression cannot say how Ansible connects and what it executes
runs[3].inventories[0].yaml.all.hosts.a.b: Forbidden: Jinja2 beside an expression: a variable that holds an expression is never templated by Ansible; use two variables
runs[3].inventories[0].yaml.all.vars.ansible_user: Forbidden: an expression cannot say how all hosts of a group are reached: set the variable for each host
runs[4].annotations: Invalid value: "${xr.spec.a}": the names of fields are literal: they cannot hold an expression
runs[4].annotations[crossplane.io/composition-resource-name]: Forbidden: Crossplane sets this itself
runs[4].labels[a]: Invalid value: "not a value": cannot be the value of a label
runs[4].labels[crossplane.io/composite]: Forbidden: Crossplane sets this itself
runs[4].labels[no label]: Invalid value: "no label": cannot be the name of a label or an annotation
runs[4].providerConfigRef.name: Forbidden: only the name of a ProviderConfig in the XR's own namespace can be computed; set kind: ProviderConfig
runs[4].varFiles[0].secretKeyRef.key: Invalid value: "${xr.spec.a}"` + literal + `
runs[4].varFiles[0].secretKeyRef.name: Invalid value: "${foo}": undeclared reference to 'foo', here: ▸foo
runs[4].varFiles[0].variable: Invalid value: "${xr.spec.b}"` + literal + `
runs[5].removal.atMost: Invalid value: "101%": must be a number that is not negative, or a share such as 10%
runs[6].removal.atMost: Invalid value: -1: must be a number that is not negative, or a share such as 10%
runs[7].atATime: Invalid value: 0: must be 1 or more, or a share from 1% to 100%
runs[8].atATime: Invalid value: "101%": must be 1 or more, or a share from 1% to 100%
runs[9].atATime: Invalid value: "0%": must be 1 or more, or a share from 1% to 100%`,
		},
		"ClusterScopedNames": {
			reason: "What is chosen by a cluster-scoped XR is in no namespace of its own.",
			xr:     cluster,
			input: `
defaults: {role: a.b.c}
connectionSecret: {namespace: secrets, name: "${xr.metadata.name}"}
connectionDetails: [{name: a, value: b}]
requiredResources:
  a: {apiVersion: v1, kind: ConfigMap, matchLabels: {a: "${xr.spec.a}"}}
runs:
- {name: a, varFiles: [{source: SecretKey, secretKeyRef: {name: "${xr.spec.a}", namespace: a, key: b}}]}
- {name: c, varFiles: [{source: SecretKey, secretKeyRef: {namespace: a, name: "${xr.metadata.name}-c", key: b}}]}
- {name: d, varFiles: [{source: SecretKey, secretKeyRef: {namespace: a, name: "${xr.metadata.uid}-${xr.spec.a}", key: b}}]}
- {name: e, varFiles: [{source: SecretKey, secretKeyRef: {namespace: a, name: "${xr.metadata.uid}-${xr.metadata.labels.team}", key: b}}]}
- {name: f, varFiles: [{source: SecretKey, secretKeyRef: {namespace: a, name: "${xr.metadata.uid.substring(0, 8)}", key: b}}]}
- {name: g, varFiles: [{source: SecretKey, secretKeyRef: {namespace: a, name: "${xr.metadata.uid}-${runs.a.outputs.b}", key: b}}]}
- {name: i, varFiles: [{source: SecretKey, secretKeyRef: {namespace: a, name: "${xr.metadata.uid}-${each.value.b}", key: b}}], forEach: "${xr.spec.a}"}
- {name: j, varFiles: [{source: SecretKey, secretKeyRef: {namespace: a, name: "${xr.metadata.uid}-${xr.metadata.labels[xr.spec.a]}", key: b}}]}
`,
			said: `
connectionSecret.name: Forbidden: must hold what is the XR's own, as in ${xr.metadata.name}-admin or ${xr.metadata.uid}, and beside that only the name of the XR and its claim
requiredResources.a.matchLabels: Forbidden: a cluster-scoped XR cannot compute labels, which would select from all namespaces
runs[0].varFiles[0]` + ofXR + `
runs[1].varFiles[0]` + ofXR + `
runs[2].varFiles[0]` + ofXR + `
runs[3].varFiles[0]` + ofXR + `
runs[4].varFiles[0]` + ofXR + `
runs[5].varFiles[0]` + ofXR + `
runs[6].varFiles[0]` + ofXR + `
runs[7].varFiles[0]` + ofXR,
		},
		"Runs": {
			reason: "What the API server would refuse of an AnsibleRun, and what can never be, stops the XR before anything is applied.",
			runs: `
- {name: path, inventories: [{path: hosts}]}
- {name: allowed, allowed: {project.version: ["v1.["]}, project: {src: "${xr.spec.src}", version: "${xr.spec.version}", path: "${xr.spec.path}"}, inventories: [{path: "inventories/${xr.spec.stage}"}]}
- {name: annotations, annotations: {crossplane.io/poll-interval: 1h, ansible.crossplane.io/keepOutput: 24h, ansible.fn.crossplane.io/prune: never, ansible.fn.crossplane.io/depends-on: b}}
- {name: source, varFiles: [{secretKeyRef: {name: a, key: b}}]}
- {name: setting, env: [{name: ANSIBLE_SSH_PIPELINING, value: "${xr.spec.a}"}]}
- {name: preload, env: [{name: LD_PRELOAD, value: x}]}
- {name: never, schedule: {cron: "0 0 30 2 *"}}
- {name: mars, window: {cron: "@daily", timeZone: Mars, duration: 1h}}
- {name: many, usages: false, forEach: [x], removal: {atMost: 9999999999}}
- {name: long, providerConfigRef: {name: a-configuration-of-the-team-that-builds-the-platform-for-all-of-us}}
- {name: computed, providerConfigRef: {kind: ProviderConfig, name: "${'platform-' + xr.spec.region + '-' + xr.spec.team + '-' + xr.spec.stage}"}}
- {name: files, varFiles: [{source: SecretKey}, {source: ConfigMap, configMapRef: {name: a}, variable: b}, {source: SecretKey, secretKeyRef: {name: a, key: b}, variable: ansible_provider_meta}]}`,
			said: `
runs[0].inventories: Invalid value: an inventory that is a path needs project, the repository that has it
runs[11].varFiles[0]: Invalid value: source Secret takes secretRef; for one key write source: SecretKey with secretKeyRef; other sources take neither
runs[11].varFiles[1]: Invalid value: variable must be set with source SecretKey or ConfigMapKey only: of a whole Secret or ConfigMap each key is a variable
runs[11].varFiles[2].variable: Invalid value: "ansible_provider_meta": ansible_provider_meta is the provider's own variable
runs[1].allowed[project.version][0]: Invalid value: "v1.[": is no pattern, such as v1.* or release/v?
runs[1].inventories[0].path: Forbidden: an expression may stand here only beside a list of the values that it may have, with patterns such as v1.*: write allowed: {inventories.path: [...]}
runs[1].project.path: Invalid value: "${xr.spec.path}"` + literal + `
runs[1].project.src: Invalid value: "${xr.spec.src}"` + literal + `
runs[2].annotations[ansible.crossplane.io/keepOutput]: Forbidden: write the field keepOutput of the run in its place
runs[2].annotations[ansible.fn.crossplane.io/depends-on]: Forbidden: write the field dependsOn of the run in its place
runs[2].annotations[ansible.fn.crossplane.io/prune]: Forbidden: write the field prune of the run in its place
runs[2].annotations[crossplane.io/poll-interval]: Forbidden: write the field pollInterval of the run in its place
runs[3].varFiles[0].source: Required value: must be one of ConfigMap, ConfigMapKey, Secret, SecretKey
runs[4].env[0].value: Forbidden: a variable with a name that begins with ANSIBLE_ changes how Ansible works: its value is literal
runs[5].env: Invalid value: a variable is set by the provider, or would take over programs that it starts
runs[6].schedule.cron: Invalid value: "0 0 30 2 *": must be a point in time that comes, and not the 30th of February
runs[7].window.timeZone: Invalid value: "Mars": must be a name of the time zone database, such as Europe/Berlin
runs[8].removal.atMost: Invalid value: 9999999999: must be a number that is not negative, or a share such as 10%
runs[9].providerConfigRef.name: Too long: may not be more than 63 bytes`,
		},
		"WrongShapes": {
			reason: "Nothing breaks on what is no run at all.",
			input:  "defaults: 1\nruns: [x, {name: 5, vars: [], when: {}}, {name: in, role: a.b.c}]\nstatus: 1",
			said: `
defaults: Invalid value: 1: must be an object
runs[0]: Invalid value: "x": must be an object
runs[1]: Required value: exactly one of role, roles, playbook, playbooks and playbookInline must be set, here or in defaults
runs[1].name: Invalid value: 5: must be a string: write it in quotes
runs[1].vars: Invalid value: []: must be an object
runs[1].when: Invalid value: {}: must be true, false, or an expression that is one of them
runs[2].name: Invalid value: "in": is a word of the expression language
status: Invalid value: 1: must be fields, or an expression that is an object`,
		},
	}

	for name, s := range cases {
		s.said = "invalid input:" + s.said
		cases[name] = s
	}

	check(t, cases)
}

// TestNoInput has an input that is not one of the function. The desired state of other steps is passed on, and the
// condition has as much of the message as fits.
func TestNoInput(t *testing.T) {
	const kind = ": the input must be of apiVersion ansible.fn.crossplane.io/v1alpha1, kind AnsibleRuns"

	for input, want := range map[string]string{"{}": "kind: Invalid value: null" + kind, "{apiVersion: ansible.fn.crossplane.io/v1alpha1, kind: Resources}": `kind: Invalid value: "Resources"` + kind} {
		req := step{earlier: "{theirs: {resource: {kind: X}}}", runs: "[]"}.request(t)
		req.Input = request(t, "input: "+input).GetInput()

		same(t, input, "desired: {resources: {theirs: {resource: {kind: X}}}}"+
			condition("FALSE", "InvalidInput", "the input of function-ansible in the Composition is invalid:\n"+want)+
			"results: [{severity: SEVERITY_FATAL, message: "+quoted("invalid input:\n"+want)+", target: TARGET_COMPOSITE}]", respond(t, req))
	}

	rsp := step{runs: "[" + strings.Repeat("{name: a, rol: b},", 200) + "]"}.respond(t)
	if got := rsp.GetConditions()[0]; len(got.GetMessage()) > 4096 || got.GetStatus() != fnv1.Status_STATUS_CONDITION_FALSE || len(said(rsp)) < 4096 {
		t.Errorf("want a condition of 4096 bytes at most, and a result with everything, got %v", rsp)
	}
}
