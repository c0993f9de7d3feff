package tree

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

func TestRefuses(t *testing.T) {
	applied := &common.Apply{}

	cases := map[string]struct {
		reason string
		n      Node
		token  string
		want   string
	}{
		"Default":      {reason: "An object answers requests.", n: Node{}},
		"Paused":       {reason: "One that is paused does not.", n: Node{Paused: true}, want: "is paused: resume it first"},
		"Unmanaged":    {reason: "Resuming does not help where the policies pause.", n: Node{Paused: true, unmanaged: true}, want: "is paused by spec.managementPolicies: []"},
		"NoUpdate":     {reason: "Without Update nothing is applied again.", n: Node{policies: []string{"Observe", "Create"}, LastApply: applied}, want: "has managementPolicies that allow no run: Observe, Create"},
		"Create":       {reason: "With Create it may be applied once.", n: Node{policies: []string{"Observe", "Create"}}},
		"Update":       {reason: "With Update it may be applied again.", n: Node{policies: []string{"Observe", "Update"}, LastApply: applied}},
		"Check":        {reason: "A check may always be made.", n: Node{policies: []string{"Observe"}, policy: common.CheckWhenObserve}},
		"Deleted":      {reason: "A deletion needs Delete.", n: Node{policies: []string{"Observe", "Delete"}, LastApply: applied, Deleted: true}},
		"Look":         {reason: "What would change may always be looked at.", n: Node{policies: []string{"Observe"}}, token: common.CheckRequest},
		"LookPaused":   {reason: "But not at one that is paused.", n: Node{Paused: true}, token: common.CheckRequest, want: "is paused: resume it first"},
		"LookDeleted":  {reason: "And not at one that goes.", n: Node{Deleted: true}, token: common.CheckRequest, want: "is being deleted: a check tells what an apply would change"},
		"DeletedStays": {reason: "Without Delete there is no run.", n: Node{policies: []string{"Observe"}, Deleted: true}, want: "has managementPolicies that allow no run: Observe"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := tc.n.Refuses(tc.token); err != nil {
				got = err.Error()
			}

			if got != tc.want {
				t.Errorf("\n%s\nRefuses(): want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

func TestAnswered(t *testing.T) {
	ended := func(mode common.RunMode, phase common.RunPhase) *common.Run {
		return &common.Run{Mode: mode, Phase: phase}
	}
	drift := &common.Drift{Changed: 1}

	cases := map[string]struct {
		reason string
		n      Node
		want   bool
	}{
		"Other":     {reason: "The answer to another request is none.", n: Node{handled: "s", LastRun: ended(common.ModeApply, common.PhaseSucceeded)}},
		"Succeeded": {reason: "A run that succeeded is an answer.", n: Node{handled: "t", LastRun: ended(common.ModeApply, common.PhaseSucceeded)}, want: true},
		"Failed":    {reason: "So is one that failed.", n: Node{handled: "t", LastRun: ended(common.ModeApply, common.PhaseFailed)}, want: true},
		"Again":     {reason: "A run that has begun since then is waited for.", n: Node{handled: "t", LastRun: ended(common.ModeApply, common.PhaseRunning)}},
		"Clean":     {reason: "A clean check is an answer.", n: Node{handled: "t", LastRun: ended(common.ModeCheck, common.PhaseSucceeded)}, want: true},
		"Drift":     {reason: "A check that predicts changes leads to an apply.", n: Node{handled: "t", LastRun: ended(common.ModeCheck, common.PhaseSucceeded), Drift: drift}},
		"Preview":   {reason: "Unless it may not.", n: Node{handled: "t", LastRun: ended(common.ModeCheck, common.PhaseSucceeded), Drift: drift, policies: []string{"Observe"}}, want: true},
		"Applied":   {reason: "An apply after a check is an answer, whatever has become of the drift.", n: Node{handled: "t", LastRun: ended(common.ModeApply, common.PhaseFailed), Drift: drift}, want: true},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.n.answered("t"); got != tc.want {
				t.Errorf("\n%s\nanswered(...): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}

	const check = common.CheckRequest + "t"

	n := Node{handled: check, LastRun: ended(common.ModeApply, common.PhaseRunning), Preview: &common.Preview{Drift: drift}}
	if n.answered(check) {
		t.Errorf("A check that has not ended is no answer.")
	}

	n.Preview.Run = ended(common.ModeCheck, common.PhaseFailed)
	n.Preview.Run.Trigger = common.TriggerPreview

	if !n.answered(check) || n.answer(check).Phase != common.PhaseFailed {
		t.Errorf("A check that has ended is an answer, whatever the last run does.")
	}
}

// TestRequest goes from request to answer, in steps: what a run is when it is looked at, and
// which runs are asked for then.
func TestRequest(t *testing.T) {
	type look struct {
		phases string // Of the runs a, b, c: s(ucceeded), f(ailed), r(unning), - (not asked), g(one).
		due    []types.UID
		over   bool
	}

	phases := map[byte]common.RunPhase{'s': common.PhaseSucceeded, 'f': common.PhaseFailed, 'r': common.PhaseRunning}

	cases := map[string]struct {
		reason    string
		depends   map[types.UID][]string
		wanted    string
		looks     []look
		succeeded int
	}{
		"AtOnce": {
			reason: "Runs that do not depend on each other are asked for at once.", wanted: "abc", succeeded: 3,
			looks: []look{{"---", []types.UID{"a", "b", "c"}, false}, {"ssr", nil, false}, {"sss", nil, true}},
		},
		"InOrder": {
			reason: "A run is asked for when those before it have succeeded.", wanted: "abc", succeeded: 3,
			depends: map[types.UID][]string{"b": {"a"}, "c": {"b"}},
			looks:   []look{{"---", []types.UID{"a"}, false}, {"r--", nil, false}, {"s--", []types.UID{"b"}, false}, {"ss-", []types.UID{"c"}, false}, {"sss", nil, true}},
		},
		"Failure": {
			reason: "What depends on a run that fails is not asked for.", wanted: "abc",
			depends: map[types.UID][]string{"b": {"a"}, "c": {"b"}},
			looks:   []look{{"---", []types.UID{"a"}, false}, {"f--", nil, true}},
		},
		"Beside": {
			reason: "What does not depend on it goes on.", wanted: "abc", succeeded: 1,
			depends: map[types.UID][]string{"b": {"a"}},
			looks:   []look{{"---", []types.UID{"a", "c"}, false}, {"f-r", nil, false}, {"f-s", nil, true}},
		},
		"Some": {
			reason: "Only those that are wanted are asked for, and waited for.", wanted: "c", succeeded: 1,
			depends: map[types.UID][]string{"c": {"a"}},
			looks:   []look{{"f--", []types.UID{"c"}, false}, {"f-s", nil, true}},
		},
		"Gone": {
			reason: "An object that goes has had its last run.", wanted: "ab", succeeded: 2,
			looks: []look{{"---", []types.UID{"a", "b"}, false}, {"gs-", nil, true}},
		},
		"Retried": {
			reason: "The run that answered counts, not the retry after it.", wanted: "a",
			looks: []look{{"---", []types.UID{"a"}, false}, {"f--", nil, true}, {"s--", nil, true}},
		},
		"Circle": {
			reason: "Runs that depend on each other are never asked for.", wanted: "ab",
			depends: map[types.UID][]string{"a": {"b"}, "b": {"a"}},
			looks:   []look{{"---", nil, true}},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			at := func(l look) *Node {
				root := &Node{Kind: "Site"}

				for i, uid := range []types.UID{"a", "b", "c"} {
					n := &Node{Kind: common.KindAnsibleRun, UID: uid, Run: string(uid), DependsOn: tc.depends[uid]}
					if phase, ok := phases[l.phases[i]]; ok {
						n.handled, n.LastRun = "t", &common.Run{Phase: phase}
					}

					if l.phases[i] != 'g' {
						root.Runs = append(root.Runs, n)
					}
				}

				return root
			}

			first := at(tc.looks[0])

			var wanted []*Node
			for _, n := range first.All() {
				if strings.Contains(tc.wanted, n.Run) {
					wanted = append(wanted, n)
				}
			}

			r, err := NewRequest("t", wanted)
			if err != nil {
				t.Fatal(err)
			}

			r.After(first)

			for i, l := range tc.looks {
				now := at(l).All()
				r.Observe(now)

				var due []types.UID
				for _, n := range r.Due(now) {
					due = append(due, n.UID)
				}

				if diff := cmp.Diff(l.due, due); diff != "" || r.Over() != l.over {
					t.Errorf("\n%s\nlook %d: over %t, due -want, +got:\n%s", tc.reason, i, r.Over(), diff)
				}
			}

			if _, _, succeeded := r.Count(); succeeded != tc.succeeded {
				t.Errorf("\n%s\nCount(): want %d that succeeded, got %d", tc.reason, tc.succeeded, succeeded)
			}
		})
	}
}
