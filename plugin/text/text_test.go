package text

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
	"github.com/crossplane-ansible/crossplane-ansible/provider/play"
)

// To make the golden files again: go test ./plugin/text -args -update, and read them.
var update = flag.Bool("update", false, "Write the golden files.")

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func at(before time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(-before)} }

func composed(name string, s tree.State, r common.Run) *tree.Node {
	return &tree.Node{
		APIVersion: "ansible.m.crossplane.io/v1alpha1", Kind: "AnsibleRun", Namespace: "default", Name: "shop-" + name,
		Run: name, State: s, LastRun: r,
	}
}

func ended(phase common.RunPhase, hosts common.HostTotals) common.Run {
	return common.Run{ID: "7c1d", Mode: common.ModeApply, Trigger: common.TriggerChanged, Phase: phase, StartTime: at(3 * time.Minute), CompletionTime: at(2 * time.Minute), Hosts: &hosts}
}

// shop is an XR with a run in each state.
func shop() *tree.Node {
	failed := composed("database", tree.Failed, ended(common.PhaseFailed, common.HostTotals{OK: 2, Changed: 1, Failed: 3}))
	failed.Reason, failed.LastApply = "RunFailed", common.Apply{Attempts: 3, NextRetryTime: at(-12 * time.Second)}
	failed.LastRun.Reason = "TaskFailed"
	failed.LastRun.Failures = []common.Failure{
		{Task: "Copy the page", Host: "web1", Message: "No space left on device: '/tmp/tmpa8x/page'", Rescued: true},
		{Task: "Write the page", Host: "web1", Message: "'titel' is undefined\x1b[31m\nand that was in a file with a name that is too long for a line"},
		{Task: "Write the page", Host: "web2", Message: "'titel' is undefined\x1b[31m"},
		{Task: "Write the page", Host: "web3", Message: strings.Repeat("a very long message ", 50)},
	}
	failed.LastRun.Message = failed.LastRun.Cause()

	running := composed("cache", tree.Running, common.Run{Phase: common.PhaseRunning, StartTime: at(9 * time.Second), CurrentTask: "Warm the cache", Progress: "task 5 of ~8", Hosts: &common.HostTotals{OK: 4}})
	ready := composed("network", tree.Ready, ended(common.PhaseSucceeded, common.HostTotals{OK: 3, Skipped: 1}))
	ready.Drift = common.Drift{Changed: 2}

	blocked := composed("mail", tree.Blocked, common.Run{})
	blocked.Reason, blocked.Message = "ReconcileError", `cannot get Secret "mail"`

	return &tree.Node{
		APIVersion: "example.org/v1", Kind: "Site", Namespace: "default", Name: "shop", State: tree.Failed, Reason: "RunFailed",
		Notes: []string{"AnsibleRun other is named in resourceRefs, but does not belong to this object"},
		Runs: []*tree.Node{
			ready, failed, running,
			composed("queue", tree.Queued, common.Run{Phase: common.PhaseQueued}),
			blocked,
			{APIVersion: "example.org/v1", Kind: "Part", Name: "shop-part", Run: "part", State: tree.Paused, Paused: true, Runs: []*tree.Node{composed("inner", tree.Paused, common.Run{})}},
			{Run: "report", State: tree.Waiting, Message: "waiting for database, mail"},
			{Run: "disk[a-very-long-name-of-a-disk-of-this-shop]", State: tree.Blocked, Message: "vars.size: xr.spec.size is not set"},
		},
	}
}

func one(name string) *tree.Node {
	for _, n := range shop().Leaves() {
		if n.Run == name {
			return n
		}
	}

	return nil
}

