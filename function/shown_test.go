package main

import (
	"cmp"
	"strings"
	"testing"
	"time"

	diffs "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-ansible/crossplane-ansible/plugin/text"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

// shownAs is what kubectl ansible status shows of the XR with the condition of the response, and of the AnsibleRuns that it
// is composed of: those of the request, or those that there are by then.
func (s step) shownAs(t *testing.T, later string) string {
	t.Helper()

	rsp := s.respond(t)
	s.observed = cmp.Or(later, s.observed)
	req := s.request(t)

	var runs []*tree.Node
	for _, r := range req.GetObserved().GetResources() {
		runs = append(runs, tree.Of(&unstructured.Unstructured{Object: r.GetResource().AsMap()}))
	}

	said := rsp.GetConditions()[0]
	words := map[bool]string{true: "True", false: "False"}
	xr := &unstructured.Unstructured{Object: req.GetObserved().GetComposite().GetResource().AsMap()}
	xr.Object["status"] = map[string]any{"conditions": []any{
		map[string]any{"type": "Ready", "status": words[isReady(rsp)]},
		map[string]any{"type": said.GetType(), "status": words[isReady(rsp)], "reason": said.GetReason(), "message": said.GetMessage()},
	}}

	_, rows, _ := strings.Cut(text.Status(text.Style{}, time.Now(), tree.Of(xr, runs...)), "\n")

	return strings.Join(strings.Fields(strings.ReplaceAll(rows, "│", "")), " ")
}

// TestShown checks the states that a user sees of runs without an AnsibleRun, by the condition of the XR.
func TestShown(t *testing.T) {
	awaiting := `status: {conditions: [{type: Ready, status: "False", reason: AwaitingApproval, message: a check predicts 1 change, observedGeneration: 1}]}`
	app := existing("app", "", "role: a.b.c")

	cases := map[string]struct {
		step

		// later has the resources at the time when the user looks.
		later, want string
	}{
		"Turns": {
			step: step{
				reason: "Members that wait for their turn continue without a change by the user.",
				runs:   `[{name: replica, forEach: "${xr.spec.keys}", atATime: 1, vars: {version: "${xr.spec.version}"}}]`, spec: "keys: [a, b, c], version: 2",
				observed: replicas("a=2 running, b=1 ready"),
			},
			want: "App default/app Running 0 of 3 ready ├─ replica[a] Running ├─ replica[b] Waiting is next: 0 of 3 have the new values " +
				"└─ replica[c] Waiting waits for its turn",
		},
		"Held": {
			step: step{
				reason:   "A run with an invalid value needs a change by the user, and a run that waits for it does not.",
				runs:     `[{name: app, vars: {title: "${xr.spec.title}"}}, {name: web, dependsOn: [app]}]`,
				observed: app,
			},
			want: "App default/app Blocked 0 of 2 ready ├─ app Blocked vars.title: xr.spec.title is not set; write xr.spec.?title if it may be missing " +
				"└─ web Waiting waiting for app",
		},
		"HeldText": {
			step: step{
				reason: "A name in the message of a mistake does not change whether a run continues by itself.",
				runs:   `[{name: app, vars: {x: "${xr.spec['is not there yet']}"}}]`,
			},
			want: `App default/app Blocked 0 of 1 ready └─ app Blocked vars.x: xr.spec["is not there yet"] is not set; write xr.spec[?"is not there yet"] if it may be missing`,
		},
		"NotReady": {
			step: step{
				reason: "A run that is not ready may become ready without a change.",
				runs:   `[{name: app, readyWhen: "${runs.app.outputs.url == 'other'}"}]`, observed: app,
			},
			want: "App default/app Waiting 0 of 1 ready └─ app Waiting is not ready yet: readyWhen is false",
		},
		"NotWanted": {
			step: step{
				reason: "A skipped run is not waited for.",
				runs:   `[{name: a, when: false}, {name: app}, {name: web, vars: {x: "${runs.a.outputs.x}"}}]`, observed: app,
			},
			want: "App default/app Ready 1 of 1 ready └─ app Ready",
		},
		"Retained": {
			step: step{
				reason: "A retained run is not waited for.",
				runs:   `[{name: app, when: false, prune: false}]`, observed: app,
			},
			want: "App default/app Ready 1 of 1 ready └─ app Ready not wanted any more, and stays, since prune is false",
		},
		"Approved": {
			step:  step{reason: "The state of an AnsibleRun is newer than the condition of the XR.", runs: "[{name: app}]", observed: aRun("app", awaiting)},
			later: app,
			want:  "App default/app Waiting 1 of 1 ready Crossplane has not seen yet that all runs are ready, or waits for something else └─ app Ready",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := diffs.Diff(tc.want, tc.shownAs(t, tc.later)); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
