package runner

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/warm"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// patience is the time that tests wait for an event that must occur.
const patience = time.Minute

// TestMain lets the test binary be a provider that a test kills.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "provide" {
		provide(os.Args[2], os.Args[3])
	}

	flag.Parse()

	// Many tests wait for processes and hosts.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}

	code := m.Run()

	if w, err := shared(); err == nil {
		w.Close()
		_ = os.RemoveAll(filepath.Dir(w.dir))
	}

	os.Exit(code)
}

// provide runs an endless playbook, with a warm start.
func provide(dir, playbook string) {
	lock, err := workdir.Lock(context.Background(), filepath.Join(dir, "lock"), nil)
	if err != nil {
		panic(err)
	}

	r, err := New(filepath.Join(dir, "runs"), Options{
		Lock: lock, Warm: Warm{Dir: filepath.Join(dir, "warm"), Log: func(err error) { panic(err) }},
	})
	if err != nil {
		panic(err)
	}

	if err := waitWarm(r); err != nil {
		panic(err)
	}

	res, err := r.Run(context.Background(), inline(playbook), events.Watch{})
	fmt.Println(res, err)
}

// newRunner returns a runner in an empty directory. Its runs start warm, as by default.
func newRunner(t *testing.T, o ...Options) *Runner {
	t.Helper()

	r := newCold(t, o...)
	warmUp(t, r)

	if r.keeper != nil && r.Warm.Started == nil {
		r.Warm.Started = func(cold string) {
			if cold != "" {
				t.Errorf("The run should start warm. It started cold: %s", cold)
			}
		}
	}

	return r
}

// newCold returns a runner in an empty directory. Its runs start cold, as in Pods and in the command run.
func newCold(t *testing.T, o ...Options) *Runner {
	t.Helper()
	needs.Ansible(t)

	r, err := New(t.TempDir(), append(o, Options{Grace: 5 * time.Second})[0])
	if err != nil {
		t.Fatalf("New(...): %v", err)
	}

	r.Lock, err = workdir.Lock(t.Context(), filepath.Join(t.TempDir(), "lock"), nil)
	needs.OK(t, err)
	t.Cleanup(func() { _ = r.Lock.Close() })

	return r
}

// inline returns a run of a playbook.
func inline(playbook string) Spec {
	return Spec{
		ID:      "run-1",
		Mode:    common.ModeApply,
		State:   common.StatePresent,
		Trigger: common.TriggerCreated,
		Attempt: 1,
		Object:  Object{Name: "example", Namespace: "default", Labels: map[string]string{"l": "{{ lookup('pipe', 'id') }}"}},
		Inputs:  inputs.Inputs{Parameters: common.AnsibleRunParameters{PlaybookInline: playbook}},
	}
}

// must executes a run, which must leave no files.
func must(t *testing.T, r *Runner, run Spec) Result {
	t.Helper()

	res, err := r.Run(t.Context(), run, events.Watch{})
	if err != nil {
		t.Fatalf("Run(...): %v", err)
	}

	left, err := os.ReadDir(r.dir)
	needs.OK(t, err)

	if len(left) > 0 {
		t.Errorf("Run(...): %v is left", left)
	}

	return res
}

// ignoreSummary leaves out the fields of a Result that do not tell how a run ended.
func ignoreSummary() cmp.Option { return cmpopts.IgnoreFields(Result{}, "Summary", "IgnoresState") }

func readJSON(t *testing.T, path string) any {
	t.Helper()

	text, err := os.ReadFile(path)
	needs.OK(t, err)

	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()

	var v any
	needs.OK(t, d.Decode(&v))

	return v
}

