package main

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// However much fails, the condition stays small, and begins with what failed. A step tells later ones no more than the
// condition can show: what it tells counts towards the size of a response, as what it composes does.
func TestToldIsBounded(t *testing.T) {
	const atMost = 32 << 10

	items, resources := make([]string, 100), ""
	for i := range items {
		items[i] = fmt.Sprintf("i%02d", i)
		resources += aRun("all["+items[i]+"]", failing("Failed", strings.Repeat("ä", 500)))
	}

	req := step{runs: "[{name: other}, {name: all, forEach: [" + strings.Join(items, ", ") + "]}]", observed: resources}.request(t)

	first := respond(t, req)

	message := first.GetConditions()[0].GetMessage()
	if len(message) > 4096 || !utf8.ValidString(message) || !strings.HasPrefix(message, "0 of 101 runs are ready; 100 failed, 1 in progress\nall[i00]: ") {
		t.Errorf("want at most 4096 bytes of valid UTF-8, which begin with what failed, got %d: %q", len(message), message)
	}

	if event := first.GetResults()[0].GetMessage(); len(event) > 1024 {
		t.Errorf("want at most 1024 bytes for an event, got %d", len(event))
	}

	if size := proto.Size(first.GetContext()); size > atMost {
		t.Errorf("RunFunction(...): told later steps %d bytes, want %d at most", size, atMost)
	}

	req.Input = step{runs: "[{name: two}]"}.request(t).GetInput()
	req.Desired, req.Context = first.GetDesired(), first.GetContext()

	second := respond(t, req)

	_, want, _ := strings.Cut(said(first), "\n")
	_, got, _ := strings.Cut(said(second), "\n")

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("RunFunction(...): message after the counts: -want, +got:\n%s", diff)
	}
}

