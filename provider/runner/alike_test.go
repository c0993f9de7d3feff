package runner

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// TestAlike runs playbooks cold, warm, and with the ansible-playbook of the image, which does not parse the YAML that
// Ansible ships. Their output and reports are equal apart from times, paths and ids.
// Ansible parses the same YAML for all tasks, so that one playbook is enough for the image.
func TestAlike(t *testing.T) {
	t.Parallel()

	cold, warm := newCold(t), newRunner(t)
	log := filepath.Join(t.TempDir(), "parsed")
	image := withShipped(t, log, "")

	// The process builds its modules after it is ready.
	waitShared(t)

	set := content.Set{Dir: write(t, alikeContent())}

	t.Run("Playbooks", func(t *testing.T) {
		for n := range alikeKeywords {
			t.Run(strconv.Itoa(n), func(t *testing.T) {
				t.Parallel()

				others := map[string]*Runner{"warm": warm}
				if n == 0 {
					others["image"] = image
				}

				compare(t, n, set, cold, others)
			})
		}
	})

	parses(t, image, log, false)
	// Parsed documents of another release of Ansible are not used.
	parses(t, withShipped(t, log, "shipped_yaml.__version__ = '0'"), log, true)
}

// compare compares the output and the reports of the runs of a playbook.
func compare(t *testing.T, n int, set content.Set, plain *Runner, others map[string]*Runner) {
	t.Helper()

	playbook, cfg := alike(n)
	run := inline(playbook)
	run.Content, run.KeepOutput = set, true
	run.Inputs.Credentials = []inputs.File{{Name: inputs.AnsibleConfigFile, Data: []byte(cfg)}}
	run.Inputs.Parameters.Verbosity = new(int32(n % 4))

	want := seen(t, plain, run)

	for name, r := range others {
		if diff := cmp.Diff(want, seen(t, r, run)); diff != "" {
			t.Errorf("--- cold, +++ %s:\n%s\nof the playbook, with the ansible.cfg %q\n%s", name, diff, cfg, playbook)
		}
	}
}

// seen returns the output and the reports of a run.
func seen(t *testing.T, r *Runner, run Spec) string {
	t.Helper()

	res, err := r.Run(t.Context(), run, events.Watch{})
	if err != nil {
		t.Fatalf("Run(...): %v", err)
	}

	res.Summary.Cold = ""
	text := fmt.Sprintf("%+v\n%s", res, res.Output)

	for _, r := range []struct{ what, with string }{
		{regexp.QuoteMeta(r.dir) + `/\w+`, "DIR"},
		{regexp.QuoteMeta(r.play[len(r.play)-1]), "PLAYBOOK"},
		{`ansible-(local-|tmp-)[-.\w]+`, "TMP"},
		{`_payload_\w+`, "PAYLOAD"},
		{`(/|original_basename\W{3,8})\.[a-z0-9_]{8}\b`, "${1}FILE"},
		{`/tmp[a-z0-9_]{8}\b`, "/FILE"},
		{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, "UUID"},
		{`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\d+:]*`, "TIME"},
		{`Paused for [.\d]+ seconds`, "Paused"},
		{`\d+:\d\d:\d\d\.\d+|"elapsed": \d+`, "DURATION"},
		{`0x[0-9a-f]{6,}`, "ADDRESS"},
		{`\b(pid|PID)\D{1,4}\d+`, "PID"},
		{`\bj\d+(\.\d+)?\b|\b\d{6,}\.\d+\b|\b\d{5,}\b`, "NUMBER"},
	} {
		text = regexp.MustCompile(r.what).ReplaceAllString(text, r.with)
	}

	return text
}

