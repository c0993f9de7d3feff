package events

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCauses reads the failures of testdata/causes, which the oldest version of ansible-core has written, the provider's,
// and the newest. What a terminal has room for of a message says why: the start of its first line.
func TestCauses(t *testing.T) {
	const shown = 100

	cases := map[string]struct {
		reason string
		want   string
		// older versions say something else, or nothing.
		older map[string]string
	}{
		"argument": {
			reason: "Arguments that a module lacks are named.",
			want:   "missing required arguments: path",
		},
		"assertion": {
			reason: "An assertion is what does not hold.",
			want:   "Assertion failed: 1 == 2",
		},
		"assertion-message": {
			reason: "Or what its author says of it.",
			want:   "the message",
		},
		"async": {
			reason: "An asynchronous command says why like any other.",
			want:   "The command exited with a non-zero return code: the reason",
			older: map[string]string{
				"2.16": "non-zero return code: the reason",
				"2.19": "non-zero return code: the reason",
			},
		},
		"banner": {
			reason: "ssh's banner is not the cause.",
			want:   "Host key verification failed.",
		},
		"become": {
			reason: "Nor is that Ansible waited for sudo.",
			want:   "Premature end of stream waiting for become success: sudo: a password is required",
			older: map[string]string{
				"2.16": "MODULE FAILURE: sudo: a password is required",
			},
		},
		"command": {
			reason: "A command has failed for what it writes to standard error.",
			want:   "The command exited with a non-zero return code: the reason",
			older: map[string]string{
				"2.16": "non-zero return code: the reason",
				"2.19": "non-zero return code: the reason",
			},
		},
		"command-missing": {
			reason: "A command that is not there is named, which only the display does since 2.21.",
			want:   "Error executing command: [Errno 2] No such file or directory: b'/nonexistent/program'",
			older: map[string]string{
				"2.16": "[Errno 2] No such file or directory: b'/nonexistent/program'",
			},
		},
		"command-python": {
			reason: "Of a traceback the error is the cause.",
			want:   "The command exited with a non-zero return code: RuntimeError: the reason",
			older: map[string]string{
				"2.16": "non-zero return code: RuntimeError: the reason",
				"2.19": "non-zero return code: RuntimeError: the reason",
			},
		},
		"connection": {
			reason: "Ansible may not get as far as a module.",
			want:   "the connection plugin 'nonsense' was not found",
		},
		"dark": {
			reason: "One line of ssh stays behind what it is about.",
			want:   "Failed to connect to the host via ssh: connection refused",
		},
		"facts": {
			reason: "Facts are gathered by modules, which have causes of their own.",
			want:   "ansible.legacy.setup: The module interpreter '/nonexistent/python3' was not found.",
			older: map[string]string{
				"2.16": "ansible.legacy.setup: The module failed to execute correctly, you probably need to set the interpret",
			},
		},
		"facts-parallel": {
			reason: "Several may fail, of which newer results say nothing.",
			want:   "The following modules failed to execute: broken, full: the reason",
			older: map[string]string{
				"2.16": "broken: RuntimeError: the reason",
			},
		},
		"failed-when": {
			reason: "What fails by a condition has no message in older versions.",
			want:   "A 'failed_when' expression evaluated to 'True'.",
			older: map[string]string{
				"2.16": "WARNING quota",
				"2.19": "WARNING quota",
			},
		},
		"filter": {
			reason: "Templates fail before a module runs.",
			want:   "Finalization of task args for 'ansible.builtin.debug' failed: Error while resolving value for 'msg':",
			older: map[string]string{
				"2.16": `template error while templating string: Could not load "nonsense": 'nonsense'. String: {{ 'x' | nons`,
			},
		},
		"full": {
			reason: "A full disk is named, not the path of a module.",
			want:   "[Errno 28] No space left on device: '/root/.ansible/tmp/ansible-tmp-1/AnsiballZ_full.py'",
			older: map[string]string{
				"2.16": "MODULE FAILURE: OSError: [Errno 28] No space left on device: '/root/.ansible/tmp/ansible-tmp-1/Ansib",
			},
		},
		"include": {
			reason: "A file of tasks may not be there.",
			want:   "Unable to retrieve file contents. Could not find or access 'missing.yml' on the Ansible Controller: ",
			older: map[string]string{
				"2.16": "Could not find or access 'missing.yml' on the Ansible Controller.",
				"2.19": "Could not find or access 'missing.yml' on the Ansible Controller: Unable to retrieve file contents.",
			},
		},
		"interpreter": {
			reason: "A host may not have the Python that it is to have.",
			want:   "The module interpreter '/nonexistent/python3' was not found.",
			older: map[string]string{
				"2.16": "The module failed to execute correctly, you probably need to set the interpreter: /bin/sh: 1: /nonex",
			},
		},
		"library": {
			reason: "A module may lack a library.",
			want:   "Failed to import the required Python library (distlib) on vm's Python /venv/bin/python3. Please read",
			older: map[string]string{
				"2.19": "Failed to import the required Python library (distlib) on vm's Python /venv/bin/python3.11. Please r",
			},
		},
		"lookup": {
			reason: "A lookup may fail.",
			want:   "Finalization of task args for 'ansible.builtin.debug' failed: Error while resolving value for 'msg':",
			older: map[string]string{
				"2.16": "The 'file' lookup had an issue accessing the file '/nonexistent'. file not found, use -vvvvv to see ",
			},
		},
		"loop": {
			reason: "Of a loop the item that has failed is named, and why.",
			want:   "item b: The command exited with a non-zero return code: disk full on b",
			older: map[string]string{
				"2.16": "item b: non-zero return code: disk full on b",
				"2.19": "item b: non-zero return code: disk full on b",
			},
		},
		"loop-assertion": {
			reason: "Whatever fails.",
			want:   "item b: Assertion failed: item == 'a'",
		},
		"loop-module": {
			reason: "The message of a module in a loop is without its cause since 2.19.",
			want:   "item x: Error, could not touch target: [Errno 2] No such file or directory: b'/nonexistent/x'",
		},
		"loop-no-log": {
			reason: "What is hidden stays hidden.",
			want:   "the output has been hidden due to the fact that 'no_log: true' was specified for this result",
		},
		"loop-traceback": {
			reason: "A module may crash for an item.",
			want:   "item a: the reason",
			older: map[string]string{
				"2.16": "item a: MODULE FAILURE: RuntimeError: the reason",
			},
		},
		"message": {
			reason: "What a task says is why it fails.",
			want:   "the message",
		},
		"message-lines": {
			reason: "The first line of what its author writes stays first.",
			want:   "first",
		},
		"module": {
			reason: "The message of a module is without its cause since 2.19.",
			want:   "Error, could not touch target: [Errno 2] No such file or directory: b'/nonexistent/x'",
		},
		"no-log": {
			reason: "What is hidden stays hidden without a loop, too.",
			want:   "the output has been hidden due to the fact that 'no_log: true' was specified for this result",
		},
		"noise": {
			reason: "A module may write anything.",
			want:   "Module result deserialization failed: No start of json char found: the reason",
			older: map[string]string{
				"2.16": "MODULE FAILURE: the reason",
			},
		},
		"object": {
			reason: "A message may be anything.",
			want:   `{"code":1,"why":["because"]}`,
		},
		"package": {
			reason: "A message may be all there is.",
			want:   "Could not detect a supported package manager from the following list: ['apk'], or the required Pytho",
		},
		"raw": {
			reason: "Without a module there is standard output only.",
			want:   "non-zero return code: the reason",
		},
		"role": {
			reason: "A role may not be there. In 2.16 that is no result of a task.",
			want:   "The role 'acme.missing.role' was not found in: roles:.ansible/roles:/usr/share/ansible/roles:/etc/an",
			older: map[string]string{
				"2.16": "",
				"2.19": "the role 'acme.missing.role' was not found in roles:.ansible/roles:/usr/share/ansible/roles:/etc/ans",
			},
		},
		"script": {
			reason: "A script may not be there.",
			want:   "Could not find or access 'missing.sh'",
		},
		"setup": {
			reason: "A module may refuse its arguments.",
			want:   "Bad subset 'nonsense' given to Ansible. gather_subset options allowed: all, all_ipv4_addresses, all_",
		},
		"silent": {
			reason: "What says nothing has an exit status.",
			want:   "The command exited with a non-zero return code: exit status 1",
			older: map[string]string{
				"2.16": "non-zero return code: exit status 1",
				"2.19": "non-zero return code: exit status 1",
			},
		},
		"template": {
			reason: "A template may not be there.",
			want:   "Could not find or access 'missing.j2'",
		},
		"template-error": {
			reason: "Or have an error.",
			want:   "'nothing' is undefined",
			older: map[string]string{
				"2.16": "AnsibleUndefinedVariable: 'nothing' is undefined. 'nothing' is undefined",
			},
		},
		"traceback": {
			reason: "A module may crash.",
			want:   "the reason",
			older: map[string]string{
				"2.16": "MODULE FAILURE: RuntimeError: the reason",
			},
		},
		"undefined": {
			reason: "A variable may not be there.",
			want:   "Finalization of task args for 'ansible.builtin.debug' failed: Error while resolving value for 'msg':",
			older: map[string]string{
				"2.16": "The task includes an option with an undefined variable. The error was: 'nothing' is undefined. 'noth",
			},
		},
		"until": {
			reason: "The last of several attempts counts.",
			want:   "The command exited with a non-zero return code: not ready yet",
			older: map[string]string{
				"2.16": "non-zero return code: not ready yet",
				"2.19": "non-zero return code: not ready yet",
			},
		},
		"uri": {
			reason: "The network is named.",
			want:   "Status code was -1 and not [200]: Request failed: <urlopen error [Errno 111] Connection refused>",
		},
		"wait": {
			reason: "What did not happen in time is named.",
			want:   "Timeout when waiting for 127.0.0.1:9",
		},
		"when": {
			reason: "A condition may fail.",
			want:   "A 'when' expression failed: Error while evaluating conditional: 'nothing' is undefined",
			older: map[string]string{
				"2.16": "The conditional check 'inventory_hostname != 'fine' and nothing.there' failed. The error was: error ",
				"2.19": "Error while evaluating conditional: 'nothing' is undefined",
			},
		},
	}

	for _, version := range []string{"2.16", "2.19", "2.21"} {
		t.Run(version, func(t *testing.T) {
			raw, err := os.ReadFile("testdata/causes/" + version + ".jsonl")
			if err != nil {
				t.Fatal(err)
			}

			got := map[string]string{}
			options := Options{
				Hidden: []string{playDir + "/project/", playDir + "/"},
				Watch: Watch{Task: func(r TaskResult) {
					line, _, _ := strings.Cut(r.Message, "\n")
					got[r.Host] = line[:min(len(line), shown)]
				}},
			}

			record(t, string(raw), options)

			for host, tc := range cases {
				want := tc.want
				if older, ok := tc.older[version]; ok {
					want = older
				}

				if diff := cmp.Diff(want, got[host]); diff != "" {
					t.Errorf("%s: %s\n-want, +got:\n%s", host, tc.reason, diff)
				}

				delete(got, host)
			}

			if diff := cmp.Diff(map[string]string{}, got); diff != "" {
				t.Errorf("Each failure is in the table.\n%s", diff)
			}
		})
	}
}
