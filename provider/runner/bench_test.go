package runner

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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

	cold, err := New(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}

	kept := b.TempDir()

	warm, err := New(filepath.Join(kept, "runs"), WithWarm(Warm{Dir: filepath.Join(kept, "warm"), Memory: 1 << 30, Odd: func(err error) { b.Error(err) }}))
	if err != nil {
		b.Fatal(err)
	}

	b.Cleanup(warm.Close)

	if err := warm.WarmUp(b.Context()); err != nil {
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

	for name, r := range map[string]*Runner{"Cold": cold, "Warm": warm} {
		b.Run(name, func(b *testing.B) {
			n := 0
			before := usage(b)

			for b.Loop() {
				run := inline(playbook)
				run.ID = fmt.Sprint(n)
				n++

				if res, err := r.Run(b.Context(), run, events.Watch{}); err != nil || res.Phase != common.PhaseSucceeded {
					b.Fatalf("%v: %v", err, res)
				}
			}

			b.ReportMetric(float64((usage(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}

// usage of processors by this process, and by what it has started and that has ended.
func usage(b *testing.B) (total time.Duration) {
	b.Helper()

	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if err := unix.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}

		total += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}

	return total
}