// A pipeline with several steps of function-ansible.
func TestSteps(t *testing.T) {
	const (
		one = "runs: [{name: one, role: a.b.c}]"
		two = "runs: [{name: two, role: a.b.c}]"
		set = "runs: [{name: zone, role: a.b.c, forEach: [a], vars: {name: '${each.key}'}}, {name: app, role: a.b.c, vars: {zones: '${runs.zone.transformList(k, z, k)}'}}]"
	)

	members := existing("zone[a]", "", "role: a.b.c, unsafeVars: {name: a}") + existing("zone[b]", "", "role: a.b.c, unsafeVars: {name: b}") + existing("app", "zone[]", "role: a.b.c, unsafeVars: {zones: [a]}")
	unpruned := strings.NewReplacer(`"zone[b]"}`, `"zone[b]", ansible.fn.crossplane.io/prune: never}`).Replace(members)

	failed := strings.NewReplacer(`type: Ready, status: "True"`, `type: Ready, status: "False"`, "atProvider: {", "atProvider: {lastRun: {phase: Failed, message: it broke}, ")

	cases := map[string]struct {
		reason string
		steps  []string
		// resources that are observed, and what steps before compose.
		resources, earlier string
		// said by the last step. It is all that core shows.
		said string
		// conditions of the last step, but the one with what is said.
		conditions []string
		// want are the composed resources, with what core is told of their readiness.
		want map[string]bool
	}{
		"Ready": {reason: "The XR is ready when the runs of all steps are.", steps: []string{one, two}, resources: existing("one", "", "role: a.b.c") + existing("two", "", "role: a.b.c"), said: "Available", want: map[string]bool{"one": true, "two": true}},
		"First": {reason: "A failure in an earlier step is in the condition of the last one.", steps: []string{one, two}, resources: failed.Replace(existing("one", "", "role: a.b.c")) + existing("two", "", "role: a.b.c"), said: "RunFailed one: it broke", want: map[string]bool{"one": false, "two": true}},
		"Both":  {reason: "The most severe reason of all steps is the reason of the condition.", steps: []string{one, "runs: [{name: two, role: a.b.d}]"}, resources: failed.Replace(existing("two", "", "role: a.b.d")), said: "RunFailed two: it broke\nRunning:\none: is running", want: map[string]bool{"one": false, "two": false}},
		"Operator": {
			reason:    "The conditions of an operator are those of all steps if one step asks for them.",
			steps:     []string{"operatorConditions: true\n" + one, two},
			resources: failed.Replace(existing("two", "", "role: a.b.c")) + existing("one", "", "role: a.b.c"), said: "RunFailed two: it broke",
			conditions: []string{"Running|FALSE|Running|Running reconciliation", "Successful|FALSE|Failed|", "Failure|TRUE|Failed|two: it broke"},
		},
		"Problem": {reason: "A problem with the status in an earlier step is in the condition of the last one.", steps: []string{one + "\nstatus: {a: '${xr.spec.b}'}", two}, resources: existing("one", "", "role: a.b.c") + existing("two", "", "role: a.b.c"), said: "InvalidStatus status.a: xr.spec.b is not set; write xr.spec.?b if it may be missing", want: map[string]bool{"one": true, "two": true}},
		"Reference": {
			reason:    "A step refers to a run of an earlier step as to any resource.",
			steps:     []string{one, `runs: [{name: two, role: a.b.c, vars: {url: "${resources.one.status.atProvider.outputs.url}"}}]`},
			resources: existing("one", "", "role: a.b.c") + existing("two", "one", "role: a.b.c, unsafeVars: {url: there}"), said: "Available",
			want: map[string]bool{"one": true, "two": true, "two uses one": true},
		},
		"Context": {
			reason:    "The key of the steps is not in context for expressions.",
			steps:     []string{one, `runs: [{name: two, role: a.b.c, vars: {keys: "${context.map(key, key)}"}}]`},
			resources: existing("one", "", "role: a.b.c") + existing("two", "", "role: a.b.c, unsafeVars: {keys: []}"), said: "Available",
			want: map[string]bool{"one": true, "two": true},
		},
		"RemovedFirst": {
			reason: "A later step does not keep members that an earlier step removes.",
			steps:  []string{set, one}, resources: existing("one", "", "role: a.b.c") + members, said: "Available",
			want: map[string]bool{"one": true, "zone[a]": true, "app": true, "app uses zone[a]": true},
		},
		"Usages": {
			reason:    "A Usage that an earlier step composes for a run with usages: false is removed.",
			steps:     []string{"runs: [{name: one, role: a.b.c}, {name: two, role: a.b.c, dependsOn: [one], usages: false}]"},
			resources: existing("one", "", "role: a.b.c") + existing("two", "one", "role: a.b.c"), said: "Available",
			earlier: "{two uses one: {ready: READY_TRUE, resource: {kind: Usage}}, web uses cache: {ready: READY_TRUE, resource: {kind: Usage}}}",
			want:    map[string]bool{"one": true, "two": true, "web uses cache": true},
		},
		"SameName": {
			reason: "Two steps cannot have a run of the same name.",
			steps:  []string{one, "runs: [{name: one, role: a.b.d}]"},
			said:   `give run "one" another name: an earlier step of the pipeline composes "one", which is of kind AnsibleRun`,
		},
		"Kept": {
			reason:    "A later step may want an AnsibleRun that an earlier step keeps.",
			steps:     []string{one, "runs: [{name: two, role: a.b.c}, {name: three, role: a.b.c, dependsOn: [two]}]"},
			resources: existing("one", "", "role: a.b.c") + existing("two", "", "role: a.b.c") + existing("three", "two", "role: a.b.c"), said: "Available",
			want: map[string]bool{"one": true, "two": true, "three": true, "three uses two": true},
		},
		"KeptBefore": {
			reason:    "The outcome of the step that wants an AnsibleRun counts after all later steps.",
			steps:     []string{one, "runs: [{name: two, role: a.b.c}, {name: three, role: a.b.c, dependsOn: [two]}]", "runs: [{name: four, role: a.b.c}]"},
			resources: existing("one", "", "role: a.b.c") + existing("two", "", "role: a.b.c") + existing("three", "two", "role: a.b.c") + existing("four", "", "role: a.b.c"),
			said:      "Available",
			want:      map[string]bool{"one": true, "two": true, "three": true, "three uses two": true, "four": true},
		},
		"Removed": {
			reason: "The step with a set decides about its members, even if other steps keep them.",
			steps:  []string{one, set, two}, resources: existing("one", "", "role: a.b.c") + existing("two", "", "role: a.b.c") + members, said: "Available",
			want: map[string]bool{"one": true, "two": true, "zone[a]": true, "app": true, "app uses zone[a]": true},
		},
		"RemovedInTime": {
			reason: "A member is removed when its dependents have run without it.",
			steps:  []string{one, strings.Replace(set, "{zones: ", "{size: 2, zones: ", 1)}, resources: existing("one", "", "role: a.b.c") + members,
			said: "Running app: is running\nLeaving:\nzone[b]: not wanted any more, but has to stay for app",
			want: map[string]bool{"one": true, "zone[a]": true, "zone[b]": false, "app": false, "app uses zone[a]": true, "app uses zone[b]": true},
		},
		"PrunedAgain": {
			reason: "A later step decides about an AnsibleRun that an earlier step has retained.",
			steps:  []string{one, set}, resources: existing("one", "", "role: a.b.c") + unpruned, said: "Available",
			want: map[string]bool{"one": true, "zone[a]": true, "app": true, "app uses zone[a]": true},
		},
		"RemovedLater": {
			reason: "A member that may be a run of an earlier step under another name stays until that is decided.",
			steps:  []string{"runs: [{name: one, role: a.b.c, vars: {name: '${\"b\"}'}}]", set}, resources: members,
			said: "InvalidValue one: previousNames: zone[b], which is not wanted any more, has the same content, hosts and variables: write previousNames: [\"zone[b]\"] to go on with it, or previousNames: [] to remove it all the same\nLeaving:\nzone[b]: not wanted any more, but may be what one was called",
			want: map[string]bool{"zone[a]": true, "zone[b]": false, "app": true, "app uses zone[a]": true},
		},
		"KeptThenWanted": {
			reason:    "A later step cannot have a run that an earlier step has.",
			steps:     []string{one, "runs: [{name: two, role: a.b.c}, {name: three, role: a.b.c, dependsOn: [two]}]", "runs: [{name: two, role: a.b.d}]"},
			resources: existing("one", "", "role: a.b.c") + existing("two", "", "role: a.b.c") + existing("three", "two", "role: a.b.c"),
			said:      `give run "two" another name: an earlier step of the pipeline composes "two", which is of kind AnsibleRun`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var rsp *fnv1.RunFunctionResponse

			for _, in := range tc.steps {
				req := step{input: in, observed: tc.resources, earlier: tc.earlier}.request(t)

				if rsp != nil {
					req.Desired, req.Context = rsp.GetDesired(), rsp.GetContext()
				}

				// Core calls a step again with what it has said, once it has fetched what the step requires.
				for range 2 {
					rsp = respond(t, req)
					req.Context = rsp.GetContext()
				}
			}

			if diff := cmp.Diff(tc.said, said(rsp)); diff != "" {
				t.Errorf("\n%s\nRunFunction(...): -want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.conditions, conditionsOf(rsp)); diff != "" {
				t.Errorf("\n%s\nRunFunction(...): conditions: -want, +got:\n%s", tc.reason, diff)
			}

			if tc.want == nil {
				return
			}

			got := map[string]bool{}
			for name, r := range rsp.GetDesired().GetResources() {
				got[name] = r.GetReady() == fnv1.Ready_READY_TRUE
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nRunFunction(...): composed and ready: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