// alikeContent has plugins and module_utils with names of those that Ansible ships.
func alikeContent() map[string]string {
	filter := "class FilterModule:\n    def filters(self):\n        return {'twice': lambda s: 'FROM' + str(s) * 2}\n"
	module := "#!/usr/bin/python\nfrom ansible.module_utils.basic import AnsibleModule\nm = AnsibleModule(argument_spec={'data': {}})\nm.exit_json(changed=False, ping='own ' + str(m.params['data']))\n"

	return map[string]string{
		"roles/plain/tasks/main.yml":                                             "- ansible.builtin.debug: {msg: \"plain {{ given | default('none') }}\"}\n- ansible.builtin.stat: {path: /etc/hostname}\n  register: it\n- ansible.builtin.command: \"true\"\n  notify: told\n",
		"roles/plain/handlers/main.yml":                                          "- name: told\n  ansible.builtin.debug: {msg: handled}\n",
		"roles/plain/defaults/main.yml":                                          "given: default\n",
		"roles/own/tasks/main.yml":                                               "- ping: {data: x}\n- ansible.builtin.debug: {msg: \"{{ 'a' | twice }}\"}\n",
		"roles/own/library/ping.py":                                              module,
		"roles/own/filter_plugins/core.py":                                       strings.Replace(filter, "FROM", "role", 1),
		"roles/helped/tasks/main.yml":                                            "- ansible.builtin.ping:\n- ansible.builtin.command: \"true\"\n",
		"roles/helped/module_utils/basic.py":                                     "raise ImportError('this is not the basic that you know')\n",
		"roles/action/tasks/main.yml":                                            "- debug: {msg: x}\n- ansible.builtin.debug: {msg: y}\n",
		"roles/action/action_plugins/debug.py":                                   "from ansible.plugins.action import ActionBase\nclass ActionModule(ActionBase):\n    def run(self, tmp=None, task_vars=None):\n        return {'changed': True, 'msg': 'own debug'}\n",
		"roles/connection/tasks/main.yml":                                        "- ansible.builtin.command: \"true\"\n",
		"roles/connection/connection_plugins/local.py":                           "from ansible.plugins.connection.local import Connection as Base\nclass Connection(Base):\n    def exec_command(self, cmd, in_data=None, sudoable=True):\n        raise RuntimeError('own local')\n",
		"collections/ansible_collections/acme/tools/galaxy.yml":                  "namespace: acme\nname: tools\nversion: 1.0.0\n",
		"collections/ansible_collections/acme/tools/plugins/filter/words.py":     strings.Replace(filter, "FROM", "collection", 1),
		"collections/ansible_collections/acme/tools/plugins/lookup/number.py":    "import os, yaml\nfrom ansible.plugins.lookup import LookupBase\nclass LookupModule(LookupBase):\n    def run(self, terms, variables=None, **kwargs):\n        with os.fdopen(os.open(__file__, os.O_RDONLY)) as f:\n            yaml.safe_load(f.read(6))\n        with os.fdopen(os.open(os.devnull, os.O_RDONLY)) as f:\n            yaml.safe_load(f)\n        return [len(t) for t in terms]\n",
		"collections/ansible_collections/acme/tools/plugins/modules/note.py":     module,
		"collections/ansible_collections/acme/tools/plugins/action/act.py":       "from ansible.plugins.action import ActionBase\nclass ActionModule(ActionBase):\n    def run(self, tmp=None, task_vars=None):\n        return {'changed': True, 'ansible_facts': {'acted': 'yes'}}\n",
		"collections/ansible_collections/acme/tools/plugins/modules/act.py":      module,
		"collections/ansible_collections/acme/tools/roles/inside/tasks/main.yml": "- note: {data: in}\n  collections: [acme.tools]\n- ansible.builtin.set_fact: {inside: \"{{ 'b' | acme.tools.twice }}\"}\n",
	}
}

