package main

import (
	"crypto/sha256"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// TestAttacks has XRs that try to choose more than values.
func TestAttacks(t *testing.T) {
	const (
		from = `
runs:
- {name: app, role: a.b.c, varsFrom: [{value: "${xr.spec.parameters}", keys: SnakeCase}]}
`
		vars = `
runs:
- {name: app, role: a.b.c, vars: {ansible_host: "${xr.spec.host}", ansible_user: "${xr.spec.?user.orValue(\"root\")}", ansible_port: "${xr.spec.?port.orValue(22)}"}}
`
		hosts = `
runs:
- {name: app, role: a.b.c, inventories: [{yaml: {all: {hosts: "${xr.spec.hosts}"}}}]}
`
		children = `
runs:
- {name: app, role: a.b.c, inventories: [{yaml: {all: {children: "${xr.spec.groups}"}}}]}
`
		literal = `
runs:
- name: app
  role: a.b.c
  inventories:
  - yaml:
      infra: {hosts: {gateway: {ansible_host: gw.internal.example}, "web[01:20]:2222": null}, children: {inner: {hosts: [db]}}}
      one: {hosts: {node: "${xr.spec.?one}"}, vars: "${xr.spec.?vars}"}
      nodes: {hosts: "${xr.spec.?nodes}", children: "${xr.spec.?groups}"}
      listed: {hosts: [db, "${xr.spec.?name}"]}
      data-bases: {hosts: [db]}
`
		computed = `
runs:
- name: app
  role: a.b.c
  inventories:
  - yaml:
      infra: {hosts: "${{'gw1': {'ansible_host': 'gw1.internal.example', 'token': 't'}, 'plain': {}}}", children: "${{'racks': {}}}"}
      listed: {hosts: ["${xr.spec.?name.orValue('other')}"]}
      nodes: {hosts: "${xr.spec.?nodes}", children: "${xr.spec.?groups}"}
`
		secret = `
runs:
- {name: app, role: a.b.c, varFiles: [{source: SecretKey, secretKeyRef: {name: "${xr.spec.secret}", key: vars}}]}
`
	)

	cases := map[string]struct {
		reason string
		input  string
		spec   string
		want   string
	}{
		"Connection":       {reason: "ansible_connection could run commands in the provider.", input: from, spec: `parameters: {ansible_connection: local}`, want: `varsFrom[0]: "ansible_connection" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"SSHArguments":     {reason: "Arguments of ssh could run commands in the provider.", input: from, spec: `parameters: {ansible_ssh_common_args: -oProxyCommand=id}`, want: `varsFrom[0]: "ansible_ssh_common_args" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"ByConversion":     {reason: "A name is checked after its conversion to snake case.", input: from, spec: `parameters: {ansibleConnection: local}`, want: `varsFrom[0]: "ansible_connection" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"ProviderMeta":     {reason: "The state tells the content whether to remove what it has created.", input: from, spec: `parameters: {ansible_provider_meta: {managed_resource: {state: absent}}}`, want: `varsFrom[0]: "ansible_provider_meta" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"Magic":            {reason: "Magic variables cannot be replaced.", input: from, spec: `parameters: {hostvars: {}}`, want: `varsFrom[0]: "hostvars" cannot be the name of a variable: it has a meaning to Ansible`},
		"NoIdentifier":     {reason: "The name of a variable is an identifier: it is neither a template nor a line of the condition.", input: from, spec: `parameters: {"{{ x }}\nother: is fine": 1}`, want: `varsFrom[0]: "{{_x_}}\nother:_is_fine" cannot be the name of a variable: it must be an identifier`},
		"Collision":        {reason: "Two names that become the same after the conversion are refused.", input: from, spec: `parameters: {maxSize: 1, max_size: 2}`, want: `varsFrom[0]: "maxSize" and "max_size" both become "max_size"`},
		"NoObject":         {reason: "A value of varsFrom must be an object.", input: from, spec: `parameters: [a]`, want: `varsFrom[0]: must be an object, each field of which is a variable`},
		"HostIsOption":     {reason: "An address becomes an argument of ssh, so it must not be an option.", input: vars, spec: `host: "-oProxyCommand=id"`, want: `vars.ansible_host: "-oProxyCommand=id" is not the address of a host`},
		"UserIsOption":     {reason: "A user becomes an argument of ssh, so it must not be an option.", input: vars, spec: `host: a, user: "x\" ProxyCommand=\"id"`, want: `vars.ansible_user: "x\" ProxyCommand=\"id" is not the name of a user`},
		"PortIsText":       {reason: "A port must be a number.", input: vars, spec: `host: a, port: "22 -oProxyCommand=id"`, want: `vars.ansible_port: "22 -oProxyCommand=id" is not the number of a port`},
		"InventoryOption":  {reason: "The name of a host becomes an argument of ssh, so it must not be an option.", input: hosts, spec: `hosts: ["-oProxyCommand=id"]`, want: `inventories[0].yaml.all.hosts[0]: "-oProxyCommand=id" cannot be the name of a host: it must be letters, digits, '_', '.' and '-', and not start with '-' or '.'`},
		"InventoryRange":   {reason: "A large range of hosts would exhaust the memory of the provider.", input: hosts, spec: `hosts: {"a[1:99999999]": {}}`, want: `inventories[0].yaml.all.hosts: "a[1:99999999]" cannot be the name of a host: it must be letters, digits, '_', '.' and '-', and not start with '-' or '.'`},
		"InventoryOwn":     {reason: "The provider itself is not a target.", input: hosts, spec: `hosts: [localhost]`, want: `inventories[0].yaml.all.hosts[0]: "localhost" cannot be the name of a host: it is the provider itself, where a run without an inventory works`},
		"InventoryLoop":    {reason: "Another form of localhost is the provider, too.", input: hosts, spec: `hosts: [LOCALHOST.]`, want: `inventories[0].yaml.all.hosts[0]: "LOCALHOST." cannot be the name of a host: it is the provider itself, where a run without an inventory works`},
		"InventoryIPv6":    {reason: "Another name of localhost in /etc/hosts is the provider, too.", input: hosts, spec: `hosts: [ip6-localhost]`, want: `inventories[0].yaml.all.hosts[0]: "ip6-localhost" cannot be the name of a host: it is the provider itself, where a run without an inventory works`},
		"AddressOwn":       {reason: "Some actions work without a connection if the address is local: synchronize would write files of the provider.", input: vars, spec: `host: 127.0.0.1`, want: `vars.ansible_host: "127.0.0.1" is the address of the provider itself, where a run without an inventory works`},
		"AddressOwnIPv6":   {reason: "The IPv6 loopback address is the provider, too.", input: vars, spec: `host: "::1"`, want: `vars.ansible_host: "::1" is the address of the provider itself, where a run without an inventory works`},
		"AddressMapped":    {reason: "A loopback address mapped to IPv6 is the provider, too.", input: vars, spec: `host: "::ffff:127.0.0.1"`, want: `vars.ansible_host: "::ffff:127.0.0.1" is the address of the provider itself, where a run without an inventory works`},
		"AddressAny":       {reason: "The unspecified address is the provider, too.", input: vars, spec: `host: 0.0.0.0`, want: `vars.ansible_host: "0.0.0.0" is the address of the provider itself, where a run without an inventory works`},
		"ForgedLine":       {reason: "A name in a message of the condition does not add a line to the condition.", input: hosts, spec: `hosts: {"a\nother: is fine": {b: {}, "-": 1}}`, want: `inventories[0].yaml.all.hosts: "a\nother: is fine" cannot be the name of a host: it must be letters, digits, '_', '.' and '-', and not start with '-' or '.'` + "\n" + `app: inventories[0].yaml.all.hosts.a other: is fine: "-" cannot be the name of a variable: it must be an identifier`},
		"MapIsOption":      {reason: "An address in a map of hosts must not be an option of ssh.", input: hosts, spec: `hosts: {a: {ansible_host: "-oProxyCommand=id"}}`, want: `inventories[0].yaml.all.hosts.a.ansible_host: "-oProxyCommand=id" is not the address of a host`},
		"MapIsTemplate":    {reason: "An address in a map of hosts must not be a template.", input: hosts, spec: `hosts: {a: {ansible_host: "{{ 1 }}"}}`, want: `inventories[0].yaml.all.hosts.a.ansible_host: "{{ 1 }}" is not the address of a host`},
		"MapIsTwo":         {reason: "An address in a map of hosts must be one word.", input: hosts, spec: `hosts: {a: {ansible_host: "a -oProxyCommand=id"}}`, want: `inventories[0].yaml.all.hosts.a.ansible_host: "a -oProxyCommand=id" is not the address of a host`},
		"MapIsLines":       {reason: "An address in a map of hosts must be one line.", input: hosts, spec: `hosts: {a: {ansible_host: "a\n"}}`, want: `inventories[0].yaml.all.hosts.a.ansible_host: "a\n" is not the address of a host`},
		"MapOwn":           {reason: "An address in a map of hosts must not be the provider.", input: hosts, spec: `hosts: {a: {ansible_host: localhost}}`, want: `inventories[0].yaml.all.hosts.a.ansible_host: "localhost" is the address of the provider itself, where a run without an inventory works`},
		"MapUser":          {reason: "A user in a map of hosts must not be an option of ssh.", input: hosts, spec: `hosts: {a: {ansible_user: "-l root"}}`, want: `inventories[0].yaml.all.hosts.a.ansible_user: "-l root" is not the name of a user`},
		"MapPort":          {reason: "A port in a map of hosts must be a number.", input: hosts, spec: `hosts: {a: {ansible_port: "22"}}`, want: `inventories[0].yaml.all.hosts.a.ansible_port: "22" is not the number of a port`},
		"MapPortRange":     {reason: "A port in a map of hosts must be at most 65535.", input: hosts, spec: `hosts: {a: {ansible_port: 65536}}`, want: `inventories[0].yaml.all.hosts.a.ansible_port: 65536 is not the number of a port`},
		"MapPassword":      {reason: "The program that reads a password would read the lines after it as its input.", input: hosts, spec: `hosts: {a: {ansible_become_password: "x\nimport os"}}`, want: `inventories[0].yaml.all.hosts.a.ansible_become_password: a password is one line of text`},
		"MapArguments":     {reason: "Arguments of ssh in a map of hosts could run commands in the provider.", input: hosts, spec: `hosts: {a: {ansible_ssh_args: -oProxyCommand=id}}`, want: `inventories[0].yaml.all.hosts.a: "ansible_ssh_args" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"MapExecutable":    {reason: "An executable in a map of hosts could run commands in the provider.", input: hosts, spec: `hosts: {a: {ansible_ssh_executable: /bin/sh}}`, want: `inventories[0].yaml.all.hosts.a: "ansible_ssh_executable" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"MapInterpreter":   {reason: "An interpreter in a map of hosts could run commands in the provider.", input: hosts, spec: `hosts: {a: {ansible_python_interpreter: /bin/sh}}`, want: `inventories[0].yaml.all.hosts.a: "ansible_python_interpreter" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"GroupIsOption":    {reason: "A connection variable of a computed group would apply to all of its hosts.", input: children, spec: `groups: {a: {vars: {ansible_host: -oProxyCommand=id}}}`, want: `inventories[0].yaml.all.children.a.vars: "ansible_host" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"TakesHost":        {reason: "A computed host cannot change the address of a literal host, which has a password.", input: literal, spec: `nodes: {gateway: {ansible_host: evil.example}}`, want: taken("nodes.hosts", "gateway")},
		"TakesRange":       {reason: "A computed host cannot be one of a literal range.", input: literal, spec: `nodes: [web07]`, want: taken("nodes.hosts[0]", "web07")},
		"TakesListed":      {reason: "A computed host cannot be one of a literal list.", input: literal, spec: `name: db`, want: taken("listed.hosts[1]", "db")},
		"TakesGroup":       {reason: "A computed group cannot add hosts to a literal group.", input: literal, spec: `groups: {inner: {hosts: [a]}}`, want: taken("nodes.children", "inner")},
		"HostIsGroup":      {reason: "A computed host cannot have the name of a literal group, which patterns would select.", input: literal, spec: `nodes: [infra]`, want: taken("nodes.hosts[0]", "infra")},
		"GroupIsHost":      {reason: "A computed group cannot have the name of a literal host.", input: literal, spec: `groups: {gateway: {}}`, want: taken("nodes.children", "gateway")},
		"HostIsAll":        {reason: "A computed host cannot be called all.", input: literal, spec: `nodes: [all]`, want: taken("nodes.hosts[0]", "all")},
		"ComputedMoves":    {reason: "A computed host cannot change the address of a host of another expression.", input: computed, spec: `nodes: {gw1: {ansible_host: evil.example}}`, want: again("nodes.hosts", "gw1", "infra.hosts")},
		"ComputedAdds":     {reason: "A computed host cannot add variables to a host of another expression.", input: computed, spec: `nodes: {plain: {a: 1}}`, want: again("nodes.hosts", "plain", "infra.hosts")},
		"ComputedJoins":    {reason: "A computed host with variables cannot join another group, which may have other variables.", input: computed, spec: `name: gw1`, want: again("listed.hosts[0]", "gw1", "infra.hosts")},
		"ComputedGroup":    {reason: "A computed group cannot add hosts to a group of another expression.", input: computed, spec: `groups: {racks: {hosts: [a]}}`, want: again("nodes.children", "racks", "infra.children")},
		"ComputedNested":   {reason: "A nested computed group cannot have the name of a group of another expression.", input: computed, spec: `groups: {a: {children: {racks: {}}}}`, want: again("nodes.children.a.children", "racks", "infra.children")},
		"ComputedBoth":     {reason: "A computed host cannot have the name of a computed group.", input: computed, spec: `nodes: [racks]`, want: again("nodes.hosts[0]", "racks", "infra.children")},
		"ComputedBothWays": {reason: "A computed group cannot have the name of a computed host.", input: computed, spec: `groups: {plain: {}}`, want: again("nodes.children", "plain", "infra.hosts")},
		"TakesIdentifier":  {reason: "A computed group cannot have the name that Ansible may make of the name of a literal group.", input: literal, spec: `groups: {data_bases: {hosts: [a]}}`, want: taken("nodes.children", "data_bases")},
		"GroupMoves":       {reason: "Computed names of group variables cannot be connection variables, since the group may have other hosts.", input: literal, spec: `vars: {ansible_port: 22}`, want: `inventories[0].yaml.one.vars: "ansible_port" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"LiteralMoves":     {reason: "Computed names of variables of a literal host cannot be connection variables.", input: literal, spec: `one: {ansible_host: evil.example}`, want: `inventories[0].yaml.one.hosts.node: "ansible_host" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"FromAddress":      {reason: "A computed address for the whole run would send all hosts to one.", input: from, spec: `parameters: {ansible_host: a}`, want: `varsFrom[0]: "ansible_host" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"AddressNumber":    {reason: "A loopback address may be one decimal number.", input: vars, spec: `host: "2130706433"`, want: `vars.ansible_host: "2130706433" is the address of the provider itself, where a run without an inventory works`},
		"AddressHex":       {reason: "A loopback address may be in hexadecimal notation.", input: vars, spec: `host: 0x7f.1`, want: `vars.ansible_host: "0x7f.1" is the address of the provider itself, where a run without an inventory works`},
		"AddressOctal":     {reason: "A loopback address may be in octal notation.", input: vars, spec: `host: 0177.0.0.1`, want: `vars.ansible_host: "0177.0.0.1" is the address of the provider itself, where a run without an inventory works`},
		"AddressZero":      {reason: "0 is the local machine for ssh.", input: hosts, spec: `hosts: ["0"]`, want: `inventories[0].yaml.all.hosts[0]: "0" cannot be the name of a host: it is the provider itself, where a run without an inventory works`},
		"InventoryVars":    {reason: "The names of variables of computed hosts have the same rules.", input: hosts, spec: `hosts: {a: {ansible_connection: local}}`, want: `inventories[0].yaml.all.hosts.a: "ansible_connection" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"InventoryGroup":   {reason: "The computed name of a group must be an identifier.", input: children, spec: `groups: {"!all": {}}`, want: `inventories[0].yaml.all.children: "!all" cannot be the name of a group: it must be an identifier`},
		"InventoryPlugin":  {reason: "A group named plugin would make the inventory the configuration of a plugin.", input: children, spec: `groups: {plugin: {}}`, want: `inventories[0].yaml.all.children: "plugin" cannot be the name of a group: it makes Ansible take the inventory for the configuration of a plugin`},
		"InventoryUnknown": {reason: "A computed group has only the fields hosts, vars and children.", input: children, spec: `groups: {a: {plugin: x}}`, want: `inventories[0].yaml.all.children.a: a group has hosts, vars and children only, not "plugin"`},
		"InventoryShape":   {reason: "The types of a computed inventory are checked.", input: children, spec: `groups: {a: {hosts: [1], vars: x}}`, want: "inventories[0].yaml.all.children.a.hosts[0]: must be the name of a host\napp: inventories[0].yaml.all.children.a.vars: must be an object"},
		"OtherNamespace":   {reason: "The name of an object must not lead to another namespace.", input: secret, spec: `secret: ../other/secret`, want: `varFiles[0].secretKeyRef.name: "../other/secret" cannot be the name of an object`},
		"AddressIsNumber":  {reason: "A message has the value as it was written.", input: vars, spec: "host: 5", want: "vars.ansible_host: 5 is not the address of a host"},
		"NotAName":         {reason: "The name of an object must be a string.", input: secret, spec: `secret: {name: x}`, want: `varFiles[0].secretKeyRef.name: {"name":"x"} cannot be the name of an object`},
		"Label":            {reason: "The API server would refuse an invalid label, and with it the whole XR.", input: "\nruns:\n- {name: app, role: a.b.c, labels: {a: \"${xr.spec.a}\"}}\n", spec: `a: "x y"`, want: `labels.a: "x y" cannot be the value of a label`},
		"RequiredAll":      {reason: "A selector without labels would select all resources.", input: "\nrequiredResources: {all: {apiVersion: v1, kind: Secret, matchLabels: {team: \"${xr.spec.?team}\"}}}\nruns:\n- {name: app, role: a.b.c, vars: {a: \"${required.all}\"}}\n", spec: `a: b`, want: `requiredResources.all.matchLabels: no label is set, and all resources would match`},
		"RequiredName":     {reason: "The name of a required resource must not lead to another namespace.", input: "\nrequiredResources: {settings: {apiVersion: v1, kind: ConfigMap, matchName: settings, namespace: platform}, network: {apiVersion: v1, kind: ConfigMap, matchName: \"${xr.spec.network}\"}}\nruns:\n- {name: app, role: a.b.c, vars: {a: \"${required.network}\", b: \"${required.settings}\"}}\n", spec: `network: "*"`, want: `requiredResources.network.matchName: "*" cannot be the name of an object`},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := step{reason: tc.reason, input: tc.input, spec: tc.spec}
			s.response = "desired: {composite: {ready: READY_FALSE}}" + warned("FALSE", "InvalidValue", "app: "+tc.want)

			if name == "RequiredName" {
				s.response += "requirements: {resources: {settings: {apiVersion: v1, kind: ConfigMap, matchName: settings, namespace: platform}}}\n"
			}

			s.check(t)
		})
	}
}

// taken returns the message about a computed name that the literal inventory has, too.
func taken(path, name string) string {
	return fmt.Sprintf("inventories[0].yaml.%s: %q cannot be computed: the inventory has a host or a group of that name", path, name)
}

// again returns the message about a name that another expression computes, too.
func again(path, name, first string) string {
	return fmt.Sprintf("inventories[0].yaml.%s: %q cannot be computed again: inventories[0].yaml.%s has it, and only a host with the same variables "+
		"may be in several places", path, name, first)
}

// TestWorkIsLimited checks that all expressions for an XR share one budget, even those without a result.
func TestWorkIsLimited(t *testing.T) {
	const fields = 20_000

	req := step{runs: `
- name: app
  forEach: "${lists.range(1000).map(i, string(i))}"
  varsFrom: [{value: "${xr.spec.large}", include: [none], keys: SnakeCase}]`, spec: "large: {}"}.request(t)

	large := req.GetObserved().GetComposite().GetResource().GetFields()["spec"].GetStructValue().GetFields()["large"].GetStructValue()
	large.Fields = map[string]*structpb.Value{}

	for i := range fields {
		large.Fields[fmt.Sprintf("fieldNumber%d", i)] = structpb.NewNumberValue(1)
	}

	rsp := respond(t, req)

	if got := said(rsp); !strings.Contains(got, "the expressions for this XR take too much work together") {
		t.Errorf("RunFunction(...): want an end of the work, got %.200q", got)
	}

	// The work before the limit is bounded.
	if got := len(rsp.GetDesired().GetResources()); got > 100 {
		t.Errorf("RunFunction(...): want a few runs, got %d", got)
	}
}

// TestMessagesAreLimited checks that the messages about values that cannot be computed are limited together.
func TestMessagesAreLimited(t *testing.T) {
	const size = 1 << 20

	for _, source := range []string{"resources[xr.spec.large].x", "environment[xr.spec.large]", "xr.spec[xr.spec.large]", "cidr(xr.spec.large)"} {
		req := step{runs: `[{name: app, forEach: "${lists.range(300).map(i, string(i))}", vars: {x: "${` + source + `}"}}]`}.request(t)
		req.GetObserved().GetComposite().GetResource().GetFields()["spec"] = structpb.NewStructValue(structOf(map[string]any{"large": strings.Repeat("x", size)}))

		if _, got := allocated(t, req); got > 1000 {
			t.Errorf("%s: want at most 1000 MiB for 300 runs, got %d", source, got)
		}
	}
}

// allocated returns the memory that a response allocates, in MiB.
func allocated(t *testing.T, req *fnv1.RunFunctionRequest) (rsp *fnv1.RunFunctionResponse, mib uint64) {
	t.Helper()

	var before, after runtime.MemStats

	runtime.ReadMemStats(&before)

	rsp = respondOnce(t, req)

	runtime.ReadMemStats(&after)

	return rsp, (after.TotalAlloc - before.TotalAlloc) >> 20
}

// TestValuesAreLimited checks that the rendered values for one XR are limited together.
func TestValuesAreLimited(t *testing.T) {
	const (
		values = "the values for this XR are larger than 12 MiB together; compose fewer runs in one XR, or runs with smaller values"
		state  = "compose fewer or smaller AnsibleRuns in one XR"
	)

	for variables, want := range map[string]string{
		`vars: {x: "${xr.spec.large}"}`: values, `vars: {x: "${locals.large}"}`: values, `varsFrom: [{value: "${{'x': xr.spec.large}}"}]`: values,
		`inventories: [{yaml: {all: {vars: {x: "${xr.spec.large}"}}}}]`: values, `inventories: [{yaml: {all: {children: "${xr.spec.deep}"}}}]`: state,
	} {
		req := step{locals: `large: "${xr.spec.large}"`, runs: `[{name: app, forEach: "${lists.range(1000).map(i, string(i))}", ` + variables + `}]`}.request(t)

		large := make([]any, 10_000)
		for i := range large {
			large[i] = map[string]any{}
		}

		req.GetObserved().GetComposite().GetResource().GetFields()["spec"] = structpb.NewStructValue(structOf(map[string]any{"large": large, "deep": nested(1500)}))

		rsp, mib := allocated(t, req)
		if mib > 500 {
			t.Errorf("%s: want at most 500 MiB for 1000 runs, got %d", variables, mib)
		}

		if got := said(rsp); !strings.Contains(got, want) {
			t.Errorf("%s: want an error that says what to do, got %.500q", variables, got)
		}
	}
}

// The work for an XR does not include the validation of lists, which each member of a set has.
func TestChecksAreLimited(t *testing.T) {
	tags := make([]any, 500)
	for i := range tags {
		tags[i] = "a"
	}

	req := step{runs: `[{name: app, role: a.b.c, forEach: "${lists.range(100).map(i, string(i + 1))}", tags: "${xr.spec.tags}"}]`}.request(t)
	req.GetObserved().GetComposite().GetResource().GetFields()["spec"] = structpb.NewStructValue(structOf(map[string]any{"tags": tags}))

	rsp, mib := allocated(t, req)
	if got := len(rsp.GetDesired().GetResources()); got != 100 || mib > 80 {
		t.Errorf("want at most 80 MiB for 100 runs, got %d for %d", mib, got)
	}
}

// nested returns nested groups of an inventory. Their YAML is much larger than JSON because of its indentation.
func nested(depth int) map[string]any {
	groups := map[string]any{}
	for i := range depth {
		groups = map[string]any{"a" + strconv.Itoa(i): map[string]any{"children": groups}}
	}

	return groups
}

// TestDigest has inputs that look like another one, whatever their encoding. With equal digests, the plan of the other
// input would be used.
func TestDigest(t *testing.T) {
	text := strings.Repeat("x", 110)

	var digests [][sha256.Size]byte

	for _, list := range [][]any{{true, text + "t\x01x"}, {"uetq" + text, "x"}} {
		digests = append(digests, digest(structOf(map[string]any{"list": list})))
	}

	if digests[0] == digests[1] {
		t.Error("Other inputs have another digest: a value must not read as the beginning of another one.")
	}
}
