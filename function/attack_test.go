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

// The author of an XR chooses values, and nothing else.
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
		"Connection":       {reason: "It runs commands in the provider.", input: from, spec: `parameters: {ansible_connection: local}`, want: `varsFrom[0]: "ansible_connection" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"SSHArguments":     {reason: "So do these.", input: from, spec: `parameters: {ansible_ssh_common_args: -oProxyCommand=id}`, want: `varsFrom[0]: "ansible_ssh_common_args" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"ByConversion":     {reason: "A name may become one only when it is converted.", input: from, spec: `parameters: {ansibleConnection: local}`, want: `varsFrom[0]: "ansible_connection" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"ProviderMeta":     {reason: "It tells content whether to remove what it made.", input: from, spec: `parameters: {ansible_provider_meta: {managed_resource: {state: absent}}}`, want: `varsFrom[0]: "ansible_provider_meta" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"Magic":            {reason: "Ansible's own knowledge of hosts cannot be replaced.", input: from, spec: `parameters: {hostvars: {}}`, want: `varsFrom[0]: "hostvars" cannot be the name of a variable: it has a meaning to Ansible`},
		"NoIdentifier":     {reason: "A name is a name, not a template, nor a line of the condition.", input: from, spec: `parameters: {"{{ x }}\nother: is fine": 1}`, want: `varsFrom[0]: "{{_x_}}\nother:_is_fine" cannot be the name of a variable: it must be an identifier`},
		"Collision":        {reason: "Which of two values counts is not left to chance.", input: from, spec: `parameters: {maxSize: 1, max_size: 2}`, want: `varsFrom[0]: "maxSize" and "max_size" both become "max_size"`},
		"NoObject":         {reason: "Only objects have fields.", input: from, spec: `parameters: [a]`, want: `varsFrom[0]: must be an object, each field of which is a variable`},
		"HostIsOption":     {reason: "An address is an argument of ssh.", input: vars, spec: `host: "-oProxyCommand=id"`, want: `vars.ansible_host: "-oProxyCommand=id" is not the address of a host`},
		"UserIsOption":     {reason: "So is a user.", input: vars, spec: `host: a, user: "x\" ProxyCommand=\"id"`, want: `vars.ansible_user: "x\" ProxyCommand=\"id" is not the name of a user`},
		"PortIsText":       {reason: "A port is a number.", input: vars, spec: `host: a, port: "22 -oProxyCommand=id"`, want: `vars.ansible_port: "22 -oProxyCommand=id" is not the number of a port`},
		"InventoryOption":  {reason: "The name of a host is an argument of ssh, too.", input: hosts, spec: `hosts: ["-oProxyCommand=id"]`, want: `inventories[0].yaml.all.hosts[0]: "-oProxyCommand=id" cannot be the name of a host: it must be letters, digits, '_', '.' and '-', and not start with '-' or '.'`},
		"InventoryRange":   {reason: "A range of hosts makes the provider run out of memory.", input: hosts, spec: `hosts: {"a[1:99999999]": {}}`, want: `inventories[0].yaml.all.hosts: "a[1:99999999]" cannot be the name of a host: it must be letters, digits, '_', '.' and '-', and not start with '-' or '.'`},
		"InventoryOwn":     {reason: "The provider is not a target.", input: hosts, spec: `hosts: [localhost]`, want: `inventories[0].yaml.all.hosts[0]: "localhost" cannot be the name of a host: it is the provider itself, where a run without an inventory works`},
		"InventoryLoop":    {reason: "Nor by another of its names.", input: hosts, spec: `hosts: [LOCALHOST.]`, want: `inventories[0].yaml.all.hosts[0]: "LOCALHOST." cannot be the name of a host: it is the provider itself, where a run without an inventory works`},
		"InventoryIPv6":    {reason: "Systems have more of them in /etc/hosts.", input: hosts, spec: `hosts: [ip6-localhost]`, want: `inventories[0].yaml.all.hosts[0]: "ip6-localhost" cannot be the name of a host: it is the provider itself, where a run without an inventory works`},
		"AddressOwn":       {reason: "Some actions do without a connection where an address is the provider's: synchronize would write its files.", input: vars, spec: `host: 127.0.0.1`, want: `vars.ansible_host: "127.0.0.1" is the address of the provider itself, where a run without an inventory works`},
		"AddressOwnIPv6":   {reason: "There are several of them.", input: vars, spec: `host: "::1"`, want: `vars.ansible_host: "::1" is the address of the provider itself, where a run without an inventory works`},
		"AddressMapped":    {reason: "And many ways to write them.", input: vars, spec: `host: "::ffff:127.0.0.1"`, want: `vars.ansible_host: "::ffff:127.0.0.1" is the address of the provider itself, where a run without an inventory works`},
		"AddressAny":       {reason: "No address is the own one, too.", input: vars, spec: `host: 0.0.0.0`, want: `vars.ansible_host: "0.0.0.0" is the address of the provider itself, where a run without an inventory works`},
		"ForgedLine":       {reason: "A name that is quoted in the condition adds no line to it.", input: hosts, spec: `hosts: {"a\nother: is fine": {b: {}, "-": 1}}`, want: `inventories[0].yaml.all.hosts: "a\nother: is fine" cannot be the name of a host: it must be letters, digits, '_', '.' and '-', and not start with '-' or '.'` + "\n" + `app: inventories[0].yaml.all.hosts.a other: is fine: "-" cannot be the name of a variable: it must be an identifier`},
		"MapIsOption":      {reason: "An address in a map of hosts is an argument of ssh, too.", input: hosts, spec: `hosts: {a: {ansible_host: "-oProxyCommand=id"}}`, want: `inventories[0].yaml.all.hosts.a.ansible_host: "-oProxyCommand=id" is not the address of a host`},
		"MapIsTemplate":    {reason: "It is an address, not a template.", input: hosts, spec: `hosts: {a: {ansible_host: "{{ 1 }}"}}`, want: `inventories[0].yaml.all.hosts.a.ansible_host: "{{ 1 }}" is not the address of a host`},
		"MapIsTwo":         {reason: "It is one word.", input: hosts, spec: `hosts: {a: {ansible_host: "a -oProxyCommand=id"}}`, want: `inventories[0].yaml.all.hosts.a.ansible_host: "a -oProxyCommand=id" is not the address of a host`},
		"MapIsLines":       {reason: "It is one line.", input: hosts, spec: `hosts: {a: {ansible_host: "a\n"}}`, want: `inventories[0].yaml.all.hosts.a.ansible_host: "a\n" is not the address of a host`},
		"MapOwn":           {reason: "It is not the provider's.", input: hosts, spec: `hosts: {a: {ansible_host: localhost}}`, want: `inventories[0].yaml.all.hosts.a.ansible_host: "localhost" is the address of the provider itself, where a run without an inventory works`},
		"MapUser":          {reason: "A user is an argument of ssh.", input: hosts, spec: `hosts: {a: {ansible_user: "-l root"}}`, want: `inventories[0].yaml.all.hosts.a.ansible_user: "-l root" is not the name of a user`},
		"MapPort":          {reason: "A port is a number.", input: hosts, spec: `hosts: {a: {ansible_port: "22"}}`, want: `inventories[0].yaml.all.hosts.a.ansible_port: "22" is not the number of a port`},
		"MapPortRange":     {reason: "There are 65535 of them.", input: hosts, spec: `hosts: {a: {ansible_port: 65536}}`, want: `inventories[0].yaml.all.hosts.a.ansible_port: 65536 is not the number of a port`},
		"MapPassword":      {reason: "What follows a password is read by what it starts.", input: hosts, spec: `hosts: {a: {ansible_become_password: "x\nimport os"}}`, want: `inventories[0].yaml.all.hosts.a.ansible_become_password: a password is one line of text`},
		"MapArguments":     {reason: "All else that Ansible knows of a connection runs commands.", input: hosts, spec: `hosts: {a: {ansible_ssh_args: -oProxyCommand=id}}`, want: `inventories[0].yaml.all.hosts.a: "ansible_ssh_args" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"MapExecutable":    {reason: "So does this.", input: hosts, spec: `hosts: {a: {ansible_ssh_executable: /bin/sh}}`, want: `inventories[0].yaml.all.hosts.a: "ansible_ssh_executable" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"MapInterpreter":   {reason: "And this.", input: hosts, spec: `hosts: {a: {ansible_python_interpreter: /bin/sh}}`, want: `inventories[0].yaml.all.hosts.a: "ansible_python_interpreter" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"GroupIsOption":    {reason: "The variables of a group are those of its hosts.", input: children, spec: `groups: {a: {vars: {ansible_host: -oProxyCommand=id}}}`, want: `inventories[0].yaml.all.children.a.vars: "ansible_host" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"TakesHost":        {reason: "A host of the Composition, which has a password, stays where it is.", input: literal, spec: `nodes: {gateway: {ansible_host: evil.example}}`, want: taken("nodes.hosts", "gateway")},
		"TakesRange":       {reason: "So does one of a range.", input: literal, spec: `nodes: [web07]`, want: taken("nodes.hosts[0]", "web07")},
		"TakesListed":      {reason: "So does one of a list.", input: literal, spec: `name: db`, want: taken("listed.hosts[1]", "db")},
		"TakesGroup":       {reason: "A group of the Composition has its hosts only.", input: literal, spec: `groups: {inner: {hosts: [a]}}`, want: taken("nodes.children", "inner")},
		"HostIsGroup":      {reason: "A host with the name of a group would be selected like it.", input: literal, spec: `nodes: [infra]`, want: taken("nodes.hosts[0]", "infra")},
		"GroupIsHost":      {reason: "And the other way round.", input: literal, spec: `groups: {gateway: {}}`, want: taken("nodes.children", "gateway")},
		"HostIsAll":        {reason: "No host is all of them.", input: literal, spec: `nodes: [all]`, want: taken("nodes.hosts[0]", "all")},
		"ComputedMoves":    {reason: "A host that another expression computes stays where it is.", input: computed, spec: `nodes: {gw1: {ansible_host: evil.example}}`, want: again("nodes.hosts", "gw1", "infra.hosts")},
		"ComputedAdds":     {reason: "It has the variables that it has.", input: computed, spec: `nodes: {plain: {a: 1}}`, want: again("nodes.hosts", "plain", "infra.hosts")},
		"ComputedJoins":    {reason: "It is in no group that might give it others.", input: computed, spec: `name: gw1`, want: again("listed.hosts[0]", "gw1", "infra.hosts")},
		"ComputedGroup":    {reason: "A computed group has its hosts only.", input: computed, spec: `groups: {racks: {hosts: [a]}}`, want: again("nodes.children", "racks", "infra.children")},
		"ComputedNested":   {reason: "So has one in another one.", input: computed, spec: `groups: {a: {children: {racks: {}}}}`, want: again("nodes.children.a.children", "racks", "infra.children")},
		"ComputedBoth":     {reason: "No host is called like a group.", input: computed, spec: `nodes: [racks]`, want: again("nodes.hosts[0]", "racks", "infra.children")},
		"ComputedBothWays": {reason: "And no group like a host.", input: computed, spec: `groups: {plain: {}}`, want: again("nodes.children", "plain", "infra.hosts")},
		"TakesIdentifier":  {reason: "Ansible may make this of the name of a group.", input: literal, spec: `groups: {data_bases: {hosts: [a]}}`, want: taken("nodes.children", "data_bases")},
		"GroupMoves":       {reason: "A group may have hosts from elsewhere.", input: literal, spec: `vars: {ansible_port: 22}`, want: `inventories[0].yaml.one.vars: "ansible_port" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"LiteralMoves":     {reason: "So may a host that the Composition names.", input: literal, spec: `one: {ansible_host: evil.example}`, want: `inventories[0].yaml.one.hosts.node: "ansible_host" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"FromAddress":      {reason: "As a variable of the whole run it would lead all hosts to one.", input: from, spec: `parameters: {ansible_host: a}`, want: `varsFrom[0]: "ansible_host" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"AddressNumber":    {reason: "An address may be a number.", input: vars, spec: `host: "2130706433"`, want: `vars.ansible_host: "2130706433" is the address of the provider itself, where a run without an inventory works`},
		"AddressHex":       {reason: "It may be several, in any notation.", input: vars, spec: `host: 0x7f.1`, want: `vars.ansible_host: "0x7f.1" is the address of the provider itself, where a run without an inventory works`},
		"AddressOctal":     {reason: "This one is 127.0.0.1.", input: vars, spec: `host: 0177.0.0.1`, want: `vars.ansible_host: "0177.0.0.1" is the address of the provider itself, where a run without an inventory works`},
		"AddressZero":      {reason: "To ssh it is the own machine.", input: hosts, spec: `hosts: ["0"]`, want: `inventories[0].yaml.all.hosts[0]: "0" cannot be the name of a host: it is the provider itself, where a run without an inventory works`},
		"InventoryVars":    {reason: "Computed variables of hosts have the same rules.", input: hosts, spec: `hosts: {a: {ansible_connection: local}}`, want: `inventories[0].yaml.all.hosts.a: "ansible_connection" cannot be the name of a variable: those that start with ansible_ are Ansible's own`},
		"InventoryGroup":   {reason: "The name of a group is an identifier.", input: children, spec: `groups: {"!all": {}}`, want: `inventories[0].yaml.all.children: "!all" cannot be the name of a group: it must be an identifier`},
		"InventoryPlugin":  {reason: "An inventory must not become the configuration of a plugin.", input: children, spec: `groups: {plugin: {}}`, want: `inventories[0].yaml.all.children: "plugin" cannot be the name of a group: it makes Ansible take the inventory for the configuration of a plugin`},
		"InventoryUnknown": {reason: "A group has known parts only.", input: children, spec: `groups: {a: {plugin: x}}`, want: `inventories[0].yaml.all.children.a: a group has hosts, vars and children only, not "plugin"`},
		"InventoryShape":   {reason: "An inventory has a shape.", input: children, spec: `groups: {a: {hosts: [1], vars: x}}`, want: "inventories[0].yaml.all.children.a.hosts[0]: must be the name of a host\napp: inventories[0].yaml.all.children.a.vars: must be an object"},
		"OtherNamespace":   {reason: "A name cannot lead out of the namespace.", input: secret, spec: `secret: ../other/secret`, want: `varFiles[0].secretKeyRef.name: "../other/secret" cannot be the name of an object`},
		"AddressIsNumber":  {reason: "What is shown is what was written.", input: vars, spec: "host: 5", want: "vars.ansible_host: 5 is not the address of a host"},
		"NotAName":         {reason: "A name is a string.", input: secret, spec: `secret: {name: x}`, want: `varFiles[0].secretKeyRef.name: {"name":"x"} cannot be the name of an object`},
		"Label":            {reason: "What the API server would refuse stops the whole XR.", input: "\nruns:\n- {name: app, role: a.b.c, labels: {a: \"${xr.spec.a}\"}}\n", spec: `a: "x y"`, want: `labels.a: "x y" cannot be the value of a label`},
		"RequiredAll":      {reason: "A selector without labels selects everything.", input: "\nrequiredResources: {all: {apiVersion: v1, kind: Secret, matchLabels: {team: \"${xr.spec.?team}\"}}}\nruns:\n- {name: app, role: a.b.c, vars: {a: \"${required.all}\"}}\n", spec: `a: b`, want: `requiredResources.all.matchLabels: no label is set, and all resources would match`},
		"RequiredName":     {reason: "Nor can a name of what is required.", input: "\nrequiredResources: {settings: {apiVersion: v1, kind: ConfigMap, matchName: settings, namespace: platform}, network: {apiVersion: v1, kind: ConfigMap, matchName: \"${xr.spec.network}\"}}\nruns:\n- {name: app, role: a.b.c, vars: {a: \"${required.network}\", b: \"${required.settings}\"}}\n", spec: `network: "*"`, want: `requiredResources.network.matchName: "*" cannot be the name of an object`},
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

// taken is what is said of a computed name that the Composition has, too.
func taken(path, name string) string {
	return fmt.Sprintf("inventories[0].yaml.%s: %q cannot be computed: the inventory has a host or a group of that name", path, name)
}

// again is what is said of a name that is computed elsewhere, too.
func again(path, name, first string) string {
	return fmt.Sprintf("inventories[0].yaml.%s: %q cannot be computed again: inventories[0].yaml.%s has it, and only a host with the same variables "+
		"may be in several places", path, name, first)
}

// What an XR is large enough for is not done over and over again: all that is
// done for it has one budget, also where nothing comes out of it.
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

	// What was done before is not much.
	if got := len(rsp.GetDesired().GetResources()); got > 100 {
		t.Errorf("RunFunction(...): want a few runs, got %d", got)
	}
}

// Nor is what cannot be computed shown over and over again.
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

// allocated is what a response takes, in MiB.
func allocated(t *testing.T, req *fnv1.RunFunctionRequest) (rsp *fnv1.RunFunctionResponse, mib uint64) {
	t.Helper()

	var before, after runtime.MemStats

	runtime.ReadMemStats(&before)

	rsp = respondOnce(t, req)

	runtime.ReadMemStats(&after)

	return rsp, (after.TotalAlloc - before.TotalAlloc) >> 20
}

// Nor are values rendered over and over again: what is written for one XR is limited together.
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

// Nor are lists that a set has in each of its runs checked at length: the work for an XR does not count that.
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

// nested returns groups of an inventory, each in another one. As YAML, that is indented, they take much more than as JSON.
func nested(depth int) map[string]any {
	groups := map[string]any{}
	for i := range depth {
		groups = map[string]any{"a" + strconv.Itoa(i): map[string]any{"children": groups}}
	}

	return groups
}

// TestDigest has the input of a Composition look like that of another one, whose compiled form would be used.
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
