package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// replicas returns observed members of a set from keys, versions and states, as in "a=1 ready, b=2 failed".
func replicas(members string) string {
	if members == "" {
		return " {}"
	}

	states := map[string]string{
		"ready": readyOf, "deleted": readyOf, "failed": failing("Failed", "disk is full"),
		"running": `status: {atProvider: {lastRun: {phase: Running}}, conditions: [{type: Ready, status: "False", observedGeneration: 1}]}`,
	}

	all := ""

	for m := range strings.SplitSeq(members, ", ") {
		key, rest, _ := strings.Cut(m, "=")
		version, state, _ := strings.Cut(rest, " ")
		o := strings.Replace(existing("replica["+key+"]", "", "role: a.b.c, unsafeVars: {version: "+version+"}"), readyOf, states[state], 1)

		if state == "deleted" {
			o = strings.Replace(o, "generation: 1", "generation: 1\n          deletionTimestamp: '2026-01-01T00:00:00Z'", 1)
		}

		all += o
	}

	return all
}

// versions returns the desired members with their versions.
func (s step) versions(t *testing.T) (versions []string, message string) {
	t.Helper()

	rsp := s.respond(t)
	all := rsp.GetDesired().GetResources()

	for _, name := range slices.Sorted(maps.Keys(all)) {
		o := all[name].GetResource().AsMap()
		if v := manifest.Nested(o, "spec", "forProvider", "unsafeVars", "version"); v != nil {
			versions = append(versions, strings.NewReplacer("replica[", "", "]", "").Replace(name)+fmt.Sprint("=", v))
		}
	}

	_, message, _ = strings.Cut(said(rsp), " ")

	return versions, message
}