func TestRunVariables(t *testing.T) {
	t.Parallel()

	// Every character of a JSON string is passed unchanged: all of the first
	// planes except surrogates, and the characters that PyYAML takes for line ends or rejects.
	var all strings.Builder
	for c := range rune(0x3000) {
		all.WriteRune(c)
	}

	all.WriteString("\ufeff\ufffd\ufffe\uffff\U0001F600\U0010FFFF")

	values := map[string]any{
		"all":      all.String(),
		"template": "{{ lookup('pipe', 'id') }} {% raw %} {# c #}",
		"int":      json.Number("123456789012345678901234567890"),
		"float":    json.Number("100000.0"),
		"small":    json.Number("1.5e-07"),
		"words": []any{
			"yes", "No", "on", "null", "~", "1", "0o17", "017", "0x1f", "1e3", "1_000", "1:30", ".inf", "2020-01-01", "2020-01-01T00:00:00Z",
			"!unsafe x", "!vault |", "!!binary aGk=", "- a", "a: b", "&a", "*a", "%a", "@a", "`a`", "? a", "| ", "> ", "# no comment", "---",
			"...", "<<", "=", " ", "\n\n", "\r\n", "\\n", `"`, "'", "$(id)", ",", "[", "]", "", "$ANSIBLE_VAULT;1.1;AES256\n3132", "omit",
			"__omit_place_holder__", "__ansible_unsafe", "__ansible_vault", "#jinja2: variable_start_string: '$'\n$",
		},
		"nested": map[string]any{"true": true, "null": nil, strings.Repeat("k", 3000): "long key", "{{ key }}": "v"},
	}

	text, err := json.Marshal(map[string]any{"unsafe": values})
	needs.OK(t, err)

	dest := t.TempDir()
	run := inline(`
- hosts: localhost
  gather_facts: false
  vars: {ansible_provider_meta: {run: {id: theirs}}}
  tasks:
  - ansible.builtin.set_fact: {ansible_provider_meta: theirs}
  - ansible.builtin.copy:
      dest: ` + dest + `/out
      content: "{{ {'unsafe': unsafe, 'templated': templated, 'order': order, 'meta': ansible_provider_meta, 'ensure': ensure} | to_json }}"
  - ansible.builtin.shell: env > ` + dest + `/env; pwd > ` + dest + `/pwd; cat secret.txt > ` + dest + `/secret
    args:
      chdir: "{{ playbook_dir }}"
`)
	run.Inputs.VarFiles = []inputs.File{
		{Data: []byte("order: {a: file}\nansible_provider_meta: {managed_resource: {state: theirs, more: x}}\n")},
		{Data: []byte(`{"ensure": "file", "order": {"b": "second file"}}`)},
	}
	run.Inputs.Parameters.Vars = raw(`{"templated": "{{ 1 + 1 }}", "ansible_provider_meta": 1, "order": {"c": "vars"}}`)
	run.Inputs.Parameters.UnsafeVars = raw(strings.TrimSuffix(string(text), "}") + `, "ansible_provider_meta": {"run": {"id": "theirs"}}}`)
	run.Inputs.Inventories = []inputs.File{{Data: []byte("localhost ansible_connection=local ansible_python_interpreter='{{ ansible_playbook_python }}' ansible_provider_meta=theirs\n")}}
	run.Inputs.Parameters.StateVariable = &common.StateVariable{Name: "ensure"}
	run.Inputs.Credentials = []inputs.File{
		{Name: "secret.txt", Data: []byte("s3cr3t"), Secret: true},
		{Name: "ansible.cfg", Data: []byte("[defaults]\nhash_behaviour = merge\n")},
	}
	run.Inputs.Env = map[string]string{"MINE": "1"}

	r := newRunner(t)
	r.environ = append(r.environ, "TOKEN_OF_THE_PROVIDER=x")

	res := must(t, r, run)
	if diff := cmp.Diff(Result{Phase: common.PhaseSucceeded}, res, ignoreSummary()); diff != "" {
		t.Fatalf("Run(...): -want, +got:\n%s", diff)
	}

	want := map[string]any{
		"unsafe":    values,
		"templated": json.Number("2"),
		"order":     map[string]any{"a": "file", "b": "second file", "c": "vars"},
		"ensure":    "present",
		"meta": map[string]any{
			"example": map[string]any{"state": "present"},
			"managed_resource": map[string]any{
				"state": "present", "name": "example", "namespace": "default", "uid": "", "generation": json.Number("0"),
				"annotations": map[string]any{}, "more": "x", "labels": map[string]any{"l": "{{ lookup('pipe', 'id') }}"},
			},
			"run": map[string]any{"id": "run-1", "mode": "Apply", "trigger": "Created", "attempt": json.Number("1")},
		},
	}
	if diff := cmp.Diff(want, readJSON(t, filepath.Join(dest, "out"))); diff != "" {
		t.Errorf("Variables should not change, and the ansible.cfg says that mappings are merged.\n-want, +got:\n%s", diff)
	}

	env, _ := os.ReadFile(filepath.Join(dest, "env"))
	if !strings.Contains(string(env), "MINE=1\n") || strings.Contains(string(env), "TOKEN_OF_THE_PROVIDER") {
		t.Errorf("A play should have the environment of the ProviderConfig, and not that of the provider.\ngot:\n%s", env)
	}

	secret, _ := os.ReadFile(filepath.Join(dest, "secret"))
	if diff := cmp.Diff("s3cr3t", string(secret)); diff != "" {
		t.Errorf("Credentials should be in the directory of the playbook.\n-want, +got:\n%s", diff)
	}
}

