package terminal

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestTerminal checks the output of a run for people and for programs.
func TestTerminal(t *testing.T) {
	failed := runs.Report{
		Run: common.Run{
			ID: "1", Mode: common.ModeCheck, Phase: common.PhaseFailed, Reason: "TaskFailed", Message: "no \x1b]0;title\x07",
			Failures: []common.Failure{{Task: "t", Host: "h", Message: "no"}},
		},
		Content:  &common.Content{},
		Changed:  []common.DriftTask{{Task: "t", Host: "h", Diff: "+a"}},
		Outputs:  &apiextensionsv1.JSON{Raw: []byte(`{"a":"b"}`)},
		Withheld: common.Withheld{"url": "the value of password is in it"},
	}

	show := func(asJSON bool) (out, errs string, err error) {
		var o, e bytes.Buffer

		term := New(&o, &e, asJSON, false)
		term.Progress(runs.Report{Run: common.Run{Phase: common.PhaseInstalling}})
		term.Display("TASK [t] ***\nok: [h]")
		err = term.End(failed)

		return o.String(), e.String(), err
	}

	shown := "Installing the content\nTASK [t] ***\nok: [h]\noutputs:\n  a: b\n" +
		"withheld: " + common.OutputsWithheld(failed.Withheld, nil).Message + "\n"

	out, errs, err := show(false)
	if diff := cmp.Diff([]string{shown, "", `TaskFailed: no \u001b]0;title\u0007`}, []string{out, errs, err.Error()}); diff != "" {
		t.Errorf("text: -want, +got:\n%s", diff)
	}

	out, errs, _ = show(true)
	if errs != shown {
		t.Errorf("With JSON, the text should go to standard error, got %q", errs)
	}

	var got result
	needs.OK(t, json.Unmarshal([]byte(out), &got))

	if diff := cmp.Diff(`{"a":"b"}`, compact(t, got.Outputs.Raw)); diff != "" {
		t.Errorf("Outputs: -want, +got:\n%s", diff)
	}

	got.Outputs = nil

	want := result{LastRun: failed.Run, Changed: failed.Changed, Withheld: failed.Withheld}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("JSON: -want, +got:\n%s", diff)
	}
}

// TestTerminalSucceeded has a successful run with a message.
func TestTerminalSucceeded(t *testing.T) {
	var out, errs bytes.Buffer

	r := runs.Report{Run: common.Run{Phase: common.PhaseSucceeded, Reason: runs.ReasonStateIgnored, Message: "nothing was run"}}
	needs.OK(t, New(&out, &errs, false, false).End(r))

	if diff := cmp.Diff("nothing was run\n", out.String()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func compact(t *testing.T, raw []byte) string {
	t.Helper()

	var b bytes.Buffer
	needs.OK(t, json.Compact(&b, raw))

	return b.String()
}
