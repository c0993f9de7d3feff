package security

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/machine"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/warm"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// cold has runs executed.
func cold(o *runner.Options) { o.Warm = runner.Warm{} }

// newRunner with runs that start, and are confined, as those of the provider are. It also returns its state
// directory. The options may be changed.
func newRunner(tb testing.TB, mode sandbox.Mode, change ...func(*runner.Options)) (*runner.Runner, string) {
	tb.Helper()

	if mode == sandbox.Required {
		needLandlock(tb)
	}

	state, err := filepath.EvalSymlinks(tb.TempDir())
	needs.OK(tb, err)

	lock, err := workdir.Lock(tb.Context(), filepath.Join(state, "lock"), nil)
	needs.OK(tb, err)
	tb.Cleanup(func() { _ = lock.Close() })

	o := runner.Options{
		Lock:  lock,
		Grace: machine.KillGrace,
		Policy: sandbox.Policy{
			Mode: mode, State: state, System: system(tb, state),
			Limits: sandbox.Limits{Memory: 4 << 30, Processes: 4096, FileSize: 1 << 30},
		},
	}
	start := warm.Starting
	o.Warm = runner.Warm{
		Dir: filepath.Join(state, "warm"), Started: func(cold string) { start = cold },
		Log: func(err error) { tb.Errorf("A run starts cold: %v", err) },
	}

	for _, fn := range change {
		fn(&o)
	}

	r, err := runner.New(filepath.Join(state, "runs"), o)
	needs.OK(tb, err)
	tb.Cleanup(r.Close)

	for o.Warm.Dir != "" && start == warm.Starting && !tb.Failed() {
		play(tb, r, "  - ansible.builtin.set_stats: {data: {done: true}}\n")
	}

	return r, state
}

// system is what all may read on this machine so that Ansible works, but for some
// paths.
func system(tb testing.TB, never ...string) []string {
	tb.Helper()

	programs, err := sandbox.Programs(tb.Context(), filepath.Join(needs.Ansible(tb), "ansible-playbook"), environ.List(environ.Passed(os.Environ())))
	needs.OK(tb, err)

	machine, err := sandbox.ThisMachine()
	needs.OK(tb, err)

	return machine.Survey(programs, never)
}

// local is a run of tasks on this machine.
func local(tasks string) runner.Spec {
	return of(inputs.Inputs{Parameters: common.AnsibleRunParameters{
		PlaybookInline: "- hosts: localhost\n  gather_facts: false\n  tasks:\n" + tasks,
	}})
}

// of inputs, a run that ends in time.
func of(in inputs.Inputs) runner.Spec {
	return runner.Spec{
		ID: "own", Mode: common.ModeApply, State: common.StatePresent, Trigger: common.TriggerCreated, Attempt: 1, Timeout: maxWait,
		Inputs: in,
	}
}

// play tasks on this machine, and return their outputs.
func play(tb testing.TB, r *runner.Runner, tasks string) map[string]any {
	tb.Helper()

	s := local(tasks)
	s.Inputs.Credentials = []inputs.File{{Name: "password", Data: []byte("hunter2"), Secret: true}}

	res, err := r.Run(tb.Context(), s, events.Watch{})
	needs.OK(tb, err)

	if res.Phase != common.PhaseSucceeded {
		tb.Fatalf("Run(...): %s: %s", res.Reason, res.Message)
	}

	var out map[string]any
	needs.OK(tb, json.Unmarshal(res.Summary.Outputs, &out))

	return out
}

// TestPlayAttacks has a play reach for the files of another run. A forked run enters its domain by itself; TestAttacks is
// about those that are executed.
func TestPlayAttacks(t *testing.T) {
	if asUser(t) {
		return
	}

	r, state := newRunner(t, sandbox.Required)

	secret := filepath.Join(state, "runs", "other", "project", "password")
	needs.OK(t, os.MkdirAll(filepath.Dir(secret), 0o700))
	needs.OK(t, os.WriteFile(secret, []byte("others"), 0o600))

	// The play itself, its modules, and what they run, are different processes.
	got := play(t, r, fmt.Sprintf(`
  - {ansible.builtin.slurp: {src: %[1]q}, register: module, ignore_errors: true}
  - {ansible.builtin.command: {cmd: cat %[1]q}, register: command, ignore_errors: true}
  - {ansible.builtin.set_fact: {looked: "{{ lookup('file', '%[1]s') }}"}, ignore_errors: true}
  - {ansible.builtin.copy: {src: %[1]q, dest: taken}, register: copy, ignore_errors: true}
  - {ansible.builtin.copy: {dest: %[1]q, content: mine}, register: write, ignore_errors: true}
  - {ansible.builtin.find: {paths: [%[2]q]}, register: find}
  - {ansible.builtin.set_fact: {template: "{{ lookup('template', '%[1]s') }}"}, ignore_errors: true}
  - ansible.builtin.set_stats:
      data: {module: "{{ module is failed }}", command: "{{ command is failed }}", lookup: "{{ looked is undefined }}",
        copy: "{{ copy is failed }}", write: "{{ write is failed }}", found: "{{ find.matched }}", template: "{{ template is undefined }}"}
`, secret, filepath.Join(state, "runs")))

	want := map[string]any{"module": true, "command": true, "lookup": true, "copy": true, "write": true, "found": 0.0, "template": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Every way to another run's files fails.\n-want, +got:\n%s", diff)
	}

	if raw, err := os.ReadFile(secret); err != nil || string(raw) != "others" {
		t.Errorf("The file should be as it was, and is %q, %v", raw, err)
	}
}

