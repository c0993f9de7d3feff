package security

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestPlayLoads has content that is executed while a playbook is loaded, which it
// makes fail. It replaces what the runner has written, in case that is written
// again.
func TestPlayLoads(t *testing.T) {
	if asUser(t) {
		return
	}

	link := "cd $HOME/.. && for f in project/playbook.yml env/settings; do rm $f && ln -s VICTIM $f; done"
	pipe := "cd $HOME/.. && for f in project/playbook.yml env/settings; do rm $f && mkfifo $f; done"

	for name, attack := range map[string]string{"Link": link, "Pipe": pipe} {
		t.Run(name, func(t *testing.T) {
			r, state := newRunner(t, sandbox.Required)

			t.Parallel()

			victim := filepath.Join(state, "of-another-run")
			needs.OK(t, os.WriteFile(victim, []byte("precious"), 0o600))

			attack = strings.ReplaceAll(attack, "VICTIM", victim)
			playbook := "- import_playbook: \"{{ lookup('pipe', '" + attack + "; echo attacked') }}\"\n"
			script := "#!/bin/sh\n" + attack + " && exit 7\n"

			for _, in := range []inputs.Inputs{
				{Parameters: common.AnsibleRunParameters{PlaybookInline: playbook}},
				{
					Parameters:  common.AnsibleRunParameters{PlaybookInline: "- hosts: all\n  tasks: []\n", ExecutableInventory: true},
					Inventories: []inputs.File{{Name: "inventory", Data: []byte(script)}},
				},
			} {
				res, err := r.Run(t.Context(), of(in), events.Watch{})
				needs.OK(t, err)

				if res.Phase != common.PhaseFailed || !strings.Contains(res.Message, "attacked") && !strings.Contains(res.Message, "exit code 7") {
					t.Errorf("The attack should have come to its end, got %s, %s: %s", res.Phase, res.Reason, res.Message)
				}
			}

			got, err := os.ReadFile(victim)
			needs.OK(t, err)

			if string(got) != "precious" {
				t.Errorf("What is outside became %q", got)
			}
		})
	}
}
