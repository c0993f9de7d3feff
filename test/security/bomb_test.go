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
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestPlayBomb has a variable that Ansible expands to more than the memory or the time of the run.
// The provider does not expand it.
func TestPlayBomb(t *testing.T) {
	if asUser(t) {
		return
	}

	r, _ := newRunner(t, sandbox.Required, func(o *runner.Options) { o.Policy.Limits.Memory = 256 << 20 })

	bomb.Defuse(t, func() {
		s := local("  - {name: Laugh, ansible.builtin.debug: {msg: '{{ bomb }}'}}\n")
		s.Inputs.VarFiles = []inputs.File{{Name: "vars", Data: []byte(bomb.Laughs("bomb")), Secret: true}}
		s.Timeout = 15 * time.Second

		got, err := r.Run(t.Context(), s, events.Watch{})
		needs.OK(t, err)

		failed := got.Phase == common.PhaseFailed && strings.Contains(got.Message, `task "Laugh"`)
		if !failed && got.Phase != common.PhaseTimedOut {
			t.Errorf("The run should fail in that task, or take too long.\nRun(...): %s, %s: %s", got.Phase, got.Reason, got.Message)
		}
	})
}
