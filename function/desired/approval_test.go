package desired

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnapproved(t *testing.T) {
	run := func(typ, status, reason string, deleted bool) map[string]any {
		meta := map[string]any{"generation": int64(2)}
		if deleted {
			meta["deletionTimestamp"] = "2026-01-02T03:04:05Z"
		}

		return map[string]any{"metadata": meta, "status": map[string]any{"conditions": []any{
			map[string]any{"type": typ, "status": status, "reason": reason, "message": "awaits\napproval", "observedGeneration": int64(2)},
			map[string]any{"type": "Approved", "status": status, "reason": reason, "message": "awaits\napproval", "observedGeneration": int64(2)},
		}}}
	}

	cases := map[string]struct {
		reason   string
		observed map[string]any
		want     Reason
	}{
		"Awaiting": {reason: "A deletion that awaits approval should say so.", observed: run("Deletable", "False", "AwaitingApproval", true), want: AwaitingApproval},
		"Rejected": {reason: "A deletion that was rejected should say so.", observed: run("Deletable", "False", "Rejected", true), want: Rejected},
		"Window":   {reason: "A deletion that waits for its window should say so.", observed: run("Deletable", "False", "WaitingForWindow", true), want: WaitingForWindow},
		"Deleting": {reason: "Another obstacle is no want of an approval.", observed: run("Deletable", "False", "RunFailed", true), want: Deleting},
		"Approved": {reason: "A condition that is True should not count.", observed: run("Deletable", "True", "AwaitingApproval", true), want: Deleting},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, messages := reasonOf(tc.observed, nil, nil, nil)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}

			if want := "awaits approval"; got != Deleting && messages[0] != want {
				t.Errorf("\n%s\nmessage: want %q, got %q", tc.reason, want, messages)
			}
		})
	}

	if got := unapproved(run("Ready", "False", "AwaitingApproval", false), "Ready"); got != AwaitingApproval {
		t.Errorf("a run that is not ready for want of an approval: got %q", got)
	}
}
