package events

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestCauses reads the failures of testdata/causes, from the oldest supported version of ansible-core, the provider's
// version, and the newest. The start of the first line of a message, which fits into a terminal, has the cause.
func TestCauses(t *testing.T) {
	const (
		shown = 100
		// none stands for a failure that is not the result of a task.
		none = "-"
	)

	cases := map[string]struct {
		reason, want string
		// in219 and in216 are the messages of these versions if they differ.
		in219, in216 string
	}{
		"apt-lock":          {reason: "The message names the lock.", want: "non-zero return code: E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is "},
		"argument":          {reason: "The message names missing arguments of a module.", want: "missing required arguments: path"},
		"assertion":         {reason: "The message has the assertion that failed.", want: "Assertion failed: 1 == 2"},
		"assertion-message": {reason: "An assertion may have a message.", want: "the message"},
		"async":             {reason: "An asynchronous command has the cause of a command.", want: "non-zero return code: the reason"},
		"banner":            {reason: "ssh's banner is not the cause.", want: "Host key verification failed."},
		"become":            {reason: "The error of sudo is the cause.", want: "Premature end of stream waiting for become success: sudo: a password is required; the password is an", in216: "sudo: a password is required"},
		"command":           {reason: "Standard error of a command is the cause.", want: "non-zero return code: the reason"},
		"command-missing":   {reason: "The message names a missing command, which is only in the display since 2.21.", want: "Error executing command: [Errno 2] No such file or directory: b'/nonexistent/program'", in216: "[Errno 2] No such file or directory: b'/nonexistent/program'"},
		"command-python":    {reason: "The error after a traceback is the cause.", want: "non-zero return code: RuntimeError: the reason"},
		"connection":        {reason: "The connection may fail before a module runs.", want: "the connection plugin 'nonsense' was not found"},
		"dark":              {reason: "A single line of ssh stays after the message of Ansible.", want: "Failed to connect to the host via ssh: connection refused"},
		"facts":             {reason: "The cause is in the result of a module that gathers facts.", want: "ansible.legacy.setup: The module interpreter '/nonexistent/python3' was not found.", in216: "ansible.legacy.setup: /bin/sh: 1: /nonexistent/python3: not found"},
		"facts-parallel":    {reason: "Several modules may fail. Newer results do not have their causes.", want: "The following modules failed to execute: broken, full: the reason", in216: "broken: RuntimeError: the reason"},
		"failed-when":       {reason: "A failed_when has failed the task, and the module has succeeded.", want: "A 'failed_when' expression evaluated to 'True': WARNING quota"},
		"filter":            {reason: "Templates fail before a module runs.", want: "Error while resolving value for 'msg': Syntax error in template: No filter named 'nonsense'.", in216: `template error while templating string: Could not load "nonsense": 'nonsense'. String: {{ 'x' | nons`},
		"forbidden":         {reason: "The message is in the middle of the Status of an API server.", want: `Failed to create object: secrets is forbidden: User "system:serviceaccount:default:deployer" cannot `},
		"full":              {reason: "The message names the full disk, and not the path of a module.", want: "[Errno 28] No space left on device: 'AnsiballZ_full.py'", in216: "OSError: [Errno 28] No space left on device: 'AnsiballZ_full.py'"},
		"git-auth":          {reason: "The error that git could not read is only a consequence.", want: "git@h.invalid: Permission denied (publickey)."},
		"handler":           {reason: "A handler is a task.", want: "non-zero return code: Job for nginx.service failed because the control process exited with error cod"},
		"include":           {reason: "A file of tasks may be missing.", want: "Could not find or access 'missing.yml' on the Ansible Controller: [Errno 2] No such file or director", in219: "Could not find or access 'missing.yml' on the Ansible Controller: Unable to retrieve file contents.", in216: "Could not find or access 'missing.yml' on the Ansible Controller."},
		"interpreter":       {reason: "The configured Python may be missing on a host.", want: "The module interpreter '/nonexistent/python3' was not found.", in216: "/bin/sh: 1: /nonexistent/python3: not found"},
		"library":           {reason: "A module may lack a library.", want: "Failed to import the required Python library (distlib) on vm's Python /venv/bin/python. Please read ", in219: "Failed to import the required Python library (distlib) on vm's Python /venv/bin/python3.11. Please r"},
		"lookup":            {reason: "A lookup may fail.", want: "Error while resolving value for 'msg': The lookup plugin 'ansible.builtin.file' failed: Unable to ac", in216: "The 'file' lookup had an issue accessing the file '/nonexistent'. file not found, use -vvvvv to see "},
		"loop":              {reason: "The message names the failed item of a loop, and its cause.", want: "item b: non-zero return code: disk full on b"},
		"loop-assertion":    {reason: "A failed assertion in a loop has its item, too.", want: "item b: Assertion failed: item == 'a'"},
		"loop-module":       {reason: "The message of a module in a loop is without its cause since 2.19.", want: "item x: Error, could not touch target: [Errno 2] No such file or directory: b'/nonexistent/x'"},
		"loop-no-log":       {reason: "A result that no_log hides stays hidden.", want: "the output has been hidden due to the fact that 'no_log: true' was specified for this result"},
		"loop-traceback":    {reason: "A module may crash for an item.", want: "item a: the reason", in216: "item a: RuntimeError: the reason"},
		"message":           {reason: "The message of a task is the cause.", want: "the message"},
		"message-lines":     {reason: "The first line of the message of a task stays first.", want: "first"},
		"module":            {reason: "The message of a module is without its cause since 2.19.", want: "Error, could not touch target: [Errno 2] No such file or directory: b'/nonexistent/x'"},
		"no-log":            {reason: "A result that no_log hides stays hidden without a loop, too.", want: "the output has been hidden due to the fact that 'no_log: true' was specified for this result"},
		"noise":             {reason: "A module may write text instead of JSON.", want: "Module result deserialization failed: No start of json char found: the reason", in216: "the reason"},
		"object":            {reason: "A message may be an object.", want: `{"code":1,"why":["because"]}`},
		"package":           {reason: "The result may have only a message.", want: "Could not detect a supported package manager from the following list: ['apk'], or the required Pytho"},
		"raw":               {reason: "Without a module, the result has only standard output.", want: "non-zero return code: the reason"},
		"rescue":            {reason: "A failure in a rescue is the last failure.", want: "it was: No space left on device"},
		"reset":             {reason: "The last line of ssh about an error is the cause.", want: "Failed to connect to the host via ssh: kex_exchange_identification: read: Connection reset by peer"},
		"role":              {reason: "A role may be missing. In 2.16, this is not the result of a task.", want: "the role 'acme.missing.role' was not found; unless it is misspelt, its role or collection is to be i", in216: none},
		"script":            {reason: "A script may be missing.", want: "Could not find or access 'missing.sh'"},
		"setup":             {reason: "A module may refuse its arguments.", want: "Bad subset 'nonsense' given to Ansible. gather_subset options allowed: all, all_ipv4_addresses, all_"},
		"silent":            {reason: "A command without output has an exit status.", want: "non-zero return code: exit status 1"},
		"slow-ssh":          {reason: "A host may not answer.", want: "Failed to connect to the host via ssh: ssh: connect to host 192.0.2.7 port 22: Connection timed out"},
		"template":          {reason: "A template may be missing.", want: "Could not find or access 'missing.j2'"},
		"template-error":    {reason: "A template may have an error.", want: "'nothing' is undefined", in216: "AnsibleUndefinedVariable: 'nothing' is undefined. 'nothing' is undefined"},
		"timeout":           {reason: "A task may take too long.", want: "Timed out after 1 second(s).", in216: "The ansible.builtin.command action failed to execute in the expected time frame (1) and was terminat"},
		"traceback":         {reason: "A module may crash.", want: "the reason", in216: "RuntimeError: the reason"},
		"unarchive":         {reason: "A file may not be an archive. The directory into which Ansible has copied it has a random name.", want: `Failed to find handler for "source". Make sure the required command to extract the file is installed`},
		"undefined":         {reason: "A variable may be undefined.", want: "Error while resolving value for 'msg': 'nothing' is undefined", in216: "The task includes an option with an undefined variable. The error was: 'nothing' is undefined. 'noth"},
		"until":             {reason: "The message has the last of several attempts.", want: "non-zero return code: not ready yet"},
		"uri":               {reason: "The message has the error of the connection.", want: "Status code was -1 and not [200]: Request failed: <urlopen error [Errno 111] Connection refused>"},
		"uri-500":           {reason: "The message has the error of the server.", want: "Status code was 500 and not [200]: HTTP Error 500: the database is down"},
		"vault":             {reason: "The password of an encrypted value may be missing.", want: "Error while resolving value for 'msg': Error rendering template: Attempt to use undecryptable variab", in216: "Attempting to decrypt but no vault secrets found; the password is in a credential of the configurati"},
		"wait":              {reason: "The message has the address that did not answer in time.", want: "Timeout when waiting for 127.0.0.1:9"},
		"when":              {reason: "A condition may fail.", want: "Error while evaluating conditional: 'nothing' is undefined", in216: "The conditional check 'inventory_hostname != 'fine' and nothing.there' failed. The error was: error "},
	}

	for _, version := range []string{"2.16", "2.19", "2.21"} {
		t.Run(version, func(t *testing.T) {
			// A summary has only the first few failures, so that each host has a summary of its own.
			streams, got := map[string]string{}, map[string]string{}

			for line := range strings.Lines(golden(t, "causes/"+version)) {
				var e struct {
					Data struct {
						Host string `json:"host"`
					} `json:"event_data"`
				}
				needs.OK(t, json.Unmarshal([]byte(line), &e))

				streams[e.Data.Host] += line
			}

			if version == "2.16" {
				got["role"] = none
			}

			for host, stream := range streams {
				all := record(t, stream, Options{Hidden: []string{playDir + "/project/", playDir + "/"}}).Summary().Failures
				line, _, _ := strings.Cut(all[len(all)-1].Message, "\n")
				got[host] = line[:min(len(line), shown)]
			}

			for host, tc := range cases {
				want := tc.want
				if older := map[string]string{"2.19": tc.in219, "2.16": tc.in216}[version]; older != "" {
					want = older
				}

				if diff := cmp.Diff(want, got[host]); diff != "" {
					t.Errorf("%s: %s\n-want, +got:\n%s", host, tc.reason, diff)
				}

				delete(got, host)
			}

			if diff := cmp.Diff(map[string]string{}, got); diff != "" {
				t.Errorf("The table should have each failure.\n%s", diff)
			}
		})
	}
}

