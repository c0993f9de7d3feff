package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/warm"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// shared returns a runner that keeps a warm process for all tests.
var shared = sync.OnceValues(func() (*Runner, error) {
	dir, err := os.MkdirTemp("", "warm")
	if err != nil {
		return nil, err
	}

	return New(filepath.Join(dir, "runs"), Options{Warm: Warm{Dir: filepath.Join(dir, "warm"), Log: func(err error) { panic(err) }}})
})

// warmUp lets a runner with the Ansible of the machine start its runs warm.
func warmUp(t *testing.T, r *Runner) {
	t.Helper()

	w, err := shared()
	needs.OK(t, err)

	if r.keeper != nil || !slices.Equal(r.python, w.python) || !slices.Equal(r.play, w.play) {
		return
	}

	needs.OK(t, waitWarm(w))

	r.keeper = w.keeper
}

// TestWarmProcess has a warm process that fails in several ways.
func TestWarmProcess(t *testing.T) {
	t.Parallel()

	// The documentation says 60 MiB. Versions of Python differ.
	const most = 72 << 20

	var (
		cold string
		odd  []error
	)

	dir := t.TempDir()
	r := newCold(t, Options{Warm: Warm{
		Dir: dir, Started: func(why string) { cold = why }, Log: func(err error) { odd = append(odd, err) },
	}})
	t.Cleanup(r.Close)

	run := inline("- hosts: localhost\n  gather_facts: false\n  tasks:\n  - ansible.builtin.debug: {msg: x}\n")

	for _, tc := range []struct {
		name   string
		lose   func(pid int)
		cold   string
		logged bool
	}{
		{name: "Starting", lose: func(int) {}, cold: warm.Starting},
		{name: "Kept", lose: func(int) { needs.OK(t, waitWarm(r)) }},
		{name: "Killed", lose: func(pid int) { _ = unix.Kill(pid, unix.SIGKILL) }, cold: warm.Failed, logged: true},
		{name: "Replaced", lose: func(int) { needs.OK(t, waitWarm(r)) }},
		{name: "Stopped", lose: func(pid int) { _ = unix.Kill(pid, unix.SIGSTOP) }, cold: warm.Failed, logged: true},
		{name: "Paused", lose: func(int) {}, cold: warm.Failed},
	} {
		odd = nil

		pid := child(t, dir)
		if used := supervisor.Resident(pid); used > most {
			t.Errorf("%s: the process takes %d MiB", tc.name, used>>20)
		}

		tc.lose(pid)

		res, err := r.Run(t.Context(), run, events.Watch{})
		if err != nil || res.Phase != common.PhaseSucceeded || cold != tc.cold || len(odd) > 0 != tc.logged {
			t.Fatalf("%s: want a success, a start %q, and a log: %t. Got %v, %v, %q, %v", tc.name, tc.cold, tc.logged, res, err, cold, odd)
		}

		// A run does not remove the directory in which modules are built.
		if found, err := filepath.Glob(filepath.Join(dir, "*", tempDir, "ansible-local-*")); cold == "" && (err != nil || len(found) != 1) {
			t.Errorf("%s: want Ansible's directory of the warm process, got %v, %v", tc.name, found, err)
		}
	}
}

// TestAttackWarm has content that attacks the warm process, and other runs by it.
func TestAttackWarm(t *testing.T) {
	t.Parallel()

	cold := "no start"
	dir := t.TempDir()
	r := newCold(t, Options{Warm: Warm{Dir: dir, Started: func(why string) { cold = why }, Log: func(error) {}}})
	t.Cleanup(r.Close)

	attack := `
import importlib.util, os

def attack(directory):
    found = [name for name in ("afresh", "driver", "modules", "shipped_yaml") if importlib.util.find_spec(name)]

    for number in os.listdir("/proc/self/fd"):
        path = os.path.realpath("/proc/self/fd/" + number)
        if path.startswith(directory):
            found.append(path)

    os.chmod(directory + "/warm.py", 0)
    os.chmod(directory, 0)

    return found

class FilterModule:
    def filters(self):
        return {"attack": attack}
`

	needs.OK(t, waitWarm(r))
	waitBuilt(t, dir)

	own, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(own) != 1 {
		t.Fatalf("Want the directory of one process, got %v, %v", own, err)
	}

	run := inline("- hosts: localhost\n  gather_facts: false\n  tasks:\n  - include_role: {name: bad}\n")
	run.Content = content.Set{Dir: write(t, map[string]string{
		"roles/bad/filter_plugins/bad.py": attack,
		"roles/bad/tasks/main.yml":        "- set_fact: {found: \"{{ '" + own[0] + "' | attack }}\"}\n- assert: {that: \"found == []\", fail_msg: \"{{ found }}\"}\n",
	})}

	if res := must(t, r, run); res.Phase != common.PhaseSucceeded || cold != "" {
		t.Fatalf("Want a warm run that finds nothing of others, got %v and %q", res, cold)
	}

	_ = unix.Kill(child(t, dir), unix.SIGKILL)

	nothing := inline("- hosts: localhost\n  gather_facts: false\n  tasks: []\n")
	must(t, r, nothing)
	needs.OK(t, waitWarm(r))

	if must(t, r, nothing); cold != "" {
		t.Errorf("Want a warm run from another process, got %q", cold)
	}

	r.Close()

	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 || child(t, dir) != 0 {
		t.Errorf("Want nothing to be left of a process when its runner is closed, got %v, %v", left, err)
	}
}

