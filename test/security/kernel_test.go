package security

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestOldKernel plays where the kernel has no Landlock.
func TestOldKernel(t *testing.T) {
	needs.Ansible(t)

	cmd := exec.CommandContext(t.Context(), os.Args[0], "forget", os.Args[0], "-test.run=^TestBestEffort$", "-test.v")

	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestBestEffort") {
		t.Errorf("Without Landlock: %v\n%s", err, out)
	}
}

// TestBestEffort is run by TestOldKernel.
func TestBestEffort(t *testing.T) {
	if sandbox.Kernel() > 0 {
		t.Skip("the kernel has Landlock")
	}

	if _, err := sandbox.Required.Check(sandbox.Kernel(), sandbox.Filters()); err == nil {
		t.Error("Who requires confinement gets an error.")
	}

	warning, err := sandbox.BestEffort.Check(sandbox.Kernel(), sandbox.Filters())
	must(t, err)

	if !strings.Contains(warning, "no Landlock") {
		t.Errorf("The warning says what is missing, not %q", warning)
	}

	r, _ := newRunner(t, sandbox.BestEffort)

	got := play(t, r, `
  - {ansible.builtin.command: cat /proc/1/comm, register: outside}
  - {ansible.builtin.command: "unshare --user true", register: namespace, ignore_errors: true}
  - ansible.builtin.set_stats: {data: {outside: "{{ outside is succeeded }}", namespace: "{{ namespace is succeeded }}"}}
`)

	want := map[string]any{"outside": true, "namespace": false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("System calls are filtered; files and processes are open to all.\n-want, +got:\n%s", diff)
	}
}

// forget that the kernel has Landlock, and become another program.
func forget(argv []string) error {
	runtime.LockOSThread()

	filter := seccomp.Filter{NoNewPrivs: true, Policy: seccomp.Policy{
		DefaultAction: seccomp.ActionAllow,
		Syscalls: []seccomp.SyscallGroup{{
			Names:  []string{"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"},
			Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS),
		}},
	}}
	if err := seccomp.LoadFilter(filter); err != nil {
		return err
	}

	return unix.Exec(argv[0], argv, os.Environ())
}