// TestEnds reads the ends of plays that fail before a task, or that skip tasks. It wants the messages of
// failures of tasks, or without failures the text.
func TestEnds(t *testing.T) {
	for name, tc := range map[string]struct{ reason, want string }{
		"badinventory": {"An inventory may be invalid. Warnings have the cause.", "Completely failed to parse inventory source nonsense.yml"},
		"badvars": {
			"A file of variables may be invalid.",
			"YAML parsing failed: While parsing a flow node did not find expected node content.\nOrigin: nonsense.yml:2:1",
		},
		"endhost":    {"A host that ends early has not failed.", "b: the reason"},
		"fatal":      {"With any_errors_fatal, one failure ends the play for all hosts. The other hosts have not failed.", "a: the reason"},
		"percentage": {"With max_fail_percentage, failures end the play for all hosts.", "a: the reason"},
		"norole": {
			"A role may be missing.",
			"the role 'acme.postgres.server' was not found; unless it is misspelt, its role or collection is to be in " +
				"spec.requirements of the configuration, or in the requirements.yml of a project\nOrigin: playbook.yml:3:5",
		},
		"syntax": {
			"The message does not have the excerpt of the playbook.",
			"YAML parsing failed: Colons in unquoted values must be followed by a non-space character.\n" +
				"Origin: playbook.yml:3:15",
		},
		"vaultfile": {
			"A password may be missing.", "Attempting to decrypt but no vault secrets found; the password is in a credential of the configuration, which " +
				"ANSIBLE_VAULT_PASSWORD_FILE in its spec.vars, or vault_password_file in an ansible.cfg, names\nOrigin: secret.yml",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := record(t, golden(t, name), Options{Hidden: []string{playDir + "/project/"}})

			got := r.Text()
			if all := r.Summary().Failures; len(all) > 0 {
				got = ""
				for _, f := range all {
					got += f.Host + ": " + f.Message
				}
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
