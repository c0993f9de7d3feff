package tree

import (
	"cmp"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

func TestRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		n      Node
		token  string
		want   string
	}{
		"Default":      {reason: "An object answers requests.", n: Node{}},
		"Paused":       {reason: "A paused object does not answer requests.", n: Node{Paused: true}, want: "is paused: resume it first"},
		"Unmanaged":    {reason: "An object that its management policies pause cannot be resumed.", n: Node{Paused: true, Unmanaged: true}, want: "is paused by spec.managementPolicies: []"},
		"NoUpdate":     {reason: "Without Update, an applied object is not applied again.", n: Node{policies: []string{"Observe", "Create"}, applied: "d"}, want: "has managementPolicies that allow no run: Observe, Create"},
		"Create":       {reason: "With Create, an object may be applied once.", n: Node{policies: []string{"Observe", "Create"}}},
		"First":        {reason: "Update allows the first apply.", n: Node{policies: []string{"Observe", "Update"}}},
		"Failed":       {reason: "After a failed first apply, the first apply is still due.", n: Node{policies: []string{"Observe", "Create"}, LastApply: common.Apply{Result: common.PhaseFailed}}},
		"DeletedCheck": {reason: "A deletion does not begin with a check under any policy.", n: Node{policies: []string{"Observe"}, policy: common.CheckWhenObserve, Deleted: true}, want: "has managementPolicies that allow no run: Observe"},
		"Update":       {reason: "With Update, an object may be applied again.", n: Node{policies: []string{"Observe", "Update"}, applied: "d"}},
		"Check":        {reason: "A check needs no management policy.", n: Node{policies: []string{"Observe"}, policy: common.CheckWhenObserve}},
		"Deleted":      {reason: "A deletion needs Delete.", n: Node{policies: []string{"Observe", "Delete"}, applied: "d", Deleted: true}},
		"Look":         {reason: "A preview needs no management policy.", n: Node{policies: []string{"Observe"}}, token: common.PreviewRequest},
		"LookPaused":   {reason: "A paused object has no preview.", n: Node{Paused: true}, token: common.PreviewRequest, want: "is paused: resume it first"},
		"LookDeleted":  {reason: "A deleted object has no preview.", n: Node{Deleted: true}, token: common.PreviewRequest, want: "is being deleted: a check tells what an apply would change"},
		"DeletedStays": {reason: "Without Delete, a deletion has no run.", n: Node{policies: []string{"Observe"}, Deleted: true}, want: "has managementPolicies that allow no run: Observe"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := tc.n.refuses(tc.token); err != nil {
				got = err.Error()
			}

			if got != tc.want {
				t.Errorf("\n%s\nRefuses(): want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

func TestOutcome(t *testing.T) {
	ended := func(mode common.RunMode, phase common.RunPhase) common.Run {
		return common.Run{Mode: mode, Phase: phase}
	}
	because := func(r common.Run, reason string) common.Run {
		r.Reason = reason
		return r
	}
	approval := func(s common.ApprovalState) common.ApprovalObservation {
		return common.ApprovalObservation{State: s, By: "ada"}
	}

	const (
		waits     = "waits"
		succeeded = "succeeded"
		failed    = "failed"
		check     = common.PreviewRequest + "t"
	)

	drift := common.Drift{Changed: 1}
	checked := ended(common.ModeCheck, common.PhaseSucceeded)
	unable := because(ended(common.ModeCheck, common.PhaseSucceeded), "NotCheckable")
	lastFailed := common.Apply{Result: common.PhaseFailed}
	running := common.Run{Phase: common.PhaseRunning, StartTime: &metav1.Time{Time: time.Unix(1, 0)}}
	preview := func(r common.Run) common.Preview {
		return common.Preview{Phase: r.Phase, Reason: r.Reason, Drift: &drift}
	}

	cases := map[string]struct {
		reason string
		n      Node
		token  string
		want   string
	}{
		"Other":           {reason: "The answer to another request does not count.", n: Node{requested: "t", handled: "s", LastRun: ended(common.ModeApply, common.PhaseSucceeded)}, want: waits},
		"Replaced":        {reason: "A request that another one has replaced is never answered.", n: Node{requested: "u", handled: "s", LastRun: ended(common.ModeApply, common.PhaseSucceeded)}, want: "AnsibleRun x: another request took the place of this one"},
		"ReplacedQueued":  {reason: "A waiting run will answer the other request.", n: Node{requested: "u", LastRun: common.Run{Phase: common.PhaseQueued}}, want: "AnsibleRun x: another request took the place of this one"},
		"ReplacedRunning": {reason: "A run that has begun may answer the first request.", n: Node{requested: "u", LastRun: running}, want: waits},
		"ReplacedLater":   {reason: "An answered request was not replaced.", n: Node{requested: "u", handled: "t", LastRun: ended(common.ModeApply, common.PhaseSucceeded)}, want: succeeded},
		"Succeeded":       {reason: "A run that succeeded is an answer.", n: Node{handled: "t", LastRun: ended(common.ModeApply, common.PhaseSucceeded)}, want: succeeded},
		"Failed":          {reason: "A run that failed is an answer.", n: Node{handled: "t", LastRun: ended(common.ModeApply, common.PhaseFailed)}, want: failed},
		"Again":           {reason: "A run that has begun after the answer is waited for.", n: Node{handled: "t", LastRun: running}, want: waits},
		"Clean":           {reason: "A clean check is an answer.", n: Node{handled: "t", LastRun: checked}, want: succeeded},
		"Drift":           {reason: "A check that predicts changes leads to an apply.", n: Node{handled: "t", LastRun: checked, Drift: drift}, want: waits},
		"NotAllowed":      {reason: "A check does not lead to an apply that is not allowed.", n: Node{handled: "t", LastRun: checked, Drift: drift, policies: []string{"Observe"}}, want: succeeded},
		"AfterFailure":    {reason: "After an apply that failed, no check is trusted.", n: Node{handled: "t", applied: "d", LastRun: checked, LastApply: lastFailed}, want: waits},
		"FailedFirst":     {reason: "A check that fails before the first apply leads to it.", n: Node{handled: "t", LastRun: ended(common.ModeCheck, common.PhaseFailed)}, want: waits},
		"FailedLater":     {reason: "A check that fails later does not lead to an apply.", n: Node{handled: "t", applied: "d", LastRun: ended(common.ModeCheck, common.PhaseFailed)}, want: failed},
		"Canceled":        {reason: "A canceled check does not lead to an apply.", n: Node{handled: "t", LastRun: ended(common.ModeCheck, common.PhaseCanceled)}, want: failed},
		"Internal":        {reason: "A check that failed by an error of the provider does not lead to an apply.", n: Node{handled: "t", LastRun: because(ended(common.ModeCheck, common.PhaseFailed), "Internal")}, want: failed},
		"PodNotStarted":   {reason: "A check without a Pod does not lead to an apply.", n: Node{handled: "t", LastRun: because(ended(common.ModeCheck, common.PhaseFailed), "PodNotStarted")}, want: failed},
		"Forbidden":       {reason: "A check without rights does not lead to an apply.", n: Node{handled: "t", LastRun: because(ended(common.ModeCheck, common.PhaseFailed), "Forbidden")}, want: failed},
		"InstallFailed":   {reason: "A check without its content does not lead to an apply.", n: Node{handled: "t", LastRun: because(ended(common.ModeCheck, common.PhaseFailed), "InstallFailed")}, want: failed},
		"Applied":         {reason: "An apply after a check is an answer, independently of the drift.", n: Node{handled: "t", LastRun: ended(common.ModeApply, common.PhaseFailed), Drift: drift}, want: failed},
		"NotCheckable":    {reason: "A check without a prediction leads to no apply.", n: Node{handled: "t", LastRun: unable}, want: "AnsibleRun x: the content cannot be checked (NotCheckable)"},
		"Awaiting":        {reason: "A run that awaits approval has not been applied.", n: Node{handled: "t", LastRun: checked, Drift: drift, Approval: approval(common.ApprovalAwaiting)}, want: waits},
		"AwaitingUnable":  {reason: "A run that awaits approval without a prediction has not been applied.", n: Node{handled: "t", applied: "d", LastRun: unable, Approval: approval(common.ApprovalAwaiting)}, want: waits},
		"AwaitingFailed":  {reason: "A run that awaits approval after a failed check has not been applied.", n: Node{handled: "t", applied: "d", LastRun: ended(common.ModeCheck, common.PhaseFailed), Approval: approval(common.ApprovalAwaiting)}, want: waits},
		"Approved":        {reason: "An approved run begins soon.", n: Node{handled: "t", LastRun: checked, Drift: drift, Approval: approval(common.ApprovalApproved)}, want: waits},
		"Rejected":        {reason: "A rejected run is not applied.", n: Node{handled: "t", LastRun: checked, Drift: drift, Approval: approval(common.ApprovalRejected)}, want: "AnsibleRun x: what the check predicts was rejected by ada"},
		"ApprovedBefore":  {reason: "A used approval does not matter for a clean check.", n: Node{handled: "t", applied: "d", LastRun: checked, Approval: approval(common.ApprovalApplied)}, want: succeeded},
		"Look":            {reason: "A preview is over when its run has ended.", n: Node{handled: check, LastRun: running, Preview: common.Preview{Drift: &drift}}, token: check, want: waits},
		"LookSucceeded":   {reason: "A preview leads to no apply.", n: Node{handled: check, LastRun: running, Preview: preview(ended(common.ModeCheck, common.PhaseSucceeded))}, token: check, want: succeeded},
		"LookFailed":      {reason: "A preview fails with its own run, independently of the last run.", n: Node{handled: check, LastRun: running, Preview: preview(ended(common.ModeCheck, common.PhaseFailed))}, token: check, want: failed},
		"LookUnable":      {reason: "A preview without a prediction is not a success.", n: Node{handled: check, Preview: preview(because(ended(common.ModeCheck, common.PhaseSucceeded), "NotCheckable"))}, token: check, want: "AnsibleRun x: the content cannot be checked (NotCheckable)"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.n.Kind, tc.n.Name = common.KindAnsibleRun, "x"

			got, over := tc.n.outcome(cmp.Or(tc.token, "t"))

			text := cmp.Or(got.why, failed)
			if got.succeeded {
				text = succeeded
			}

			if !over {
				text = waits
			}

			if text != tc.want {
				t.Errorf("\n%s\noutcome(...): want %s, got %s", tc.reason, tc.want, text)
			}
		})
	}
}

// TestRequest goes from request to answer in steps: the states of the runs, and
// the runs that are requested then.
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
		succeeded bool
	}{
		"AtOnce": {
			reason: "Runs that do not depend on each other are asked for at once.", wanted: "abc", succeeded: true,
			looks: []look{{"---", []types.UID{"a", "b", "c"}, false}, {"ssr", nil, false}, {"sss", nil, true}},
		},
		"InOrder": {
			reason: "A run is asked for when those before it have succeeded.", wanted: "abc", succeeded: true,
			depends: map[types.UID][]string{"b": {"a"}, "c": {"b"}},
			looks:   []look{{"---", []types.UID{"a"}, false}, {"r--", nil, false}, {"s--", []types.UID{"b"}, false}, {"ss-", []types.UID{"c"}, false}, {"sss", nil, true}},
		},
		"Failure": {
			reason: "A run that depends on a failed run is not requested.", wanted: "abc",
			depends: map[types.UID][]string{"b": {"a"}, "c": {"b"}},
			looks:   []look{{"---", []types.UID{"a"}, false}, {"f--", nil, true}},
		},
		"Beside": {
			reason: "Runs that do not depend on a failed run go on.", wanted: "abc",
			depends: map[types.UID][]string{"b": {"a"}},
			looks:   []look{{"---", []types.UID{"a", "c"}, false}, {"f-r", nil, false}, {"f-s", nil, true}},
		},
		"Some": {
			reason: "Only wanted runs are requested and waited for.", wanted: "c", succeeded: true,
			depends: map[types.UID][]string{"c": {"a"}},
			looks:   []look{{"f--", []types.UID{"c"}, false}, {"f-s", nil, true}},
		},
		"Gone": {
			reason: "The last run of a deleted object has succeeded.", wanted: "ab", succeeded: true,
			looks: []look{{"---", []types.UID{"a", "b"}, false}, {"gs-", nil, true}},
		},
		"GoneBefore": {
			reason: "A run that is gone before its request is not waited for, and blocks no other run.", wanted: "abc",
			depends: map[types.UID][]string{"b": {"a"}, "c": {"b"}},
			looks:   []look{{"---", []types.UID{"a"}, false}, {"rg-", []types.UID{"c"}, false}, {"sgr", nil, false}, {"sgs", nil, true}},
		},
		"AllGone": {
			reason: "When the XR is gone, no run is waited for.", wanted: "abc",
			depends: map[types.UID][]string{"b": {"a"}, "c": {"b"}},
			looks:   []look{{"---", []types.UID{"a"}, false}, {"ggg", nil, true}},
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
					n := &Node{APIVersion: "ansible.m.crossplane.io/v1alpha1", Kind: common.KindAnsibleRun, UID: uid, Run: string(uid), DependsOn: tc.depends[uid], requested: "t"}
					if phase, ok := phases[l.phases[i]]; ok {
						n.handled, n.LastRun = "t", common.Run{Phase: phase}
					}

					if l.phases[i] != 'g' {
						root.Runs = append(root.Runs, n)
					}
				}

				root.Runs = inOrder(root.Runs)

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

			r.Ordered = true

			for i, l := range tc.looks {
				now := at(l).All()
				r.Observe(now)

				var due []types.UID
				for _, n := range r.Due(now) {
					due = append(due, n.UID)
				}

				if diff := gocmp.Diff(l.due, due); diff != "" || r.Over() != l.over {
					t.Errorf("\n%s\nlook %d: over %t, due -want, +got:\n%s", tc.reason, i, r.Over(), diff)
				}
			}

			if got := r.Succeeded(); got != tc.succeeded {
				t.Errorf("\n%s\nSucceeded(): want %t, got %t", tc.reason, tc.succeeded, got)
			}
		})
	}
}