// guarded is a ready XR with runs that wait for an approval or for a window.
func guarded() *tree.Node {
	drift := common.Drift{Changed: 2}

	awaiting := composed("awaiting", tree.AwaitingApproval, ended(common.PhaseSucceeded, common.HostTotals{OK: 1, Changed: 2}))
	awaiting.Reason, awaiting.Message = "AwaitingApproval", "a check predicts 2 changes by the run, and awaits approval of digest 3f9a"
	awaiting.Available, awaiting.Drift, awaiting.Approval = true, drift, common.ApprovalObservation{State: common.ApprovalAwaiting, Digest: "3f9a"}

	rejected := composed("rejected", tree.AwaitingApproval, ended(common.PhaseSucceeded, common.HostTotals{OK: 1, Changed: 2}))
	rejected.Reason, rejected.Message = "Rejected", "digest 3f9a was rejected by ada: not \x1b[31mtoday"
	rejected.Drift, rejected.Approval = drift, common.ApprovalObservation{State: common.ApprovalRejected, Digest: "3f9a", By: "ada", Reason: "not \x1b[31mtoday"}

	unchecked := composed("unchecked", tree.AwaitingApproval, ended(common.PhaseSucceeded, common.HostTotals{Skipped: 2}))
	unchecked.Message = "the run cannot be checked, and awaits approval of digest 3f9a"
	unchecked.Approval = common.ApprovalObservation{State: common.ApprovalAwaiting, Digest: "3f9a", Unchecked: "NotCheckable"}

	canceled := composed("canceled", tree.Failed, ended(common.PhaseCanceled, common.HostTotals{OK: 2}))
	canceled.Reason, canceled.Canceled, canceled.LastApply = "RetriesExhausted", true, common.Apply{Attempts: 1}
	canceled.LastRun.Reason, canceled.LastRun.Message = "Canceled", "the run was canceled"

	retries := composed("retries", tree.Failed, ended(common.PhaseFailed, common.HostTotals{Failed: 1}))
	retries.LastApply = common.Apply{Attempts: 2, NextRetryTime: at(time.Minute)}
	retries.LastRun.Reason, retries.LastRun.Message, retries.Windowed = "TaskFailed", "m", true

	drifted := composed("drifted", tree.Ready, ended(common.PhaseSucceeded, common.HostTotals{OK: 1, Changed: 2}))
	drifted.Drift = drift

	periodic := composed("periodic", tree.Ready, ended(common.PhaseSucceeded, common.HostTotals{OK: 1}))
	periodic.NextRunTime = at(-time.Hour)

	return &tree.Node{
		APIVersion: "example.org/v1", Kind: "Site", Namespace: "default", Name: "guarded", State: tree.AwaitingApproval, Available: true,
		Runs: []*tree.Node{awaiting, rejected, unchecked, canceled, retries, drifted, periodic},
	}
}

// withholding is an XR with a run that withholds outputs, and a run that reads one of them.
func withholding() *tree.Node {
	database := composed("database", tree.Ready, ended(common.PhaseSucceeded, common.HostTotals{OK: 1}))
	database.Withheld = []string{
		"output url is withheld: key password of Secret pg is in it; let the content publish it as a connection detail",
		"output \x1b[31mdsn is withheld: a secret is in it; keep it out of the output",
	}

	return &tree.Node{
		APIVersion: "example.org/v1", Kind: "Site", Namespace: "default", Name: "shop", State: tree.Blocked, Reason: "OutputWithheld",
		Runs: []*tree.Node{
			database, {Run: "app", State: tree.Blocked, Message: "vars.url: runs.database.outputs.url is withheld: key password of Secret pg is in it"},
		},
	}
}

