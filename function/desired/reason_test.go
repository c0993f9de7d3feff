package desired

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeld(t *testing.T) {
	run := func(typ, status, reason string, deleted bool) map[string]any {
		meta := map[string]any{"generation": int64(2)}
		if deleted {
			meta["deletionTimestamp"] = "2026-01-02T03:04:05Z"
		}

		return map[string]any{"metadata": meta, "status": map[string]any{"conditions": []any{
			map[string]any{"type": typ, "status": status, "reason": reason, "message": "what it\nwaits for", "observedGeneration": int64(2)},
		}}}
	}

	cases := map[string]struct {
		reason   string
		observed map[string]any
		want     Reason
		message  string
	}{
		"Awaiting": {"A deletion that awaits approval says so.", run("Deletable", "False", "AwaitingApproval", true), AwaitingApproval, "what it waits for"},
		"Rejected": {"So does one that was rejected.", run("Deletable", "False", "Rejected", true), Rejected, "what it waits for"},
		"Window":   {"So does one that waits for its window.", run("Deletable", "False", "WaitingForWindow", true), WaitingForWindow, "what it waits for"},
		"Deleting": {"Another obstacle is no want of an approval.", run("Deletable", "False", "RunFailed", true), Deleting, "is being deleted: what it waits for"},
		"Approved": {"A condition that is True does not count.", run("Deletable", "True", "AwaitingApproval", true), Deleting, "is being deleted"},
		"NotReady": {"A run that is not ready for want of an approval says so, too.", run("Ready", "False", "AwaitingApproval", false), AwaitingApproval, "what it waits for"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, messages := reasonOf(tc.observed, nil, nil, nil)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff([]string{tc.message}, messages); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
