package tree

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()

	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}

	o := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &o.Object); err != nil {
		t.Fatal(err)
	}

	return o
}

// run returns the node of an AnsibleRun with a status and additional metadata.
func run(t *testing.T, name, metadata, spec, status string) *Node {
	t.Helper()

	o := object(t, "{apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, metadata: {namespace: ns, generation: 2, "+metadata+"}, spec: {"+spec+"}, status: {"+status+"}}")
	o.SetUID(types.UID(name))
	o.SetName("site-" + name)

	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}

	annotations["crossplane.io/composition-resource-name"] = name
	o.SetAnnotations(annotations)

	return Of(o)
}

const (
	ready       = "{type: Ready, status: 'True', reason: Available, observedGeneration: 2}"
	synced      = "{type: Synced, status: 'True', reason: ReconcileSuccess, observedGeneration: 2}"
	succeeded   = "atProvider: {lastRun: {id: a, mode: Apply, phase: Succeeded}}"
	canceledRun = "atProvider: {lastRun: {id: a, phase: Canceled}}"
	failedRun   = "atProvider: {lastRun: {id: a, mode: Apply, phase: Failed, reason: TaskFailed}}"
)

func TestRunState(t *testing.T) {
	cases := map[string]struct {
		reason           string
		metadata         string
		spec             string
		status           string
		want             State
		because, message string
		failure          string
		canceled         bool
	}{
		"New":      {reason: "The provider has not reconciled the object yet.", want: Waiting, message: "the provider has not looked at it yet"},
		"Ready":    {reason: "An object with Ready and Synced is ready.", status: "conditions: [" + ready + ", " + synced + "], " + succeeded, want: Ready},
		"Outdated": {reason: "Conditions of another generation do not count.", status: "conditions: [{type: Ready, status: 'True', observedGeneration: 1}], " + succeeded, want: Waiting, message: "the provider has not looked at it yet"},
		"Running":  {reason: "A run in progress is running, and has the failure before it.", status: "conditions: [{type: Ready, status: 'False', reason: RunFailed, message: m, observedGeneration: 2}], atProvider: {lastRun: {phase: Running}}", want: Running, failure: "m"},
		"RetryOfCheck": {
			reason: "A retry shows the failure before it, even if that run changed nothing.", want: Queued, failure: "m",
			status: "conditions: [" + ready + ", {type: Synced, status: 'False', reason: ReconcileError, message: m, observedGeneration: 2}], atProvider: {lastRun: {phase: Queued, trigger: Retry}}",
		},
		"NoRetry": {
			reason: "A former error is not a failure of the run in progress.", want: Running,
			status: "conditions: [" + ready + ", {type: Synced, status: 'False', reason: ReconcileError, message: m, observedGeneration: 2}], atProvider: {lastRun: {phase: Running, trigger: Changed}}",
		},
		"Queued":     {reason: "A run that waits for a place is queued, and says what it waits for.", status: "conditions: [" + ready + "], atProvider: {lastRun: {phase: Queued, message: m}}", want: Queued, message: "m"},
		"Installing": {reason: "A run that waits for content is installing.", status: "atProvider: {lastRun: {phase: Installing}}", want: Installing},
		"Failed": {
			reason: "An object with a failed run has failed.", want: Failed, because: "RunFailed", message: "m",
			status: "conditions: [{type: Ready, status: 'False', reason: RunFailed, message: m, observedGeneration: 2}, {type: Synced, status: 'False', reason: ReconcileError}], " + failedRun,
		},
		"FailedCheck": {
			reason: "An object whose last check failed stays ready, but failed.", want: Failed, because: "ReconcileError", message: "m",
			status: "conditions: [" + ready + ", {type: Synced, status: 'False', reason: ReconcileError, message: m, observedGeneration: 2}], " + failedRun,
		},
		"MissingAfterFailure": {
			reason: "A run that failed with other inputs is not tried again.", want: Blocked, because: "ReconcileError", message: "no Secret",
			status: "conditions: [{type: Ready, status: 'False', reason: InputsChanged, observedGeneration: 2}, {type: Synced, status: 'False', reason: ReconcileError, message: no Secret, observedGeneration: 2}], atProvider: {lastRun: {mode: Apply, phase: Failed}}",
		},
		"MissingSecret": {
			reason: "Missing inputs block an object that was ready.", want: Blocked, because: "ReconcileError", message: "no Secret",
			status: "conditions: [" + ready + ", {type: Synced, status: 'False', reason: ReconcileError, message: no Secret, observedGeneration: 2}], " + succeeded,
		},
		"Canceled": {
			reason: "The annotation has the id of the canceled run.", metadata: "annotations: {ansible.crossplane.io/cancel: a}", want: Waiting,
			status: "conditions: [" + synced + "], " + canceledRun, canceled: true,
		},
		"CanceledBefore": {
			reason: "The annotation may have the id of an earlier run.", metadata: "annotations: {ansible.crossplane.io/cancel: b}", want: Waiting,
			status: "conditions: [" + synced + "], " + canceledRun,
		},
		"CanceledByProvider": {reason: "Without the annotation, the provider has canceled the run.", status: "conditions: [" + synced + "], " + canceledRun, want: Waiting},
		"NotApplied": {
			reason: "An object that is never applied is blocked.", want: Blocked, because: "NotApplied", message: "m",
			status: "conditions: [{type: Ready, status: 'False', reason: NotApplied, message: m, observedGeneration: 2}, " + synced + "]",
		},
		"Paused": {
			reason: "The state Paused takes precedence.", metadata: "annotations: {crossplane.io/paused: 'true'}", want: Paused,
			status: "conditions: [" + ready + ", " + synced + "], " + failedRun,
		},
		"NotPaused":      {reason: "Only true pauses.", metadata: "annotations: {crossplane.io/paused: 'false'}", status: "conditions: [" + ready + ", " + synced + "]", want: Ready},
		"PausedByPolicy": {reason: "An empty list of management policies pauses.", spec: "managementPolicies: []", status: "conditions: [" + ready + "]", want: Paused},
		"Deleting": {
			reason: "An object that is being deleted waits for its run. Its state says all that its condition does.", metadata: "deletionTimestamp: '2026-01-01T00:00:00Z'", want: Deleting,
			status: "conditions: [{type: Ready, status: 'False', reason: Deleting, observedGeneration: 2}, " + synced + "]",
		},
		"NotDeletable": {
			reason: "A deletion that fails is a failure.", metadata: "deletionTimestamp: '2026-01-01T00:00:00Z'", want: Failed, because: "RunFailed", message: "m",
			status: "conditions: [{type: Deletable, status: 'False', reason: RunFailed, message: m, observedGeneration: 2}], " + failedRun,
		},
		"Lost": {
			reason: "A deletion without its Secret is blocked.", metadata: "deletionTimestamp: '2026-01-01T00:00:00Z'", want: Blocked, because: "InputsUnavailable", message: "m",
			status: "conditions: [{type: Deletable, status: 'False', reason: InputsUnavailable, message: m, observedGeneration: 2}]",
		},
		"Nonsense": {reason: "A status may be malformed.", status: "conditions: 3, atProvider: [4]", want: Waiting, message: "the provider has not looked at it yet"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n := run(t, "a", tc.metadata, tc.spec, tc.status)

			if n.State != tc.want || n.Reason != tc.because || n.Message != tc.message || n.Failure != tc.failure || n.Canceled != tc.canceled {
				t.Errorf("\n%s\nOf(...): want %s, %q, %q, %q, canceled: %t, got %s, %q, %q, %q, %t", tc.reason, tc.want, tc.because, tc.message,
					tc.failure, tc.canceled, n.State, n.Reason, n.Message, n.Failure, n.Canceled)
			}
		})
	}
}

