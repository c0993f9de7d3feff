package main

import (
	"strings"
	"testing"
)

// machine is what another step composes, as core has observed it.
func machine(name, status string) string {
	return `
    ` + name + `:
      resource:
        apiVersion: cloud.example.org/v1
        kind: Machine
        metadata: {name: app-` + name + `, namespace: default, uid: ` + name + `, generation: 2}
        spec: {size: 1}
        status: {` + status + `}`
}

// A run that refers to what another step composes comes after it, and goes before it.
func TestResources(t *testing.T) {
	const (
		runs = `
  - {name: setup, vars: {address: "${resources.machine.status.address}"}, when: "${xr.spec.?setup.orValue(true)}"}`
		optional = `
  - {name: setup, vars: {address: '${resources.?machine.?status.?address.orValue("none")}'}}`
		fleet = `
  - {name: setup, forEach: "${xr.spec.zones}", vars: {address: '${resources["machine-" + each.key].status.address}'}}`

		reported = `
status: {address: "${resources.machine.status.address}"}
conditions: [{type: Reachable, status: "${resources.machine.status.address != ''}"}]
connectionDetails: [{name: address, value: "${resources.machine.status.address}"}]`

		there     = `address: there, conditions: [{type: Ready, status: "True"}]`
		changing  = `address: there, conditions: [{type: Ready, status: "False"}]`
		stale     = `address: there, conditions: [{type: Ready, status: "True", observedGeneration: 1}]`
		composed  = `{machine: {resource: {apiVersion: cloud.example.org/v1, kind: Machine}}}`
		saysReady = `{machine: {ready: READY_TRUE, resource: {apiVersion: cloud.example.org/v1, kind: Machine}}}`
		saysNot   = `{machine: {ready: READY_FALSE, resource: {apiVersion: cloud.example.org/v1, kind: Machine}}}`
	)

	setup := existing("setup", "machine", "role: a.b.c, unsafeVars: {address: there}")
	departing := strings.Replace(setup, "    setup:", "    -", 1)

	cases := map[string]step{
		"NotThere": {
			reason: "What no step composes is waited for.",
			runs:   runs, observed: "{}", said: "DependencyNotReady setup: waiting for resource machine, which is not there yet",
		},
		"NoStatus": {
			reason: "What was not reconciled yet is not ready.",
			runs:   runs, observed: machine("machine", ""), said: "DependencyNotReady setup: waiting for resource machine (Machine), which is not ready",
		},
		"NotReady": {
			reason: "A run is not created before it is ready.",
			runs:   runs, observed: machine("machine", changing), said: "DependencyNotReady setup: waiting for resource machine (Machine), which is not ready",
		},
		"Stale": {
			reason: "A condition of another generation says nothing.",
			runs:   runs, observed: machine("machine", stale), said: "DependencyNotReady setup: waiting for resource machine (Machine), which is not ready",
		},
		"Deleted": {
			reason: "What is being deleted is not ready.",
			runs:   runs, observed: strings.Replace(machine("machine", there), "generation: 2", "generation: 2, deletionTimestamp: now", 1),
			said: "DependencyNotReady setup: waiting for resource machine, which is being deleted",
		},
		"Ready": {
			reason: "Then it is created.",
			runs:   runs, observed: machine("machine", there),
			want: "setup, setup uses machine", said: "Running setup: is running",
		},
		"SaysReady": {
			reason: "An earlier step knows better.",
			runs:   runs, observed: machine("machine", "address: there"), earlier: saysReady,
			want: "machine, setup, setup uses machine", said: "Running setup: is running",
		},
		"SaysNotReady": {
			reason: "An earlier step knows better.",
			runs:   runs, observed: machine("machine", there), earlier: saysNot,
			want: "machine", said: "DependencyNotReady setup: waiting for resource machine (Machine), which is not ready",
		},
		"NotReadyAnyMore": {
			reason: "A run that is there stays as it is until it is ready again.",
			runs:   runs, observed: machine("machine", strings.Replace(changing, "there", "elsewhere", 1)) + setup,
			want: "setup, setup uses machine", said: "DependencyNotReady setup: waiting for resource machine (Machine), which is not ready",
		},
		"Leaving": {
			reason: "A run that is not wanted goes. Until it is gone it uses what it was rendered after.",
			runs:   runs, spec: "setup: false", observed: machine("machine", there), departing: departing,
			want: "setup uses machine", said: "Available",
		},
		"Replaced": {
			reason: "A run that refers to another one now does not hold the old one: core would never compose the new one.",
			runs:   strings.Replace(runs, "machine", "other", 1), observed: machine("machine", there) + setup,
			want: "setup", said: "DependencyNotReady setup: waiting for resource other, which is not there yet",
		},
		"ReplacedInWhen": {
			reason:   "Neither does one of which it is not known yet whether it is wanted.",
			runs:     "\n  - {name: setup, when: '${resources.other.status.on}', vars: {address: '${resources.other.status.address}'}}",
			observed: machine("machine", there) + setup,
			want:     "setup", said: "DependencyNotReady setup: waiting for resource other, which is not there yet",
		},
		"StillComposed": {
			reason: "It holds the old one as long as an earlier step composes it: that is not to be deleted.",
			runs:   strings.Replace(runs, "machine", "other", 1), observed: machine("machine", there) + setup, earlier: composed,
			want: "machine, setup, setup uses machine", said: "DependencyNotReady setup: waiting for resource other, which is not there yet",
		},
		"BecomesSet": {
			reason:   "A run that has become a set holds it until the set has taken its place.",
			runs:     strings.Replace(runs, "name: setup", `name: setup, forEach: "${xr.status.zones}"`, 1),
			observed: machine("machine", there) + setup + using("setup", "machine"),
			want:     "setup, setup uses machine", said: "ValuePending setup: forEach: xr.status is not there yet",
		},
		"HeldInWhen": {
			reason:   "One that still refers to it does.",
			runs:     "\n  - {name: setup, when: '${resources.other.status.on}', vars: {address: '${resources.machine.status.address}'}}",
			observed: machine("machine", there) + setup,
			want:     "setup, setup uses machine", said: "DependencyNotReady setup: waiting for resource other, which is not there yet",
		},
		"OptionalNotThere": {
			reason: "A run that can do without does not wait.",
			runs:   optional, observed: "{}",
			want: "setup", said: "Running setup: is running",
		},
		"OptionalToBe": {
			reason: "But it does for what is to be.",
			runs:   optional, observed: "{}", earlier: composed,
			want: "machine", said: "DependencyNotReady setup: waiting for resource machine, which is not there yet",
		},
		"OptionalUsed": {
			reason: "It uses what is there.",
			runs:   optional, observed: machine("machine", there) + setup, earlier: composed,
			want: "machine, setup, setup uses machine", said: "Available",
		},
		"Fleet": {
			reason: "Names may be computed: each member has its own.",
			runs:   fleet, spec: "zones: [a, b, c]",
			observed: machine("machine-a", there) + machine("machine-b", changing) + existing("setup[a]", "machine-a", "role: a.b.c, unsafeVars: {address: there}"),
			want:     "setup[a], setup[a] uses machine-a",
			said:     "DependencyNotReady setup[b]: waiting for resource machine-b (Machine), which is not ready\nsetup[c]: waiting for resource machine-c, which is not there yet",
		},
		"OptionalDropped": {
			reason: "It does not keep what it can do without, and what no step composes any more: core would do nothing else.",
			runs:   optional, observed: machine("machine", there) + setup,
			want: "setup", said: "Available",
		},
		"UsagesFalse": {
			reason: "Usages can be done without.",
			runs:   strings.Replace(runs, "name: setup", "name: setup, usages: false", 1), observed: machine("machine", there) + setup,
			want: "setup", said: "Available",
		},
		"Local": {
			reason: "What a local refers to counts.",
			locals: `address: "${resources.machine.status.address}"`, runs: `[{name: setup, vars: {address: "${locals.address}"}}]`, observed: "{}",
			said: "DependencyNotReady setup: waiting for resource machine, which is not there yet",
		},
		"OwnRun": {
			reason: "A run is no resource of another step, whatever computes its name.",
			runs:   "\n  - {name: a}\n  - {name: b, vars: {x: '${resources[xr.spec.name].spec}'}}", spec: "name: a", observed: "{}",
			want: "a", said: "InvalidValue b: vars.x: resources[\"a\"]: is a run of this input; write runs.a\nRunning:\na: is running",
		},
		"Separator": {
			reason: "Names are listed in an annotation.",
			runs:   "\n  - {name: b, vars: {x: '${resources[xr.spec.name].spec}'}}", spec: `name: "a,b"`, observed: machine(`"a,b"`, there),
			said: "InvalidValue b: vars.x: resources[\"a,b\"]: cannot be referred to: the name must have 1 to 253 bytes, and neither commas nor spaces",
		},
		"Long": {
			reason: "What is waited for is shown for each run.",
			runs:   "\n  - {name: b, vars: {x: '${resources[xr.spec.name].spec}'}}", spec: "name: " + strings.Repeat("x", 254), observed: "{}",
			said: "InvalidValue b: vars.x: resources[\"" + strings.Repeat("x", 80) + "\"]: cannot be referred to: the name must have 1 to 253 bytes, and neither commas nor spaces",
		},
		"RunThatLeaves": {
			reason: "A run that has left the Composition is not kept by its name.",
			runs:   "\n  - {name: b, vars: {x: '${resources[xr.spec.name].kind}'}}", spec: "name: a", observed: existing("a", "", "role: x.y.z"),
			said: "DependencyNotReady b: waiting for resource a, which is not there yet",
		},
		"ConfigMap": {
			reason:   "Kubernetes' own kinds are ready when they are there.",
			runs:     strings.Replace(runs, "status.address", "data.address", 1),
			observed: "\n    machine: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {address: there}}}",
			want:     "setup, setup uses machine", said: "Running setup: is running",
		},
		"Deployment": {
			reason: "Some of them say when they are.",
			runs:   runs, observed: "\n    machine: {resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, status: {address: x}}}",
			said: "DependencyNotReady setup: waiting for resource machine (Deployment), which is not ready",
		},
		"Status": {
			reason: "The status of the XR, its conditions and connection details wait for it like the runs.",
			runs:   runs, input: reported, observed: "{}", earlier: composed,
			want: "machine", said: "DependencyNotReady setup: waiting for resource machine, which is not there yet",
			conditions: []string{"Reachable|UNKNOWN|ValuePending|"},
		},
		"StatusNever": {
			reason: "They do not wait for what no step composes.",
			runs:   "[{name: a}]", input: reported, observed: "{}",
			want:       "a",
			conditions: []string{"Reachable|UNKNOWN|ValuePending|conditions[0].status: resources.machine is not there yet"},
			said: "Running a: is running\n" +
				"InvalidStatus:\nstatus.address: resources.machine is not there yet\n" +
				"conditions[0].status: resources.machine is not there yet\n" +
				"connectionDetails[0].value: resources.machine is not there yet",
		},
		"StepsRun": {
			reason: "The AnsibleRun of another step is one of them.",
			runs:   runs, observed: strings.Replace(existing("machine", "", "role: a.b.c"), "status: {", "status: {address: there, ", 1), earlier: composed,
			want: "machine, setup, setup uses machine", said: "Running setup: is running",
		},
	}

	check(t, cases)
}

// What cannot be meant is a mistake.
func TestResourceMistakes(t *testing.T) {
	step{
		runs: `
- {name: a}
- {name: b, vars: {x: "${resources.a.spec}"}}
- {name: c, vars: {x: '${resources["my machine"].spec}'}}
- {name: d, vars: {x: "${resources.map(r, r)}"}}
- {name: e, vars: {x: "${[1].map(i, resources[string(i)].spec)}"}}`,
		input: `status: {x: "${resources.a.spec}"}`,
	}.mistakes(t,
		`runs[1]: Invalid value: "resources.a": is a run of this input; write runs.a`,
		`runs[2]: Invalid value: "resources.my machine": cannot be referred to: the name must have 1 to 253 bytes, and neither commas nor spaces`,
		`runs[3].vars.x: Invalid value: "${resources.map(r, r)}": resources must be followed by a name, as in resources.machine`,
		`runs[4].vars.x: Invalid value: "${[1].map(i, resources[string(i)].spec)}": the name of a resource can be computed only from roots such as xr and each, as in resources["disk-" + each.key]`,
		`status: Invalid value: "resources.a": is a run of this input; write runs.a`,
	)
}