func TestRunContent(t *testing.T) {
	t.Parallel()

	dest := filepath.Join(t.TempDir(), "log")
	line := func(text string) string {
		return "ansible.builtin.shell: echo " + text + " {{ inventory_hostname }} >> " + dest + "\n"
	}

	const demo = "collections/ansible_collections/acme/demo/"

	set := content.Set{Dir: write(t, map[string]string{
		"roles/acme.first/tasks/main.yml":    "- " + line("first"),
		demo + "roles/second/tasks/main.yml": "- name: Log\n  " + line("second"),
		demo + "playbooks/third.yml":         "- hosts: all\n  gather_facts: false\n  tasks:\n  - " + line("third"),
	})}

	r := newRunner(t)

	run := inline("")
	run.Content = set
	run.Inputs.Roles = []common.Role{{Name: "acme.first"}, {Name: "acme.demo.second"}}
	run.Inputs.Inventories = []inputs.File{
		{Data: []byte("h1 ansible_connection=local ansible_python_interpreter='{{ ansible_playbook_python }}'\n")},
		{Data: []byte("all: {hosts: {h2: {ansible_connection: local, ansible_python_interpreter: '{{ ansible_playbook_python }}'}}}\n")},
	}
	run.Inputs.Parameters.Limit = "h2"

	var tasks []string

	res, err := r.Run(t.Context(), run, events.Watch{Progress: func(s events.Summary) { tasks = append(tasks, s.Task) }})
	if err != nil {
		t.Fatalf("Run(...): %v", err)
	}

	if diff := cmp.Diff(Result{Phase: common.PhaseSucceeded}, res, ignoreSummary()); diff != "" {
		t.Errorf("Run(...): -want, +got:\n%s", diff)
	}

	wantTasks := []string{"", "Gathering Facts", "acme.first : ansible.builtin.shell", "", "Gathering Facts", "acme.demo.second : Log", "acme.demo.second : Log"}
	if diff := cmp.Diff(wantTasks, tasks); diff != "" {
		t.Errorf("Progress should name the tasks as Ansible displays them.\n-want, +got:\n%s", diff)
	}

	run.Inputs.Roles = nil
	run.Inputs.Parameters.Playbook = "acme.demo.third"

	if diff := cmp.Diff(Result{Phase: common.PhaseSucceeded}, must(t, r, run), ignoreSummary()); diff != "" {
		t.Errorf("Run(...): -want, +got:\n%s", diff)
	}

	got, _ := os.ReadFile(dest)
	if diff := cmp.Diff("first h2\nsecond h2\nthird h2\n", string(got)); diff != "" {
		t.Errorf("Roles should run in order, playbooks by name, on the hosts of all inventories that match the limit.\n-want, +got:\n%s", diff)
	}
}