// TestWithheld has withheld outputs, which are listed with the source of their secret.
func TestWithheld(t *testing.T) {
	const todo = "; let the content publish it as a connection detail, or keep the secret out of the output"

	n := run(t, "a", "", "", "atProvider: {withheldOutputs: {url: key password of Secret pg is in it, \"\": x}, withheldReported: {dsn: why}}")
	want := []string{
		"output is withheld: x" + todo, "output url is withheld: key password of Secret pg is in it" + todo,
		"reported field dsn is withheld: why" + todo,
	}

	if diff := cmp.Diff(want, n.Withheld); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// xr returns an XR with a message of AnsibleRunsReady, and additional conditions.
func xr(t *testing.T, metadata, message, conditions string) *unstructured.Unstructured {
	t.Helper()

	o := object(t, "{apiVersion: example.org/v1, kind: Site, metadata: {namespace: ns, name: site, uid: xr, "+metadata+"}, status: {conditions: ["+conditions+"]}}")
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	list = append(list, map[string]any{"type": "AnsibleRunsReady", "status": "False", "reason": "R", "message": message})

	if err := unstructured.SetNestedSlice(o.Object, list, "status", "conditions"); err != nil {
		t.Fatal(err)
	}

	return o
}

// TestClaim has a claim, which does not repeat the runs of its XR.
func TestClaim(t *testing.T) {
	claim := xr(t, "", "ValuePending:\na: vars.x: runs.b.outputs.x is not there yet", "")
	claim.Object["spec"] = map[string]any{"resourceRef": map[string]any{"kind": "XSite", "name": "site-1"}}

	if got := Of(claim, Of(xr(t, "", "ValuePending:\na: vars.x: runs.b.outputs.x is not there yet", ""))).Leaves(); len(got) != 1 {
		t.Errorf("Of(claim).Leaves(): want the run once, got %d", len(got))
	}
}

func TestXR(t *testing.T) {
	isReady := "conditions: [" + ready + ", " + synced + "], " + succeeded
	isFailed := "conditions: [{type: Ready, status: 'False', reason: RunFailed, observedGeneration: 2}], " + failedRun
	after := func(names string) string {
		return "annotations: {ansible.fn.crossplane.io/depends-on: '" + names + "'}"
	}

	type leaf struct {
		Run   string
		State State
	}

	cases := map[string]struct {
		reason     string
		metadata   string
		message    string
		conditions string
		runs       []*Node
		want       State
		message2   string
		behind     bool
		leaves     []leaf
	}{
		"Behind": {
			reason: "Crossplane has not composed what has changed in the XR.", metadata: "generation: 3", want: Ready, behind: true,
			conditions: "{type: Ready, status: 'True', observedGeneration: 2}, {type: Synced, status: 'True', observedGeneration: 2}",
			runs:       []*Node{run(t, "a", "", "", isReady)}, leaves: []leaf{{"a", Ready}},
		},
		"Composed": {
			reason: "Crossplane has composed the change.", metadata: "generation: 3", want: Ready,
			conditions: "{type: Ready, status: 'True', observedGeneration: 3}, {type: Synced, status: 'True', observedGeneration: 3}",
			runs:       []*Node{run(t, "a", "", "", isReady)}, leaves: []leaf{{"a", Ready}},
		},
		"Ready": {
			reason: "An XR with ready runs is ready; runs are in the order of their dependencies.", message: "", want: Ready,
			conditions: "{type: Ready, status: 'True'}",
			runs:       []*Node{run(t, "a", after("z"), "", isReady), run(t, "z", "", "", isReady)},
			leaves:     []leaf{{"z", Ready}, {"a", Ready}},
		},
		"Circle": {
			reason: "Annotations that say nonsense do not keep the tree from being shown.", want: Ready, conditions: "{type: Ready, status: 'True'}",
			runs:   []*Node{run(t, "a", after("b"), "", isReady), run(t, "b", after("a,c,,"), "", isReady)},
			leaves: []leaf{{"a", Ready}, {"b", Ready}},
		},
		"Set": {
			reason: "A run that depends on a set comes after its members.", want: Ready, conditions: "{type: Ready, status: 'True'}",
			runs:   []*Node{run(t, "a", after("disk[]"), "", isReady), run(t, "disk[y]", "", "", isReady), run(t, "disk[x]", "", "", isReady)},
			leaves: []leaf{{"disk[x]", Ready}, {"disk[y]", Ready}, {"a", Ready}},
		},
		"FailedAndWaiting": {
			reason: "The worst run counts; those without AnsibleRuns are known from the message.", want: Failed,
			message:    "3 of 12 runs are ready; 1 failed, 8 waiting\nRunFailed:\nb: task \"x\" failed on host \"h\": no\nDependencyNotReady:\nc: waiting for b, a\nInvalidStatus:\nstatus.path: runs.b.outputs.path is not there yet\nstatus: x",
			conditions: "{type: Ready, status: 'False', reason: Creating}",
			runs:       []*Node{run(t, "b", "", "", isFailed), run(t, "a", "", "", isReady)},
			leaves:     []leaf{{"a", Ready}, {"b", Failed}, {"c", Waiting}},
		},
		"Renamed": {
			reason: "A run that was renamed has its new name; Crossplane, and what depends on it, know the first one.", want: Ready,
			conditions: "{type: Ready, status: 'True'}",
			runs: []*Node{
				run(t, "a", after("server[]"), "", isReady),
				run(t, "server[x]", "annotations: {ansible.fn.crossplane.io/run: 'node[x]'}", "", isReady),
			},
			leaves: []leaf{{"node[x]", Ready}, {"a", Ready}},
		},
		"FailedBefore": {
			reason: "A run that waits for another one has failed with values that it is not to have any more.", want: Running,
			message: "DependencyNotReady:\nb: waiting for a",
			runs:    []*Node{run(t, "a", "", "", "atProvider: {lastRun: {phase: Running}}"), run(t, "b", "", "", isFailed)},
			leaves:  []leaf{{"a", Running}, {"b", Waiting}},
		},
		"Held": {
			reason: "A run that is held is blocked, also if its AnsibleRun is ready.", want: Blocked,
			message: "ValueNotSet:\na: vars.title: xr.spec.title is not set\nValuePending:\nb: vars.x: runs.a.outputs.x is not there yet",
			runs:    []*Node{run(t, "a", "", "", isReady)},
			leaves:  []leaf{{"a", Blocked}, {"b", Waiting}},
		},
		"OtherName": {
			reason: "A run whose AnsibleRun has another name is no second one, and comes after those that it depended on.", want: Failed,
			message: "RunFailed:\nnode[a] (server[a]): task \"x\" failed on host \"h\"\nDependencyNotReady:\nlb (balancer): waiting for node",
			runs: []*Node{
				run(t, "server[a]", "", "", isFailed), run(t, "balancer", after("server[]"), "", isReady), run(t, "z", after("balancer"), "", isReady),
			},
			leaves: []leaf{{"server[a]", Failed}, {"balancer", Waiting}, {"z", Ready}},
		},
		"OtherNameToCome": {
			reason: "A run that has no AnsibleRun yet is known by what that is to be called.", want: Waiting,
			message: "DependencyNotReady:\ndatabase (postgres): waiting for network",
			runs:    []*Node{run(t, "network", "", "", isReady)},
			leaves:  []leaf{{"network", Ready}, {"postgres", Waiting}},
		},
		"Withheld": {
			reason: "A run that reads an output that is withheld needs a change.", want: Blocked,
			message: "OutputWithheld:\nb: vars.x: runs.a.outputs.x is withheld: a secret is in it",
			runs:    []*Node{run(t, "a", "", "", isReady)},
			leaves:  []leaf{{"a", Ready}, {"b", Blocked}},
		},
		"Stale": {
			reason: "The message of the XR about the status of a run is older than that status.", want: Ready, conditions: "{type: Ready, status: 'True'}",
			message: "RunFailed:\na: task \"x\" failed on host \"h\"",
			runs:    []*Node{run(t, "a", "", "", isReady)},
			leaves:  []leaf{{"a", Ready}},
		},
		"Invalid": {
			reason: "A Composition with mistakes blocks the XR.", want: Blocked, message2: "bad",
			conditions: "{type: Synced, status: 'False', reason: ReconcileError, message: bad}",
		},
		"InvalidStatus": {
			reason: "An XR may be ready without all of its status, and says why.", want: Ready, message2: "status.x: must be a number",
			conditions: "{type: Ready, status: 'True'}, {type: AnsibleRunsReady, status: 'True', reason: InvalidStatus, message: 'status.x: must be a number'}",
			runs:       []*Node{run(t, "a", "", "", isReady)}, leaves: []leaf{{"a", Ready}},
		},
		"Mistakes": {
			reason: "Its mistakes are no runs, and hide no failure of a run that is there.", want: Blocked,
			message2: "the input is invalid:\ndefaults.keepOutpt: no\nstatuss: Forbidden: no",
			conditions: "{type: AnsibleRunsReady, status: 'False', reason: InvalidInput, message: \"the input is invalid:\\ndefaults.keepOutpt: no\\nstatuss: Forbidden: no\"}, " +
				"{type: Synced, status: 'False', reason: ReconcileError, message: 'cannot compose resources: all of it'}",
			runs: []*Node{run(t, "a", "", "", isFailed)}, leaves: []leaf{{"a", Failed}},
		},
		"MistakesOfClaim": {
			reason: "The XR of a claim tells of them.", want: Waiting, message2: "statuss: Forbidden: no",
			conditions: "{type: AnsibleRunsReady, status: 'False', reason: InvalidInput, message: 'statuss: Forbidden: no'}, {type: Synced, status: 'True'}",
		},
		"NotSeen": {
			reason: "An XR that is not ready says why, also when its runs are.", want: Waiting, message: "Running:\na: is running",
			message2:   "Crossplane has not seen yet that all runs are ready, or waits for something else",
			conditions: "{type: Ready, status: 'False', reason: Creating}",
			runs:       []*Node{run(t, "a", "", "", isReady)}, leaves: []leaf{{"a", Ready}},
		},
		"Leaving": {
			reason: "An XR that is being deleted waits for no readiness.", metadata: "deletionTimestamp: '2026-01-01T00:00:00Z'", want: Deleting,
			conditions: "{type: Ready, status: 'False', reason: Deleting}",
			runs:       []*Node{run(t, "a", "", "", isReady)}, leaves: []leaf{{"a", Ready}},
		},
		"FailedAndHeld": {
			reason: "A missing value of the XR is shown beside the failure of the run with former values.", want: Failed,
			conditions: "{type: AnsibleRunsReady, status: 'False', reason: ValueNotSet, message: 'b: vars.size: xr.spec.size is not set'}",
			message2:   "b: vars.size: xr.spec.size is not set",
			runs:       []*Node{run(t, "b", "", "", isFailed)}, leaves: []leaf{{"b", Failed}},
		},
		"HeldTold": {
			reason: "A missing value is shown once.", want: Blocked,
			conditions: "{type: AnsibleRunsReady, status: 'False', reason: ValueNotSet, message: 'b: vars.size: xr.spec.size is not set'}",
			runs:       []*Node{run(t, "b", "", "", isReady)}, leaves: []leaf{{"b", Blocked}},
		},
		"Machine": {
			reason: "Crossplane may name what else is not ready.", want: Waiting, message2: "Unready resources: machine",
			conditions: "{type: Ready, status: 'False', reason: Creating, message: 'Unready resources: machine'}",
			runs:       []*Node{run(t, "a", "", "", isReady)}, leaves: []leaf{{"a", Ready}},
		},
		"None": {reason: "Without runs the message is that of the XR.", message: "is there nothing?", want: Waiting, message2: "is there nothing?"},
		"Paused": {
			reason: "A paused XR is paused.", metadata: "annotations: {crossplane.io/paused: 'true'}", want: Paused,
			runs: []*Node{run(t, "b", "", "", isFailed)}, leaves: []leaf{{"b", Failed}},
		},
		"Deleting": {reason: "An XR that is being deleted says so.", metadata: "deletionTimestamp: '2026-01-01T00:00:00Z'", want: Deleting, message2: "m", message: "m"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n := Of(xr(t, tc.metadata, tc.message, tc.conditions), tc.runs...)

			if n.State != tc.want || n.Message != tc.message2 || n.Behind != tc.behind {
				t.Errorf("\n%s\nOf(...): want %s, %q, behind: %t, got %s, %q, %t", tc.reason, tc.want, tc.message2, tc.behind, n.State, n.Message,
					n.Behind)
			}

			var got []leaf
			for _, l := range n.Leaves() {
				got = append(got, leaf{l.Run, l.State})
			}

			if diff := cmp.Diff(tc.leaves, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("\n%s\nOf(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReferences(t *testing.T) {
	const refs = "[{apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, name: a}, {apiVersion: v1, kind: Secret, name: s, namespace: other}]"

	cases := map[string]struct {
		reason string
		object string
		want   []string
	}{
		"XR":     {reason: "Composed resources of an XR are in its namespace.", object: "{metadata: {namespace: ns}, spec: {crossplane: {resourceRefs: " + refs + "}}}", want: []string{"ns/a", "other/s"}},
		"Legacy": {reason: "A legacy XR has its references elsewhere.", object: "{spec: {resourceRefs: " + refs + "}}", want: []string{"/a", "other/s"}},
		"Claim":  {reason: "A claim refers to its XR, which has no namespace.", object: "{metadata: {namespace: ns}, spec: {resourceRef: {apiVersion: e/v1, kind: X, name: x}}}", want: []string{"/x"}},
		"None":   {reason: "Nothing refers to nothing.", object: "{spec: {resourceRefs: 3, crossplane: []}}"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range References(object(t, tc.object)) {
				got = append(got, r.Namespace+"/"+r.Name)
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nReferences(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOwns has XRs with references to objects of other XRs.
func TestOwns(t *testing.T) {
	owner := object(t, "{apiVersion: e.org/v1, kind: Site, metadata: {namespace: ns, name: site, uid: one}}")

	cases := map[string]struct {
		reason string
		object string
		want   bool
	}{
		"Controlled": {reason: "An XR owns objects that it controls.", object: "{metadata: {ownerReferences: [{uid: two}, {uid: one, controller: true}]}}", want: true},
		"Owned":      {reason: "An owner that does not control is not enough.", object: "{metadata: {ownerReferences: [{uid: one}]}}"},
		"Foreign":    {reason: "An XR does not own objects that another XR controls.", object: "{metadata: {ownerReferences: [{uid: two, controller: true}]}}"},
		"Free":       {reason: "An XR does not own objects without a controller.", object: "{metadata: {name: x}}"},
		"Claimed":    {reason: "A claim owns its XR.", object: "{metadata: {name: x}, spec: {claimRef: {apiVersion: e.org/v1, kind: Site, namespace: ns, name: site}}}", want: true},
		"Others":     {reason: "A claim does not own the XR of another claim.", object: "{metadata: {name: x}, spec: {claimRef: {apiVersion: e.org/v1, kind: Site, namespace: other, name: site}}}"},
		"Pretended":  {reason: "A namespaced object is not the XR of a claim, even with a claimRef.", object: "{metadata: {name: x, namespace: ns}, spec: {claimRef: {apiVersion: e.org/v1, kind: Site, namespace: ns, name: site}}}"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Owns(owner, object(t, tc.object)); got != tc.want {
				t.Errorf("\n%s\nOwns(...): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
