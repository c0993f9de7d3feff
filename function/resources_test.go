package main

import (
	"strings"
	"testing"
)

// machine returns an observed resource of another step.
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

// TestResources checks that a run that refers to a resource of another step is created after it, and deleted before it.
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
			reason: "A run waits for a resource that no step composes.",
			runs:   runs, observed: "{}", said: "DependencyNotReady setup: waiting for resource machine, which is not there yet",
		},
		"NoStatus": {
			reason: "A resource without a status is not ready.",
			runs:   runs, observed: machine("machine", ""), said: "DependencyNotReady setup: waiting for resource machine (Machine), which is not ready",
		},
		"NotReady": {
			reason: "A run is not created before the resource is ready.",
			runs:   runs, observed: machine("machine", changing), said: "DependencyNotReady setup: waiting for resource machine (Machine), which is not ready",
		},
		"Stale": {
			reason: "A condition of another generation does not count.",
			runs:   runs, observed: machine("machine", stale), said: "DependencyNotReady setup: waiting for resource machine (Machine), which is not ready",
		},
		"Deleted": {
			reason: "A resource that is being deleted is not ready.",
			runs:   runs, observed: strings.Replace(machine("machine", there), "generation: 2", "generation: 2, deletionTimestamp: now", 1),
			said: "DependencyNotReady setup: waiting for resource machine, which is being deleted",
		},
		"Ready": {
			reason: "A run is created when the resource is ready.",
			runs:   runs, observed: machine("machine", there),
			want: "setup, setup uses machine", said: "Running setup: is running",
		},
		"SaysReady": {
			reason: "A resource is ready if an earlier step says so.",
			runs:   runs, observed: machine("machine", "address: there"), earlier: saysReady,
			want: "machine, setup, setup uses machine", said: "Running setup: is running",
		},
		"SaysNotReady": {
			reason: "A resource is not ready if an earlier step says so.",
			runs:   runs, observed: machine("machine", there), earlier: saysNot,
			want: "machine", said: "DependencyNotReady setup: waiting for resource machine (Machine), which is not ready",
		},
		"NotReadyAnyMore": {
			reason: "An existing run stays as it is while the resource is not ready.",
			runs:   runs, observed: machine("machine", strings.Replace(changing, "there", "elsewhere", 1)) + setup,
			want: "setup, setup uses machine", said: "DependencyNotReady setup: waiting for resource machine (Machine), which is not ready",
		},
		"Leaving": {
			reason: "A run that is not wanted is removed. Until it is gone it has a Usage of the resource.",
			runs:   runs, spec: "setup: false", observed: machine("machine", there), departing: departing,
			want: "setup uses machine", said: "Available",
		},
		"Replaced": {
			reason: "A run that refers to another resource now has no Usage of the old one, which would block core from composing the new one.",
			runs:   strings.Replace(runs, "machine", "other", 1), observed: machine("machine", there) + setup,
			want: "setup", said: "DependencyNotReady setup: waiting for resource other, which is not there yet",
		},
		"ReplacedInWhen": {
			reason:   "A run with an unknown when has no Usage of a resource that it does not refer to any more.",
			runs:     "\n  - {name: setup, when: '${resources.other.status.on}', vars: {address: '${resources.other.status.address}'}}",
			observed: machine("machine", there) + setup,
			want:     "setup", said: "DependencyNotReady setup: waiting for resource other, which is not there yet",
		},
		"StillComposed": {
			reason: "A run that refers to another resource now has a Usage of the old one while an earlier step composes it.",
			runs:   strings.Replace(runs, "machine", "other", 1), observed: machine("machine", there) + setup, earlier: composed,
			want: "machine, setup, setup uses machine", said: "DependencyNotReady setup: waiting for resource other, which is not there yet",
		},
		"BecomesSet": {
			reason:   "A run that becomes a set has a Usage of the resource until the set has replaced it.",
			runs:     strings.Replace(runs, "name: setup", `name: setup, forEach: "${xr.status.zones}"`, 1),
			observed: machine("machine", there) + setup + using("setup", "machine"),
			want:     "setup, setup uses machine", said: "ValuePending setup: forEach: xr.status is not there yet",
		},
		"HeldInWhen": {
			reason:   "A run with an unknown when has a Usage of a resource that it still refers to.",
			runs:     "\n  - {name: setup, when: '${resources.other.status.on}', vars: {address: '${resources.machine.status.address}'}}",
			observed: machine("machine", there) + setup,
			want:     "setup, setup uses machine", said: "DependencyNotReady setup: waiting for resource other, which is not there yet",
		},
		"OptionalNotThere": {
			reason: "A run does not wait for a missing resource that it does not need.",
			runs:   optional, observed: "{}",
			want: "setup", said: "Running setup: is running",
		},
		"OptionalToBe": {
			reason: "A run waits for a resource that it does not need while an earlier step composes it.",
			runs:   optional, observed: "{}", earlier: composed,
			want: "machine", said: "DependencyNotReady setup: waiting for resource machine, which is not there yet",
		},
		"OptionalUsed": {
			reason: "A run has a Usage of an existing resource that it does not need.",
			runs:   optional, observed: machine("machine", there) + setup, earlier: composed,
			want: "machine, setup, setup uses machine", said: "Available",
		},
		"Fleet": {
			reason: "A member waits only for the resource with its computed name.",
			runs:   fleet, spec: "zones: [a, b, c]",
			observed: machine("machine-a", there) + machine("machine-b", changing) + existing("setup[a]", "machine-a", "role: a.b.c, unsafeVars: {address: there}"),
			want:     "setup[a], setup[a] uses machine-a",
			said:     "DependencyNotReady setup[b]: waiting for resource machine-b (Machine), which is not ready\nsetup[c]: waiting for resource machine-c, which is not there yet",
		},
		"OptionalDropped": {
			reason: "A run has no Usage of a resource that it does not need and that no step composes any more, since that would block core.",
			runs:   optional, observed: machine("machine", there) + setup,
			want: "setup", said: "Available",
		},
		"UsagesFalse": {
			reason: "With usages: false a run has no Usages.",
			runs:   strings.Replace(runs, "name: setup", "name: setup, usages: false", 1), observed: machine("machine", there) + setup,
			want: "setup", said: "Available",
		},
		"Local": {
			reason: "A run waits for a resource that only a local refers to.",
			locals: `address: "${resources.machine.status.address}"`, runs: `[{name: setup, vars: {address: "${locals.address}"}}]`, observed: "{}",
			said: "DependencyNotReady setup: waiting for resource machine, which is not there yet",
		},
		"OwnRun": {
			reason: "An expression cannot refer to a run by resources, even with a computed name.",
			runs:   "\n  - {name: a}\n  - {name: b, vars: {x: '${resources[xr.spec.name].spec}'}}", spec: "name: a", observed: "{}",
			want: "a", said: "InvalidValue b: vars.x: resources[\"a\"]: is a run of this input; write runs.a\nRunning:\na: is running",
		},
		"Separator": {
			reason: "The name of a resource must have no commas, which separate names in an annotation.",
			runs:   "\n  - {name: b, vars: {x: '${resources[xr.spec.name].spec}'}}", spec: `name: "a,b"`, observed: machine(`"a,b"`, there),
			said: "InvalidValue b: vars.x: resources[\"a,b\"]: cannot be referred to: the name must have 1 to 253 bytes, and neither commas nor spaces",
		},
		"Long": {
			reason: "The length of the name of a resource is limited, since messages have it.",
			runs:   "\n  - {name: b, vars: {x: '${resources[xr.spec.name].spec}'}}", spec: "name: " + strings.Repeat("x", 254), observed: "{}",
			said: "InvalidValue b: vars.x: resources[\"" + strings.Repeat("x", 80) + "\"]: cannot be referred to: the name must have 1 to 253 bytes, and neither commas nor spaces",
		},
		"RunThatLeaves": {
			reason: "An AnsibleRun that is no longer in the Composition is not a resource of another step.",
			runs:   "\n  - {name: b, vars: {x: '${resources[xr.spec.name].kind}'}}", spec: "name: a", observed: existing("a", "", "role: x.y.z"),
			said: "DependencyNotReady b: waiting for resource a, which is not there yet",
		},
		"ConfigMap": {
			reason:   "A resource of a kind of Kubernetes without a condition is ready when it exists.",
			runs:     strings.Replace(runs, "status.address", "data.address", 1),
			observed: "\n    machine: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {address: there}}}",
			want:     "setup, setup uses machine", said: "Running setup: is running",
		},
		"Deployment": {
			reason: "A Deployment is ready when its condition says so.",
			runs:   runs, observed: "\n    machine: {resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, status: {address: x}}}",
			said: "DependencyNotReady setup: waiting for resource machine (Deployment), which is not ready",
		},
		"Status": {
			reason: "Status and conditions of the XR are pending while a resource of an earlier step is not ready.",
			runs:   runs, input: reported, observed: "{}", earlier: composed,
			want: "machine", said: "DependencyNotReady setup: waiting for resource machine, which is not there yet",
			conditions: []string{"Reachable|UNKNOWN|ValuePending|"},
		},
		"StatusNever": {
			reason: "Status and conditions of the XR do not wait for a resource that no step composes.",
			runs:   "[{name: a}]", input: reported, observed: "{}",
			want:       "a",
			conditions: []string{"Reachable|UNKNOWN|ValuePending|conditions[0].status: resources.machine is not there yet"},
			said: "Running a: is running\n" +
				"InvalidStatus:\nstatus.address: resources.machine is not there yet\n" +
				"conditions[0].status: resources.machine is not there yet\n" +
				"connectionDetails[0].value: resources.machine is not there yet",
		},
		"StepsRun": {
			reason: "An AnsibleRun of an earlier step is a resource like others.",
			runs:   runs, observed: strings.Replace(existing("machine", "", "role: a.b.c"), "status: {", "status: {address: there, ", 1), earlier: composed,
			want: "machine, setup, setup uses machine", said: "Running setup: is running",
		},
	}

	check(t, cases)
}

// These references to resources can only be mistakes.
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