// moving is an XR with runs in progress, and with objects that are being deleted.
func moving() *tree.Node {
	running := common.Run{
		Phase: common.PhaseRunning, Mode: common.ModeApply, Trigger: common.TriggerChanged, State: common.StatePresent,
		StartTime: at(9 * time.Second), CurrentTask: "Warm the cache",
	}
	absent := running
	absent.State, absent.Trigger = common.StateAbsent, common.TriggerDeleted

	queued := common.Run{Phase: common.PhaseQueued, Mode: common.ModeCheck, Trigger: common.TriggerPoll, Message: "no place is free"}
	xr := &tree.Node{APIVersion: "example.org/v1", Kind: "Site", Name: "moving"}

	for _, tc := range []struct {
		name                 string
		state                tree.State
		run                  common.Run
		deleted              bool
		undeletable, failure string
	}{
		{name: "running", state: tree.Running, run: running},
		{name: "retry", state: tree.Running, run: running, failure: "task \"x\" failed:\n\x1b[31mno"},
		{name: "queued", state: tree.Installing, run: queued},
		{name: "retry-queued", state: tree.Installing, run: queued, failure: "m"},
		{name: "paused", state: tree.Paused, run: running},
		{name: "paused-before", state: tree.Paused, run: queued},
		{name: "deleted-while-running", state: tree.Running, run: running, deleted: true},
		{name: "deleting", state: tree.Deleting, deleted: true},
		{name: "absent", state: tree.Running, run: absent, deleted: true},
		{name: "deletion-failed", state: tree.Failed, run: ended(common.PhaseFailed, common.HostTotals{Failed: 1}), deleted: true},
		{name: "undeletable", state: tree.Running, run: absent, deleted: true, undeletable: "the run failed; repair the cause"},
	} {
		n := composed(tc.name, tc.state, tc.run)
		n.Deleted, n.Undeletable, n.Failure = tc.deleted, tc.undeletable, tc.failure
		xr.Runs = append(xr.Runs, n)
	}

	return xr
}

// whys returns the texts of Why for all runs of an XR.
func whys(s Style, root *tree.Node) string {
	var b strings.Builder
	for _, n := range root.Leaves() {
		b.WriteString(Why(s, now, n) + "\n")
	}

	return b.String()
}

func TestGolden(t *testing.T) {
	readyXR := &tree.Node{Kind: "Site", Namespace: "default", Name: "shop", State: tree.Ready, Runs: []*tree.Node{composed("network", tree.Ready, common.Run{})}}
	gaveUp := one("database")
	gaveUp.Reason = "RetriesExhausted"

	invalid := &tree.Node{
		APIVersion: "example.org/v1", Kind: "Site", Namespace: "default", Name: "shop", State: tree.Blocked, Available: true,
		Message: "the input of function-ansible in the Composition is invalid:\nruns[0].varz: there is no such field\n" +
			"statuss: Forbidden: there is no \x1b[31msuch field", Runs: readyXR.Runs,
	}

	held := &tree.Node{
		APIVersion: "example.org/v1", Kind: "Site", Namespace: "default", Name: "shop", State: tree.Failed,
		Message: "database: vars.size: xr.spec.size is not set", Runs: []*tree.Node{one("database")},
	}

	foreign := one("mail")
	foreign.Message = "cannot create or update connection secret: existing secret is not controlled by UID"

	unread := withholding()
	unread.State, unread.Runs = tree.Ready, unread.Runs[:1]

	plain := Style{}

	for name, got := range map[string]string{
		"status":          Status(plain, now, shop()),
		"status-wide":     Status(Style{Wide: true}, now, shop()),
		"status-colors":   Status(Style{Style: play.Style{Color: true}}, now, shop()),
		"status-several":  Status(plain, now, readyXR, gaveUp),
		"why":             Why(plain, now, shop()),
		"why-ready":       Why(plain, now, readyXR),
		"why-invalid":     Why(plain, now, invalid),
		"why-held":        Why(plain, now, held),
		"why-foreign":     Why(plain, now, foreign),
		"status-held":     Status(plain, now, held),
		"overview":        Overview(plain, now, append(shop().All(), gaveUp)...),
		"overview-ready":  Overview(plain, now, readyXR.All()...),
		"why-gave-up":     Why(plain, now, gaveUp),
		"why-running":     Why(plain, now, one("cache")),
		"why-queued":      Why(plain, now, one("queue")),
		"why-blocked":     Why(plain, now, one("mail")),
		"status-guarded":  Status(plain, now, guarded()),
		"why-guarded":     Why(plain, now, guarded()),
		"why-each":        whys(plain, guarded()),
		"why-moving":      whys(plain, moving()),
		"status-withheld": Status(plain, now, withholding()),
		"why-withheld":    Why(plain, now, withholding()) + "\n" + whys(plain, withholding()) + Why(plain, now, unread),
		"status-invalid":  Status(plain, now, invalid),
		"progress":        Progress{}.Lines(plain, now, shop()),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name+".txt")

			if *update {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}

			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}

			if strings.Contains(strings.ReplaceAll(strings.ReplaceAll(got, "\x1b[", ""), "\n", ""), "\x1b") || name != "status-colors" && strings.Contains(got, "\x1b") {
				t.Errorf("Text of objects should have no controls in it: %q", got)
			}
		})
	}
}

