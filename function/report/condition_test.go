package report

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
	"github.com/crossplane-ansible/crossplane-ansible/function/removal"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestTally checks the line with the numbers of runs, which is no event by itself.
func TestTally(t *testing.T) {
	runs := func(n int, reasons ...desired.Reason) []desired.Outcome {
		all := []desired.Outcome{{Name: "off", Resource: "off", Reason: desired.Skipped, Messages: []string{"not wanted"}}}
		for range n {
			all = append(all, desired.Outcome{Name: "done", Resource: "done", Reason: desired.Ready})
		}

		for _, r := range reasons {
			all = append(all, desired.Outcome{Name: "other", Resource: "other", Reason: r, Messages: []string{"says why"}})
		}

		return all
	}

	cases := map[string]struct {
		reason string
		runs   []desired.Outcome
		want   string
	}{
		"Few":      {reason: "Few runs have no tally.", runs: runs(9, desired.RunFailed), want: ""},
		"Many":     {reason: "Many runs have a tally, without unwanted runs.", runs: runs(49, desired.RunFailed), want: "49 of 50 runs are ready; 1 failed"},
		"Mixed":    {reason: "The most severe states come first in a tally.", runs: runs(8, desired.Running, desired.RunFailed, desired.DependencyNotReady, desired.Running, desired.ValuePending, desired.InvalidValue), want: "8 of 14 runs are ready; 1 without a usable value, 1 failed, 2 waiting, 2 in progress"},
		"AllReady": {reason: "If all runs are ready, there is no tally.", runs: runs(50), want: ""},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, message, _ := summarize(step{Runs: tc.runs}, nil)

			first, _, _ := strings.Cut(message, "\n")
			if !strings.Contains(first, " runs are ready; ") {
				first = ""
			}

			if first != tc.want {
				t.Errorf("\n%s\nsummarize(...): want %q, got %q", tc.reason, tc.want, first)
			}
		})
	}

	xr := map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
		"type": ansiblerun.TypeAnsibleRunsReady, "status": "False", "reason": "RunFailed", "message": "40 of 50 runs are ready; 1 failed, 9 in progress\nother: says why\noff: not wanted",
	}}}}

	rsp := &fnv1.RunFunctionResponse{}
	needs.OK(t, Report(rsp, "", xr, Result{Result: removal.Result{Outcomes: runs(49, desired.RunFailed)}}))

	if len(rsp.GetResults()) > 0 {
		t.Errorf("want no event for another number, got %v", rsp.GetResults())
	}
}
