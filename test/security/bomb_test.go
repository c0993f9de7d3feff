package security

import (
	"strings"
	"testing"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/test/bomb"
)

// TestPlayBomb has a variable that Ansible expands to more than the memory or the time of the run.
// The provider does not expand it.
func TestPlayBomb(t *testing.T) {
	if asUser(t) {
		return
	}

	r, _ := newRunner(t, sandbox.Required, func(o *runner.Options) { o.Policy.Limits.Memory = 256 << 20 })

	bomb.Defuse(t, func() {
		got, err := r.Run(t.Context(), runner.Spec{
			ID: "own", Mode: common.ModeApply, State: common.StatePresent, Trigger: common.TriggerCreated, Attempt: 1, Timeout: 15 * time.Second,
			Inputs: inputs.Inputs{
				Parameters: common.AnsibleRunParameters{PlaybookInline: "- hosts: localhost\n  gather_facts: false\n  tasks:\n" +
					"  - {name: Laugh, ansible.builtin.debug: {msg: '{{ bomb }}'}}\n"},
				VarFiles: []inputs.File{{Name: "vars", Data: []byte(bomb.Laughs("bomb")), Secret: true}},
			},
		}, events.Watch{})
		must(t, err)

		failed := got.Phase == common.PhaseFailed && strings.Contains(got.Message, `task "Laugh"`)
		if !failed && got.Phase != common.PhaseTimedOut {
			t.Errorf("The run should fail in that task, or take too long.\nRun(...): %s, %s: %s", got.Phase, got.Reason, got.Message)
		}
	})
}