// TestAdvice tests that there is advice for each reason of a run.
func TestAdvice(t *testing.T) {
	data, err := os.ReadFile("../../docs/lifecycle.md")
	if err != nil {
		t.Fatal(err)
	}

	_, table, _ := strings.Cut(string(data), "\n## Reasons\n")
	table, _, _ = strings.Cut(table, "\n## ")

	documented := map[string]bool{}

	for line := range strings.Lines(table) {
		cells := strings.SplitN(line, "|", 3)
		if len(cells) < 3 {
			continue
		}

		for _, m := range regexp.MustCompile("`([A-Z][A-Za-z]+)`").FindAllStringSubmatch(cells[1], -1) {
			documented[m[1]] = true

			if advice()[m[1]] == "" {
				t.Errorf("There should be an advice for %s.", m[1])
			}
		}
	}

	for reason := range advice() {
		if !documented[reason] {
			t.Errorf("There should be no advice for %s, which docs/lifecycle.md does not have.", reason)
		}
	}
}

func TestClean(t *testing.T) {
	cases := map[string]struct {
		reason, text, want string
	}{
		"Lines":     {reason: "Lines become one.", text: " a\n\tb\r\n", want: "a b"},
		"Escape":    {reason: "Escapes of terminals are shown, as logs shows them.", text: "a\x1b[2Jb\x07\u009b31m", want: `a\u001b[2Jb\u0007\u009b31m`},
		"Direction": {reason: "The direction of text does not change.", text: "a\u202eb\u2066", want: `a\u202eb\u2066`},
		"Broken":    {reason: "Invalid UTF-8 is replaced.", text: "a\xff", want: "a\ufffd"},
		"Letters":   {reason: "Letters of all languages stay.", text: "é Ж ✓", want: "é Ж ✓"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := clean(tc.text); got != tc.want {
				t.Errorf("\n%s\nclean(...): want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

// TestPrediction has a long difference, which is cut, with the flag that shows the rest.
func TestPrediction(t *testing.T) {
	n := composed("awaiting", tree.AwaitingApproval, common.Run{})
	n.Approval = common.ApprovalObservation{Digest: "3f9a", State: common.ApprovalAwaiting}
	n.Drift = common.Drift{Changed: 1, Tasks: []common.DriftTask{{Task: "Write", Host: "web", Diff: strings.Repeat("+line\n", maxDiff) + "+last\n+one\n"}}}

	cases := map[string]struct {
		reason    string
		full      bool
		want, not string
	}{
		"Cut":  {reason: "The first lines are shown.", want: "(2 more lines, which --full shows)", not: "+last"},
		"Full": {reason: "With --full, all lines are shown.", full: true, want: "+last\n      +one", not: "more lines"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Prediction(Style{Wide: tc.full}, now, n); !strings.Contains(got, tc.want) || strings.Contains(got, tc.not) {
				t.Errorf("\n%s\nPrediction(...): want %q, and not %q, got:\n%s", tc.reason, tc.want, tc.not, got)
			}
		})
	}
}
