package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

// TestShown tests which run is shown after a check that was the last run for a time.
func TestShown(t *testing.T) {
	at := func(seconds int64) *metav1.Time { return &metav1.Time{Time: time.Unix(seconds, 0)} }
	old := common.Run{ID: "old", Phase: common.PhaseSucceeded, StartTime: at(1)}
	check := common.Run{ID: "check", Phase: common.PhaseSucceeded, StartTime: at(2)}
	next := common.Run{ID: "next", Phase: common.PhaseSucceeded, StartTime: at(3)}
	preview := common.Preview{RunID: "check", Phase: common.PhaseSucceeded, CompletionTime: at(2)}

	cases := map[string]struct {
		reason  string
		shown   string
		last    common.Run
		preview common.Preview
		want    common.Run
	}{
		"First":    {reason: "The last run is shown at first.", last: old, preview: preview, want: old},
		"During":   {reason: "A check in progress is the last run.", shown: "check", last: check, preview: common.Preview{RunID: "check"}, want: check},
		"After":    {reason: "After the end of a check, the check is shown, and not the run before it.", shown: "check", last: old, preview: preview, want: check},
		"Only":     {reason: "There may be no run before a check.", shown: "check", preview: preview, want: check},
		"Next":     {reason: "A later run is shown.", shown: "check", last: next, preview: preview, want: next},
		"Begun":    {reason: "A later run that has not begun is shown.", shown: "check", last: common.Run{ID: "queued", Phase: common.PhaseQueued}, preview: preview, want: common.Run{ID: "queued", Phase: common.PhaseQueued}},
		"Previous": {reason: "An older check is not shown.", shown: "old", last: old, preview: preview, want: old},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := &log{id: tc.shown, node: &tree.Node{LastRun: tc.last, Preview: tc.preview}}
			if diff := cmp.Diff(tc.want.ID, g.run().ID); diff != "" {
				t.Errorf("\n%s\nrun(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestAdded(t *testing.T) {
	cases := map[string]struct{ reason, before, now, want string }{
		"First":  {"The first output is new.", "", "a\nb\n", "a\nb\n"},
		"Same":   {"Nothing is new.", "a\nb\n", "a\nb\n", ""},
		"More":   {"Additional lines are new.", "a\nb\n", "a\nb\nc\n", "c\n"},
		"Cut":    {"The start of the output may be cut.", "a\nb\nc\n", "…\nc\nd\n", "d\n"},
		"Missed": {"Lines between two outputs may be missing.", "a\n", "…\nc\nd\n", "…\nc\nd\n"},
		"Gone":   {"Removed output is not shown again.", "a\n", "", ""},
		"Again":  {"The same lines may be displayed again.", "a\na\n", "a\na\na\n", "a\n"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := added(tc.before, tc.now); got != tc.want {
				t.Errorf("\n%s\nadded(%q, %q): want %q, got %q", tc.reason, tc.before, tc.now, tc.want, got)
			}
		})
	}
}