func TestRunFailures(t *testing.T) {
	t.Parallel()

	var lines strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&lines, "%08d\n", i)
	}

	try(t, map[string]trial{
		"Task": {
			reason:   "The message names a failed task, and shows no secrets.",
			playbook: "- hosts: localhost\n  gather_facts: false\n  tasks:\n  - name: Log in\n    ansible.builtin.fail: {msg: 'bad {{ password }}'}\n",
			inputs: func(in *inputs.Inputs) {
				in.VarFiles = []inputs.File{{Data: []byte("password: hunter22\n"), Secret: true}}
			},
			want: failing(ReasonTaskFailed, `task "Log in" failed on host "localhost": bad ********`),
		},
		"NoTasks": {
			reason:   "A play without tasks, for example of an empty role, succeeds.",
			playbook: "- hosts: localhost\n  gather_facts: false\n  tasks: []\n",
			want:     Result{Phase: common.PhaseSucceeded, Untouched: true},
		},
		"Limit": {
			reason:   "A run with a limit that no host matches fails.",
			playbook: "- hosts: all\n  tasks:\n  - ansible.builtin.ping:\n",
			inputs: func(in *inputs.Inputs) {
				in.Parameters.Limit, in.Inventories = "h2", []inputs.File{{Data: []byte("h1\n")}}
			},
			want: refused(ReasonNoHostsMatched, "no host matched, so that nothing was done: Could not match supplied host pattern, ignoring: h2"),
		},
		"BadInventory": {
			reason:   "A run with an unreadable inventory fails, also if it has others. The message names the inventory.",
			playbook: "- hosts: all\n  tasks: []\n",
			inputs: func(in *inputs.Inputs) {
				in.Inventories = []inputs.File{{Data: []byte("h1\n")}, {Data: []byte("[web\nh1\n"), Name: `ConfigMap "a/b", key "c"`}}
			},
			want: refused(ReasonPlaybookError, `Completely failed to parse inventory source ConfigMap "a/b", key "c": `+"Failed to parse inventory with 'yaml' plugin: YAML parsing failed: While parsing a flow sequence did not find expected ',' or ']'.\n"+"Failed to parse inventory with 'ini' plugin: Failed to parse inventory: not enough values to unpack (expected 3, got 2)"),
		},
		"Tags": {
			reason:   "A run with tags that no task has fails.",
			playbook: "- hosts: localhost\n  gather_subset: ['!all']\n  tasks:\n  - ansible.builtin.debug:\n",
			inputs:   func(in *inputs.Inputs) { in.Parameters.Tags = []string{"nonsense"} },
			want:     failing(ReasonNoTasksMatched, "no task has the tags, so that nothing was done"),
		},
		"TagsWithoutFacts": {
			reason:   "Without facts Ansible counts no host, and says that of none that it did not match.",
			playbook: "- hosts: localhost\n  gather_facts: false\n  tasks:\n  - ansible.builtin.debug:\n",
			inputs:   func(in *inputs.Inputs) { in.Parameters.Tags = []string{"nonsense"} },
			want:     refused(ReasonNoTasksMatched, "no task has the tags, so that nothing was done"),
		},
		"Playbook": {
			reason:   "The message has the error in the playbook, without paths of this machine.",
			playbook: "- hosts: localhost\n  roles: [acme.nothing]\n",
			want:     refused(ReasonPlaybookError, "the role 'acme.nothing' was not found; unless it is misspelt, its role or collection is to be in spec.requirements of the configuration, or in the requirements.yml of a project\nOrigin: playbook.yml:2:11"),
		},
		"Prompt": {
			reason: "Neither the play, nor a task, nor the vault can wait for input.",
			playbook: "- hosts: localhost\n  gather_facts: false\n  vars_prompt: [{name: a, prompt: A}]\n  tasks:\n" +
				"  - ansible.builtin.pause: {prompt: B}\n" +
				"  - ansible.builtin.shell: (read x </dev/tty || echo none) 2>/dev/null; exit 1\n",
			want: failing(ReasonTaskFailed, `task "ansible.builtin.shell" failed on host "localhost": non-zero return code: none`),
		},
		"Vault": {
			reason:   "A vault that prompts for its password is an error.",
			playbook: "- hosts: localhost\n  gather_facts: false\n  tasks:\n  - ansible.builtin.debug:\n",
			inputs:   func(in *inputs.Inputs) { in.Env = map[string]string{"ANSIBLE_VAULT_IDENTITY_LIST": "a@prompt"} },
			want:     refused(ReasonPlaybookError, ""),
		},
		"Memory": {
			reason:   "A run that uses too much memory fails with a result, and not with an error of the machine.",
			playbook: "- hosts: localhost\n  gather_facts: false\n  tasks:\n  - ansible.builtin.command: sleep 1000\n",
			option: func(r *Runner) {
				r.Policy = sandbox.Policy{Limits: sandbox.Limits{Together: 20 << 20, Share: "its share"}}
			},
			want: failing(ReasonOutOfMemory, ""),
			says: []string{"took more memory than 20 MiB, its share, "},
		},
		"LongEnvironment": {
			reason:   "An environment that is too long is an error in the ProviderConfig, and not of the machine.",
			playbook: "- hosts: localhost",
			inputs: func(in *inputs.Inputs) {
				in.Config, in.Env = `ProviderConfig "x"`, map[string]string{"LONG": strings.Repeat("x", 1<<20)}
			},
			cold: warm.Failed,
			want: refused(ReasonInvalidInputs, `ProviderConfig "x": spec.vars are too long for an environment`),
		},
		"TooManySecrets": {
			reason:   "A run with more secrets than can be redacted does not start.",
			playbook: "- hosts: localhost",
			inputs: func(in *inputs.Inputs) {
				in.Inventories = []inputs.File{{Name: "hosts", Data: []byte(lines.String()), Secret: true}}
			},
			want: refused(ReasonInvalidInputs, "the Secrets that the run refers to have too many values and lines to hide them from reports; put what is no secret into ConfigMaps or a project"),
		},
	})
}