// TestWarmConfined compares the confinement of warm and of cold runs.
func TestWarmConfined(t *testing.T) {
	t.Parallel()

	policy := Options{Policy: sandbox.Policy{
		Mode: sandbox.BestEffort, System: []string{"/"},
		Limits: sandbox.Limits{Memory: 3 << 30, Processes: 30_000, FileSize: 5 << 30},
	}}

	forked, executed := newRunner(t, policy), newCold(t, policy)

	run := inline(`
- hosts: localhost
  gather_facts: false
  tasks:
  - ansible.builtin.command: grep -hE "" /proc/self/status /proc/self/limits /proc/self/oom_score_adj
    register: all
  - ansible.builtin.set_stats:
      data: {all: "{{ all.stdout_lines | select('match', '^(NoNewPrivs|Seccomp|Cap|Umask|Sig(Blk|Ign|Cgt)|Max |[0-9])') }}"}
`)

	want, got := must(t, executed, run), must(t, forked, run)
	if diff := cmp.Diff(lines(want), lines(got)); diff != "" || want.Phase != common.PhaseSucceeded || got.Phase != common.PhaseSucceeded {
		t.Errorf("%v, %v\n-cold, +warm:\n%s", want, got, diff)
	}

	if !strings.Contains(lines(got), "NoNewPrivs:\\t1") {
		t.Errorf("The run should be confined:\n%s", lines(got))
	}
}

// lines returns the outputs of a run, one a line.
func lines(r Result) string { return strings.ReplaceAll(string(r.Summary.Outputs), ",", "\n") }

// TestWarmModules has modules that are compiled in advance for the Python of Ansible, and another Python.
func TestWarmModules(t *testing.T) {
	t.Parallel()

	const playbook = `
- hosts: localhost
  gather_facts: false
  vars: {ansible_python_interpreter: %s}
  tasks:
  - ansible.builtin.shell: "{{ ansible_playbook_python }} -m zipfile -l $TMPDIR/ansible_*_payload_*/*.zip"
    register: listed
  - ansible.builtin.set_stats: {data: {compiled: "{{ listed.stdout is search('basic.pyc') }}", source: "{{ listed.stdout is search('basic.py ') }}"}}
`

	forked := newRunner(t)
	waitShared(t)

	// The same Python at another path.
	other := filepath.Join(t.TempDir(), "python")
	needs.OK(t, os.Symlink(forked.python[0], other))

	for name, tc := range map[string]struct {
		reason      string
		interpreter string
		want        string
	}{
		"Own":   {reason: "The Python of Ansible does not compile modules.", interpreter: `"{{ ansible_playbook_python }}"`, want: `{"compiled":true,"source":true}`},
		"Other": {reason: "The bytecode may not fit another Python, which gets the source only.", interpreter: other, want: `{"compiled":false,"source":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			res := must(t, forked, inline(fmt.Sprintf(playbook, tc.interpreter)))
			if diff := cmp.Diff(tc.want, string(res.Summary.Outputs)); diff != "" || res.Phase != common.PhaseSucceeded {
				t.Errorf("%s\n%v\n-want, +got:\n%s", tc.reason, res, diff)
			}
		})
	}
}

// waitShared waits until modules are built for the shared warm process.
func waitShared(t *testing.T) {
	t.Helper()

	w, err := shared()
	needs.OK(t, err)

	waitBuilt(t, w.Warm.Dir)
}

// waitBuilt waits until modules are built for the warm process in a directory.
func waitBuilt(t *testing.T, dir string) {
	t.Helper()

	for deadline := time.Now().Add(5 * patience); ; time.Sleep(100 * time.Millisecond) {
		if found, _ := filepath.Glob(filepath.Join(dir, "*", "modules.json")); len(found) > 0 {
			return
		}

		if time.Now().After(deadline) {
			t.Fatal("No modules were built")
		}
	}
}

// waitWarm waits until runs of a runner start warm.
func waitWarm(r *Runner) error {
	for {
		switch s, cold := r.keeper.Starter(); {
		case s != nil:
			return nil
		case cold == warm.Failed:
			return errors.New("the process cannot be started")
		}

		time.Sleep(10 * time.Millisecond)
	}
}

// child returns the id of the warm process in a directory; 0 for none.
func child(t *testing.T, dir string) int {
	t.Helper()

	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	needs.OK(t, err)

	parent := fmt.Sprintf("\nPPid:\t%d\n", os.Getpid())

	for _, name := range names {
		// A fork has the arguments of the process at first.
		status, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "status"))
		if !strings.Contains(string(status), parent) {
			continue
		}

		// The file of a process that has ended does not exist.
		text, _ := os.ReadFile(name)
		if argv := strings.Split(string(text), "\x00"); len(argv) > 2 && argv[1] == "-u" && strings.HasPrefix(argv[2], dir+"/") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))

			return pid
		}
	}

	return 0
}