// TestNames compares the paths of two runs that are alike in everything that an attacker can know.
func TestNames(t *testing.T) {
	if asUser(t) {
		return
	}

	r, _ := newRunner(t, sandbox.Required)

	const where = "\n  - {ansible.builtin.command: pwd, register: pwd}\n  - ansible.builtin.set_stats: {data: {pwd: '{{ pwd.stdout }}'}}\n"

	one, two := fmt.Sprint(play(t, r, where)["pwd"]), fmt.Sprint(play(t, r, where)["pwd"])
	if one == two || strings.Contains(one, "/own/") {
		t.Errorf("The paths of runs should be random, got %s, %s", one, two)
	}
}

// TestSockets looks at the sockets by which ssh keeps connections open between tasks. Most kernels let another run
// connect if it knows the name, so two runs on one host have names that cannot be guessed.
func TestSockets(t *testing.T) {
	t.Parallel()

	r, _ := newRunner(t, sandbox.Required)

	tasks := overSSH(t) + `
  - {ansible.builtin.command: find ../cp -type s -printf %f, register: find}
  - ansible.builtin.set_stats: {data: {found: "{{ find.stdout }}"}}
`
	names := map[string]bool{}

	for range 2 {
		got := play(t, r, tasks)

		name, hash, _ := strings.Cut(fmt.Sprint(got["found"]), "-")
		if len(name) < 26 || len(hash) != 40 || names[name] {
			t.Errorf("Each run should keep a connection at a socket of a random name, got %q", got["found"])
		}

		names[name] = true
	}
}

// TestPlayWorks does what content usually does on its own machine.
func TestPlayWorks(t *testing.T) {
	if asUser(t) {
		return
	}

	r, _ := newRunner(t, sandbox.Required)

	got := play(t, r, `
  - {ansible.builtin.setup: {gather_subset: [min, hardware, network]}}
  - {ansible.builtin.tempfile: {state: directory}, register: temp}
  - {ansible.builtin.copy: {dest: "{{ temp.path }}/a", content: hello}}
  - {ansible.builtin.command: {cmd: mv a ../b, chdir: "{{ temp.path }}"}}
  - {ansible.builtin.shell: {cmd: "cat <(echo substituted); wc -c <~/../project/password", executable: /bin/bash}, register: bash}
  - {ansible.builtin.command: {cmd: sleep 1000}, async: 100, poll: 0}
  - {ansible.builtin.command: {cmd: git init --quiet repo}}
  - {ansible.builtin.command: {cmd: "{{ ansible_playbook_python }} -m venv --without-pip venv"}}
  - ansible.builtin.command: venv/bin/python -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1]))'
    register: python
  - ansible.builtin.shell: "nice -n 5 ionice -c 3 prlimit --nofile=100 python3 -c 'import os, threading as t; t.Thread(target=print, args=[os.nice(0), len(os.sched_getaffinity(0)) > 0]).start()'"
    register: own
  - {ansible.builtin.getent: {database: passwd, key: root}}
  - ansible.builtin.set_stats:
      data: {memory: "{{ ansible_facts.memtotal_mb > 0 }}", python: "{{ python.stdout }}", own: "{{ own.stdout }}", bash: "{{ bash.stdout_lines }}"}
`)

	// The kernel's priority is 20 less the nice value.
	priority, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	needs.OK(t, err)

	own := fmt.Sprintf("%d True", min(20-priority+5, 19))
	want := map[string]any{"memory": true, "python": "[1]", "own": own, "bash": []any{"substituted", "7"}}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestModes looks at the modes of all files of a run and of the state directory, with a umask of 0.
func TestModes(t *testing.T) {
	if asUser(t) {
		return
	}

	was := syscall.Umask(0)
	defer syscall.Umask(was)

	r, state := newRunner(t, sandbox.Required)

	got := play(t, r, `
  - {ansible.builtin.copy: {dest: file, content: hello}}
  - {ansible.builtin.file: {path: dir, state: directory}}
  - {ansible.builtin.shell: "find .. -perm /077 -not -type l; find .. -type f | wc -l", register: open}
  - ansible.builtin.set_stats: {data: {open: "{{ open.stdout_lines[:-1] }}", some: "{{ open.stdout_lines[-1] | int > 5 }}"}}
`)

	if diff := cmp.Diff(map[string]any{"open": []any{}, "some": true}, got); diff != "" {
		t.Errorf("No other user may read files of a run.\n-want, +got:\n%s", diff)
	}

	needs.OK(t, filepath.WalkDir(filepath.Join(state, "runs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s", strings.TrimPrefix(path, state), info.Mode())
		}

		return err
	}))
}