// TestRunHints has failures with a hint for the user.
func TestRunHints(t *testing.T) {
	t.Parallel()

	confined := func(r *Runner) {
		r.Policy = sandbox.Policy{Mode: sandbox.BestEffort, System: []string{"/"}}
		r.Warm.Started = func(string) {}
	}

	if sandbox.Landlock() == 0 {
		needs.Machinef(t, "This kernel has no Landlock.")
	}

	play := func(task string) string { return "- hosts: web\n  gather_facts: false\n  tasks:\n  - " + task + "\n" }

	try(t, map[string]trial{
		"Delegated": {
			reason:   "A task that is delegated to localhost is confined like tasks on localhost.",
			playbook: play("{ansible.builtin.copy: {content: x, dest: " + t.TempDir() + "/x}, delegate_to: localhost}"),
			inputs:   configured("", "web\n"), option: confined,
			want: failing(ReasonTaskFailed, ""), says: []string{`host "web"`, "Permission denied", "--write-path"},
		},
		"Itself": {
			reason:   "The provider has no ssh.",
			playbook: play("ansible.builtin.ping:"),
			inputs:   configured("", "web ansible_host=127.0.0.1 ansible_port=1\n"),
			want:     failing(common.ReasonHostUnreachable, ""), says: []string{"Connection refused; this address is the provider itself", "ansible_connection: local"},
		},
		"Role": {
			reason:   "The error about a missing role does not have the directories that were searched.",
			playbook: play("ansible.builtin.include_role: {name: acme.missing.role}"),
			inputs:   configured("", "web ansible_connection=local\n"),
			want:     failing(ReasonTaskFailed, ""), says: []string{"the role 'acme.missing.role' was not found; unless it is misspelt, its role or collection is to be in spec.requirements of the configuration"},
		},
	})
}

func TestRunWaitsForAsync(t *testing.T) {
	t.Parallel()

	play := func(hosts, keyword string) string {
		return "- hosts: " + hosts + `
  gather_facts: false
  vars: {ansible_python_interpreter: "{{ ansible_playbook_python }}"}
  tasks:
  - ansible.builtin.command: echo done
    async: 60
    poll: 1
    register: result
` + keyword + `  - ansible.builtin.set_stats: {data: {` + hosts + `: "{{ result.stdout }}"}}
`
	}

	try(t, map[string]trial{"Hosts": {
		reason:   "localhost needs no inventory, a task may be delegated to it, and an inventory may name it.",
		playbook: play("localhost", "") + play("other", "    delegate_to: localhost\n") + play("web", ""),
		inputs:   configured("", "web ansible_connection=local\nother\n"),
		outputs:  `{"localhost":"done","other":"done","web":"done"}`,
	}})
}

// asynchronous returns a playbook that starts an asynchronous task and then runs for
// ever. The task writes its process id into a file, and ignores SIGTERM.
func asynchronous(pidfile string) string {
	return `
- name: Endless
  hosts: localhost
  gather_facts: false
  tasks:
  - ansible.builtin.shell: trap '' TERM; echo $$ > ` + pidfile + `.tmp; mv ` + pidfile + `.tmp ` + pidfile + `; while :; do sleep 1; done
    async: 1000
    poll: 0
  - name: Sleep
    ansible.builtin.command: sleep 1000
`
}

// left returns the command lines of the processes with a text in their
// environment.
func left(t *testing.T, text string) []string {
	t.Helper()

	files, err := filepath.Glob("/proc/[0-9]*/environ")
	needs.OK(t, err)

	var found []string

	for _, f := range files {
		if env, _ := os.ReadFile(f); strings.Contains(string(env), text) {
			cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
			found = append(found, string(cmdline))
		}
	}

	return found
}

