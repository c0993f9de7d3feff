package runner

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// BenchmarkRun compares a run with what ansible-runner and ansible-playbook
// take for the same playbook.
func BenchmarkRun(b *testing.B) {
	const playbook = `
- hosts: localhost
  gather_facts: false
  tasks:
  - ansible.builtin.command: "true"
  - ansible.builtin.debug: {msg: "{{ item }}"}
    loop: "{{ range(20) | list }}"
`

	needs.Ansible(b)

	r, err := New(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}

	dir := b.TempDir()
	project := filepath.Join(dir, "project")

	if err := os.Mkdir(project, 0o700); err != nil {
		b.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(project, playbookFile), []byte(playbook), 0o600); err != nil {
		b.Fatal(err)
	}

	b.Run("AnsiblePlaybook", func(b *testing.B) {
		for b.Loop() {
			if out, err := exec.Command("ansible-playbook", filepath.Join(project, playbookFile)).CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	})

	b.Run("AnsibleRunner", func(b *testing.B) {
		for b.Loop() {
			if out, err := exec.Command("ansible-runner", "run", dir, "--json", "-p", playbookFile).CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	})

	b.Run("Run", func(b *testing.B) {
		n := 0

		for b.Loop() {
			run := inline(playbook)
			run.ID = fmt.Sprint(n)
			n++

			if res, err := r.Run(b.Context(), run, events.Watch{}); err != nil || res.Phase != common.PhaseSucceeded {
				b.Fatalf("%v: %v", err, res)
			}
		}
	})
}