// alikeTasks are the tasks of the playbooks.
var alikeTasks = []string{
	"- ansible.builtin.debug: {msg: \"{{ [3, 1, 2] | sort | map('string') | join('-') }} {{ 'x' | hash('sha1') }}\"}",
	"- ansible.builtin.debug: {var: hostvars[inventory_hostname].group_names}",
	"- ansible.builtin.command: echo {{ 'a b' | quote }}\n  register: echoed\n  changed_when: \"'a' in echoed.stdout\"\n  notify: noted",
	"- ansible.builtin.shell: echo $E; exit {{ item }}\n  loop: [0, 1, 0]\n  ignore_errors: true",
	"- ansible.builtin.set_fact: {fact: \"{{ lookup('ansible.builtin.env', 'HOME') | basename }}\", cacheable: true}",
	"- ansible.builtin.set_stats: {data: {a: \"{{ 40 + 2 }}\", b: {c: [1]}}}",
	"- ansible.builtin.copy: {content: \"{{ range(5) | list }}\", dest: \"{{ playbook_dir }}/copied\", mode: \"0640\"}\n  notify: noted",
	"- ansible.builtin.file: {path: \"{{ playbook_dir }}/made\", state: directory, mode: \"0700\"}",
	"- ansible.builtin.lineinfile: {path: \"{{ playbook_dir }}/lines\", line: \"{{ item.key }}\", create: true, mode: \"0600\"}\n  loop: \"{{ {'a': 1, 'b': 2} | dict2items }}\"\n  loop_control: {label: \"{{ item.key }}\"}",
	"- ansible.builtin.fail: {msg: \"on purpose {{ 1 / 3 }}\"}\n  ignore_errors: true",
	"- ansible.builtin.debug: {msg: \"{{ undefined_thing }}\"}\n  ignore_errors: true",
	"- block:\n  - ansible.builtin.fail: {msg: into the rescue}\n  rescue:\n  - ansible.builtin.debug: {msg: \"{{ ansible_failed_result.msg }}\"}\n  always:\n  - ansible.builtin.debug: {msg: always}",
	"- ansible.builtin.include_role: {name: plain}\n  vars: {given: \"{{ 'yes' | upper }}\"}",
	"- ansible.builtin.import_role: {name: plain}",
	"- ansible.builtin.include_role: {name: own}\n  ignore_errors: true",
	"- ansible.builtin.include_role: {name: action}",
	"- ansible.builtin.import_role: {name: acme.tools.inside}",
	"- acme.tools.note: {data: \"{{ 'c' | acme.tools.twice }}\"}",
	"- acme.tools.act:\n- ansible.builtin.debug: {msg: \"{{ acted | default('no') }} {{ lookup('acme.tools.number', 'abc') }}\"}",
	"- ansible.builtin.add_host: {name: added, groups: [new], ansible_connection: local, ansible_python_interpreter: \"{{ ansible_playbook_python }}\"}\n- ansible.builtin.debug: {msg: \"{{ groups }}\"}",
	"- ansible.builtin.group_by: {key: \"by_{{ inventory_hostname }}\"}",
	"- ansible.builtin.meta: flush_handlers",
	"- ansible.builtin.meta: clear_facts",
	"- ansible.builtin.meta: noop",
	"- ansible.builtin.meta: refresh_inventory",
	"- ansible.builtin.assert: {that: [\"1 == 1\", \"'a' in ['a']\"], quiet: true}",
	"- ansible.builtin.command: sleep 0\n  async: 600\n  poll: 1",
	"- ansible.builtin.uri: {url: \"http://127.0.0.1:1/\"}\n  ignore_errors: true",
	"- ansible.builtin.template: {src: nowhere.j2, dest: \"{{ playbook_dir }}/t\"}\n  ignore_errors: true",
	"- ansible.builtin.ping:",
	"- ping: {data: crash}\n  ignore_errors: true",
	"- ansible.builtin.debug: {msg: secret}\n  no_log: true",
	"- ansible.builtin.pause: {seconds: 0}",
	"- ansible.builtin.setup: {gather_subset: [\"!all\", \"!min\"]}",
	"- nowhere.at.all: {}\n  when: false",
}

// alikeKeywords are the keywords of the plays, one line for each playbook.
var alikeKeywords = []string{
	"strategy: free", "any_errors_fatal: true\n  connection: local", "vars: {v: [1, 2, {a: b}]}\n  environment: {E: \"{{ 1 + 1 }}\"}",
}

// alikeSettings are the settings of the ansible.cfg, the last one in a section of its own.
var alikeSettings = []string{
	"timeout = 11", "gathering = explicit", "any_errors_fatal = true", "strategy = free", "no_log = true", "forks = 3",
	"display_skipped_hosts = false", "poll_interval = 2", "executable = /bin/bash", "task_timeout = 600", "private_key_file = key",
	"inject_facts_as_vars = false", "system_warnings = false", "module_compression = ZIP_STORED",
	"[connection]\npipelining = true",
}

// alike returns a playbook and its ansible.cfg. All playbooks together have each task, keyword and setting once.
func alike(n int) (playbook, cfg string) {
	of := func(all []string) (found []string) {
		for i := n; i < len(all); i += len(alikeKeywords) {
			found = append(found, all[i])
		}

		return found
	}

	playbook = fmt.Sprintf("- name: play %d\n  hosts: localhost\n  gather_facts: %t\n  %s\n", n, n == 0, alikeKeywords[n]) +
		"  handlers:\n  - name: noted\n    ansible.builtin.debug: {msg: \"noted {{ ansible_play_name }}\"}\n  tasks:\n"
	for _, task := range of(alikeTasks) {
		playbook += "  " + strings.ReplaceAll(task, "\n", "\n  ") + "\n"
	}

	return playbook, "[defaults]\n" + strings.Join(of(alikeSettings), "\n") + "\n"
}