func waitFor(t *testing.T, path string) {
	t.Helper()

	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}

	t.Fatalf("%q is not there", path)
}

func TestRunEnded(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		reason string
		runner func(*testing.T, ...Options) *Runner
		cause  error
		want   Result
	}{
		"Canceled": {
			reason: "All processes of a canceled run end.",
			runner: newRunner,
			cause:  context.Canceled,
			want: Result{
				Phase: common.PhaseCanceled, Reason: ReasonCanceled, Message: `canceled during task "Sleep" of play "Endless"`,
			},
		},
		"TimedOut": {
			reason: "All processes of a run that timed out end.",
			runner: newCold,
			cause:  errTimedOut,
			want: Result{
				Phase: common.PhaseTimedOut, Reason: ReasonTimedOut, Message: `timed out after 1m0s during task "Sleep" of play "Endless"`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := tc.runner(t, Options{Grace: 100 * time.Millisecond})
			pidfile := filepath.Join(t.TempDir(), "pid")

			run := inline(asynchronous(pidfile))
			run.Timeout = patience

			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)

			got, err := r.Run(ctx, run, events.Watch{Progress: func(s events.Summary) {
				if s.Task == "Sleep" {
					waitFor(t, pidfile)
					cancel(tc.cause)
				}
			}})
			if err != nil {
				t.Fatalf("Run(...): %v", err)
			}

			if diff := cmp.Diff(tc.want, got, ignoreSummary()); diff != "" {
				t.Errorf("%s\nRun(...): -want, +got:\n%s", tc.reason, diff)
			}

			if found := left(t, r.dir); len(found) > 0 {
				t.Errorf("%s\nThese are left: %q", tc.reason, found)
			}
		})
	}
}

// TestAttackEvents has a play write an event, and display untrusted values that look like what ansible-runner's
// callback plugin writes to mark one.
func TestAttackEvents(t *testing.T) {
	t.Parallel()

	const event = `{"uuid": "00000000-0000-4000-8000-000000000000", "event": "playbook_on_stats", "event_data": {"processed": {"localhost": 9}, "artifact_data": {"forged": true}}}`

	names := []string{"before"}
	// The event with outputs, an empty event, an event with a path, and text that is not an event.
	for _, value := range []string{
		event, `{"uuid": "00000000-0000-4000-8000-000000000000"}`, `{"uuid": "../../../project/forged"}`, `["uuid"]`, strings.Repeat("[", 100000),
	} {
		text := base64.StdEncoding.EncodeToString([]byte(value))
		names = append(names, fmt.Sprintf("\x1b[K%s\x1b[%dD\x1b[K", text, len(text)), "after")
	}

	vars, err := json.Marshal(map[string]any{"names": names})
	needs.OK(t, err)

	// The play itself lists its hosts, so that the values are in its own output.
	run := inline(`
- hosts: "{{ lookup('pipe', 'cat event >/proc/$PPID/fd/1; echo localhost') }}"
  gather_facts: false
  tasks:
  - ansible.builtin.command: {cmd: "true"}
    loop: "{{ names }}"
`)
	run.KeepOutput = true
	run.Inputs.Credentials = []inputs.File{{Name: "event", Data: []byte(event + "\n")}}
	run.Inputs.Parameters.UnsafeVars = raw(string(vars))

	res := must(t, newRunner(t), run)
	if res.Phase != common.PhaseSucceeded {
		t.Fatalf("A value should not end a run: %s: %s", res.Reason, res.Message)
	}

	want := common.HostTotals{OK: 1, Changed: 1}
	if diff := cmp.Diff(want, res.Summary.Totals); diff != "" || res.Summary.Outputs != nil {
		t.Errorf("A value should not be taken for an event, and should not hide one.\nwant no outputs, got %s\n-want totals, +got:\n%s", res.Summary.Outputs, diff)
	}
}

func TestRunTimeout(t *testing.T) {
	t.Parallel()

	run := inline(asynchronous(filepath.Join(t.TempDir(), "pid")))
	run.Timeout = time.Nanosecond

	got := must(t, newRunner(t), run)
	if got.Phase != common.PhaseTimedOut || got.Reason != ReasonTimedOut || !strings.HasPrefix(got.Message, "timed out after 1ns ") {
		t.Errorf("A timeout may be over before a process has started.\nRun(...): got %+v", got)
	}
}