func TestAtATime(t *testing.T) {
	cases := map[string]struct {
		reason        string
		atATime, keys string
		// run has further fields of the set, and more has other runs.
		run, more string
		observed  string
		want      string
		said      string
	}{
		"Create": {
			reason: "Members are created in the order of the items, and not in that of their names.", atATime: "1", keys: "[c, a, b]",
			want: "c=2", said: "replica[c]: is running\nDependencyNotReady:\nreplica[a]: is next: 0 of 3 have the new values\nreplica[b]: waits for its turn",
		},
		"Two": {
			reason: "atATime limits how many members are in progress.", atATime: "2", keys: "[a, b, c, d]",
			observed: "a=2 ready, b=2 running, c=1 ready, d=1 ready",
			want:     "a=2 b=2 c=2 d=1", said: "replica[b]: is running\nreplica[c]: is running\nDependencyNotReady:\nreplica[d]: is next: 1 of 4 have the new values",
		},
		"Share": {
			reason: "A percentage is rounded down.", atATime: "50%", keys: "[a, b, c, d, e]",
			observed: "a=1 ready, b=1 ready, c=1 ready, d=1 ready, e=1 ready",
			want:     "a=2 b=2 c=1 d=1 e=1", said: "replica[a]: is running\nreplica[b]: is running\nDependencyNotReady:\nreplica[c]: is next: 0 of 5 have the new values\nreplica[d]: waits for its turn\nreplica[e]: waits for its turn",
		},
		"ShareOfFew": {
			reason: "A percentage allows at least one member.", atATime: "25%", keys: "[a, b]",
			observed: "a=1 ready, b=1 ready", want: "a=2 b=1", said: "replica[a]: is running\nDependencyNotReady:\nreplica[b]: is next: 0 of 2 have the new values",
		},
		"Failed": {
			reason: "A failed member stops the others, even if the limit allows more.", atATime: "2", keys: "[a, b, c]",
			observed: "a=2 failed, b=1 ready, c=1 ready",
			want:     "a=2 b=1 c=1", said: "replica[a]: disk is full\nDependencyNotReady:\nreplica[b]: is next: 0 of 3 have the new values\nreplica[c]: waits for its turn",
		},
		"FailedLater": {
			reason: "A failed member with the new values stops the others, even if it comes later.", atATime: "1", keys: "[a, b, c]",
			observed: "a=2 ready, b=1 ready, c=2 failed",
			want:     "a=2 b=1 c=2", said: "replica[c]: disk is full\nDependencyNotReady:\nreplica[b]: is next: 1 of 3 have the new values",
		},
		"Repair": {
			reason: "Members that failed with old values get the new values first.", atATime: "1", keys: "[a, b, c]",
			observed: "a=1 ready, b=1 failed, c=0 ready",
			want:     "a=1 b=2 c=0", said: "replica[b]: is running\nDependencyNotReady:\nreplica[a]: is next: 0 of 3 have the new values\nreplica[c]: waits for its turn",
		},
		"EditedMeanwhile": {
			reason: "After another edit, the member in progress changes first, and then the first one.", atATime: "1", keys: "[a, b, c]",
			observed: "a=1 ready, b=1 running, c=0 ready",
			want:     "a=1 b=2 c=0", said: "replica[b]: is running\nDependencyNotReady:\nreplica[a]: is next: 0 of 3 have the new values\nreplica[c]: waits for its turn",
		},
		"Back": {
			reason: "A member that has the wanted values already is not changed.", atATime: "1", keys: "[a, b, c]",
			observed: "a=3 ready, b=2 ready, c=2 ready", want: "a=2 b=2 c=2", said: "replica[a]: is running",
		},
		"Removed": {
			reason: "A member that is not wanted any more is removed at once, and does not stop the others if it has failed.", atATime: "1", keys: "[b, c]",
			observed: "a=2 failed, b=1 ready, c=1 ready",
			want:     "b=2 c=1", said: "replica[b]: is running\nDependencyNotReady:\nreplica[c]: is next: 0 of 2 have the new values",
		},
		"Replaced": {
			reason: "A member that is not created yet does not keep unwanted members.", atATime: "1", keys: "[b, c]",
			observed: "a=1 ready, b=1 ready",
			want:     "b=2", said: "replica[b]: is running\nDependencyNotReady:\nreplica[c]: is next: 0 of 2 have the new values",
		},
		"Deleted": {
			reason: "A member that was deleted from outside is created again before another one changes.", atATime: "1", keys: "[a, b]",
			observed: "a=1 ready, b=1 deleted",
			want:     "a=1 b=1", said: "replica[b]: is being deleted\nDependencyNotReady:\nreplica[a]: is next: 0 of 2 have the new values",
		},
		"Skipped": {
			reason: "A member that is not wanted does not count.", atATime: "50%", keys: "[a, b, c]",
			run: `when: "${each.key != 'a'}", `, observed: "b=1 ready, c=1 ready",
			want: "b=2 c=1", said: "replica[b]: is running\nDependencyNotReady:\nreplica[c]: is next: 0 of 2 have the new values",
		},
		"Unusable": {
			reason: "A member without a usable value stops later members, but not earlier ones.", atATime: "1", keys: "[a, b, c]",
			run: `limit: "${each.key == 'b' ? '@file' : 'all'}", `, observed: "a=1 ready, b=1 ready, c=1 ready",
			want: "a=2 b=1 c=1",
			said: "replica[b]: limit: must be names or patterns of hosts and groups, of letters, digits and _.-*?[] with , : & and ! between them, as in web:&eu, and is \"@file\"\nRunning:\nreplica[a]: is running\nDependencyNotReady:\nreplica[c]: is next: 0 of 3 have the new values",
		},
		"Metadata": {
			reason: "Labels do not run content, and change for all members at once.", atATime: "1", keys: "[a, b]",
			run: `labels: {team: storage}, `, observed: "a=2 ready, b=2 ready",
			want: "a=2 b=2", said: "replica[a]: is running\nreplica[b]: is running",
		},
		"Default": {
			reason: "Without a limit all members change at once.", atATime: "null", keys: "[a, b]",
			observed: "a=1 ready, b=1 ready", want: "a=2 b=2", said: "replica[a]: is running\nreplica[b]: is running",
		},
		"Dependents": {
			reason: "A dependent of the set waits for all members, and a dependent of a member only for that one.", atATime: "1", keys: "[a, b]",
			more:     `, {name: app, dependsOn: [replica]}, {name: proxy, forEach: "${xr.spec.keys}", vars: {version: "${runs.replica[each.key].outputs.url}"}}`,
			observed: "a=2 ready, b=1 ready",
			want:     "proxy[a=there a=2 b=2", said: "replica[b]: is running\nproxy[a]: is running\nDependencyNotReady:\napp: waiting for replica\nproxy[b]: waiting for replica[b]",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := step{
				runs:     `[{name: replica, forEach: "${xr.spec.keys}", atATime: ` + tc.atATime + `, ` + tc.run + `vars: {version: "${xr.spec.version}"}}` + tc.more + `]`,
				spec:     "version: 2, keys: " + tc.keys,
				observed: replicas(tc.observed),
			}
			s.runs = strings.Replace(s.runs, "atATime: null, ", "", 1)

			versions, said := s.versions(t)
			if diff := cmp.Diff(tc.want, strings.Join(versions, " ")); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.said, said); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAtATimeToTheEnd changes all members of a set by one edit. The condition, and so the XR, changes once for each.
func TestAtATimeToTheEnd(t *testing.T) {
	members := "a=1 ready, b=1 ready, c=1 ready"
	want := []string{
		"replica[a]: is running\nDependencyNotReady:\nreplica[b]: is next: 0 of 3 have the new values\nreplica[c]: waits for its turn",
		"replica[b]: is running\nDependencyNotReady:\nreplica[c]: is next: 1 of 3 have the new values",
		"replica[c]: is running",
		"",
	}

	var texts []string

	for range 10 {
		versions, said := step{
			runs: `[{name: replica, forEach: "${xr.spec.keys}", atATime: 1, vars: {version: "${xr.spec.version}"}}]`,
			spec: "version: 2, keys: [a, b, c]", observed: replicas(members),
		}.versions(t)
		texts = append(texts, said)

		var now []string

		for i, m := range strings.Split(members, ", ") {
			state := "ready" // What was in progress is done.
			if !strings.HasPrefix(m, versions[i]) {
				state = "running"
			}

			now = append(now, versions[i]+" "+state)
		}

		members = strings.Join(now, ", ")
	}

	if diff := cmp.Diff(want, slices.Compact(texts)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}

	if diff := cmp.Diff("a=2 ready, b=2 ready, c=2 ready", members); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
