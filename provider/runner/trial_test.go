package runner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// A trial is a run of a playbook, and its expected result.
type trial struct {
	reason   string
	playbook string
	inputs   func(*inputs.Inputs)
	content  content.Set
	option   func(*Runner)
	// want is the result: a success if it has no phase. The message is compared if it is not empty.
	want Result
	// says are texts in the message, and displays are texts in the output.
	says, displays []string
	// outputs are the outputs of the play, and cold is the reason of a cold start.
	outputs, cold string
}

// try executes the trials. Each must leave no process, and no secret in its message.
func try(t *testing.T, trials map[string]trial) {
	t.Helper()

	for name, tc := range trials {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			run := inline(tc.playbook)
			run.Timeout, run.Content, run.KeepOutput = patience, tc.content, true

			if tc.inputs != nil {
				tc.inputs(&run.Inputs)
			}

			cold := ""

			r := newRunner(t)
			r.Warm.Started = func(why string) { cold = why }

			if tc.option != nil {
				tc.option(r)
			}

			got := must(t, r, run)
			t.Log(got.Message)

			if cold != tc.cold {
				t.Errorf("%s\nRun(...): want the cold start %q, got %q", tc.reason, tc.cold, cold)
			}

			ignored := []string{"Summary", "IgnoresState", "Output"}
			if tc.want.Message == "" {
				ignored = append(ignored, "Message")
			}

			if tc.want.Phase == "" {
				tc.want.Phase = common.PhaseSucceeded
			}

			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(Result{}, ignored...)); diff != "" {
				t.Errorf("%s\nRun(...): -want, +got:\n%s\n%s", tc.reason, diff, got.Output)
			}

			if diff := cmp.Diff(tc.outputs, string(got.Summary.Outputs)); diff != "" {
				t.Errorf("%s\nRun(...): -want outputs, +got outputs:\n%s", tc.reason, diff)
			}

			for _, want := range tc.says {
				if !strings.Contains(got.Message, want) {
					t.Errorf("%s\nRun(...): want message with %q, got %q", tc.reason, want, got.Message)
				}
			}

			for _, want := range tc.displays {
				if !strings.Contains(got.Output, want) {
					t.Errorf("%s\nRun(...): want output with %q, got %q", tc.reason, want, got.Output)
				}
			}

			if found := left(t, r.dir); len(found) > 0 || strings.Contains(got.Message, "s3cret") {
				t.Errorf("%s\nRun(...): want no secret and no process, got %q and %q", tc.reason, got.Message, found)
			}
		})
	}
}

// configured returns a change of inputs that sets inventories, and an ansible.cfg if cfg is not empty.
func configured(cfg string, inventories ...string) func(*inputs.Inputs) {
	return func(in *inputs.Inputs) {
		for _, text := range inventories {
			in.Inventories = append(in.Inventories, inputs.File{Data: []byte(text)})
		}

		if cfg != "" {
			in.Credentials = []inputs.File{{Name: inputs.AnsibleConfigFile, Data: []byte(cfg)}}
		}
	}
}

// refused returns the result of a run that failed before the first task.
func refused(reason, message string) Result {
	r := failing(reason, message)
	r.Untouched = true

	return r
}