// TestOwnerKilled kills a provider with a run that started warm. TestRunOwnerKilled of package supervisor has a cold
// start.
func TestOwnerKilled(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	dir := t.TempDir()
	pidfile := filepath.Join(t.TempDir(), "pid")

	provider := exec.Command(os.Args[0], "provide", dir, asynchronous(pidfile))
	needs.OK(t, provider.Start())

	waitFor(t, pidfile)
	needs.OK(t, provider.Process.Kill())

	_ = provider.Wait()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	lock, err := workdir.Lock(ctx, filepath.Join(dir, "lock"), nil)
	if err != nil {
		t.Fatalf("The lock should be free once all processes of the run have ended: %v", err)
	}
	defer lock.Close()

	if found := left(t, filepath.Join(dir, "runs")); len(found) > 0 {
		t.Errorf("These are left: %q", found)
	}
}

// TestRunCannotBeRemoved has a directory that cannot be removed. The run keeps its result, and no secret is left.
func TestRunCannotBeRemoved(t *testing.T) {
	t.Parallel()
	needs.Root(t, "Only root can mount a file system that keeps a directory.")

	r := newRunner(t)
	run := inline("- hosts: localhost\n  gather_facts: false\n  tasks:\n" +
		"  - ansible.builtin.shell: mkdir -p ../odd && mount -t tmpfs none ../odd && cp secret ../odd/copy && pwd >" + r.dir + "/pwd\n")
	run.Inputs.Credentials = []inputs.File{{Name: "secret", Data: []byte("hunter2"), Secret: true}}

	res, err := r.Run(t.Context(), run, events.Watch{})
	if err != nil || res.Phase != common.PhaseSucceeded {
		needs.Machinef(t, "cannot mount a file system here: %v: %s: %s", err, res.Phase, res.Message)
	}

	pwd, err := os.ReadFile(filepath.Join(r.dir, "pwd"))
	needs.OK(t, err)

	dir := filepath.Dir(strings.TrimSpace(string(pwd)))
	odd := filepath.Join(dir, "odd")

	defer unix.Unmount(odd, unix.MNT_DETACH)

	if want := "cannot remove a private data directory"; !strings.HasPrefix(res.Message, want) {
		t.Errorf("Run(...): want a message that says %q, got %q", want, res.Message)
	}

	err = filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil && path != dir && path != odd {
			t.Errorf("%s should be gone", path)
		}

		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRunBroken has a machine on which runs cannot begin or end.
func TestRunBroken(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		reason  string
		disk    string
		want    string
		touched bool
	}{
		"Disk": {
			reason: "There is no disk space for the files of the run.",
			disk:   "8k",
			want:   `^cannot .* private data directory: .*no space left on device$`,
		},
		"Full": {
			reason:  "There is disk space for the files of the run, but not for a module and its events. The events of Ansible are lost.",
			disk:    "80k",
			want:    `the disk of --state-dir is full: .*OSError: \[Errno 28\] No space left on device`,
			touched: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := newRunner(t)
			needs.SmallDisk(t, r.dir, tc.disk)

			res, err := r.Run(t.Context(), inline("- hosts: localhost\n  gather_facts: false\n  tasks: [ansible.builtin.command: echo]\n"), events.Watch{})
			if err == nil || !regexp.MustCompile(tc.want).MatchString(err.Error()) {
				t.Errorf("\n%s\nRun(...): want an error that matches %s, got %v", tc.reason, tc.want, err)
			}

			if res.Untouched == tc.touched {
				t.Errorf("\n%s\nRun(...): want untouched %t, got %t", tc.reason, !tc.touched, res.Untouched)
			}

			if files, _ := os.ReadDir(r.dir); len(files) > 0 {
				t.Errorf("\n%s\nRun(...): nothing should be left, got %v", tc.reason, files)
			}
		})
	}
}

func TestNewWithoutTools(t *testing.T) {
	t.Setenv("PATH", "/nonexistent")

	_, err := New(t.TempDir(), Options{})
	if diff := cmp.Diff(cmpopts.AnyError, err, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("Without the tools, New should fail.\nNew(...): -want error, +got error:\n%s", diff)
	}
}
