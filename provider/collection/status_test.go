package collection

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// ansible runs a tool of Ansible with the collection.
func ansible(t *testing.T, name string, args ...string) string {
	t.Helper()

	dir := t.TempDir()
	cmd := exec.Command(needs.Program(t, name), args...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8", "ANSIBLE_NOCOLOR=1", "ANSIBLE_LOCALHOST_WARNING=False",
		"ANSIBLE_COLLECTIONS_PATH=" + installed(t),
	}

	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}

	return string(out)
}

// A result is the registered result of the module.
type result struct {
	Failed     bool            `json:"failed,omitempty"`
	Message    string          `json:"msg,omitempty"`
	Reported   bool            `json:"reported,omitempty"`
	Outputs    json.RawMessage `json:"outputs,omitempty"`
	Conditions json.RawMessage `json:"conditions,omitempty"`
}

// play runs tasks, each given as the arguments and keywords of a task with the module, on a host that has neither a
// connection nor Python.
func play(t *testing.T, tasks []string) []result {
	t.Helper()

	var text, names strings.Builder

	text.WriteString(`
- hosts: nowhere
  gather_facts: false
  vars:
    ansible_connection: ssh
    ansible_host: 192.0.2.1
    ansible_python_interpreter: /nowhere/python
  tasks:
`)

	for i, task := range tasks {
		fmt.Fprintf(&text, "  - crossplane.ansible.status: %s\n    ignore_errors: true\n    register: r%d\n", task, i)
		fmt.Fprintf(&names, "r%d,", i)
	}

	dir := t.TempDir()
	results := filepath.Join(dir, "results.json")

	fmt.Fprintf(&text, `
- hosts: localhost
  gather_facts: false
  tasks:
  - ansible.builtin.copy:
      content: "{{ results }}"
      dest: %q
    vars:
      results: "{%% set _ = hostvars.nowhere %%}{{ [%s] | to_json }}"
`, results, strings.ReplaceAll(names.String(), "r", "_.r"))

	playbook := filepath.Join(dir, "playbook.yml")
	needs.OK(t, os.WriteFile(playbook, []byte(text.String()), 0o600))

	ansible(t, "ansible-playbook", "--inventory=nowhere,", playbook)

	data, err := os.ReadFile(results)
	needs.OK(t, err)

	var got []result
	needs.OK(t, json.Unmarshal(data, &got))

	return got
}

func TestStatus(t *testing.T) {
	failed := func(message string) result { return result{Failed: true, Message: message} }
	reported := func(outputs, conditions string) result {
		return result{Reported: true, Outputs: json.RawMessage(outputs), Conditions: json.RawMessage(conditions)}
	}
	typ := "must be one word in CamelCase such as DatabaseReachable, or one qualified by a DNS name such as " +
		"example.org/DatabaseReachable, at most 316 characters long"
	reason := "must be one word in CamelCase such as ConnectionRefused, at most 1024 characters long; explain it in message"

	cases := map[string]struct {
		reason string
		task   string
		want   result
	}{
		"Outputs": {
			reason: "Outputs may have any value of JSON.",
			task:   `{outputs: {s: text, i: 9223372036854775807, f: 1.5, "n": null, b: true, l: [1, [é]], m: {"a b": {c: d}}}}`,
			want:   reported(`{"s": "text", "i": 9223372036854775807, "f": 1.5, "n": null, "b": true, "l": [1, ["\u00e9"]], "m": {"a b": {"c": "d"}}}`, `[]`),
		},
		"Templated": {
			reason: "The types of templates' values are kept.",
			task:   `{outputs: {l: "{{ [1, 'a'] }}", i: "{{ 40 + 2 }}"}, conditions: "{{ [{'type': 'A', 'status': 1 == 1, 'reason': 'B'}] }}"}`,
			want:   reported(`{"l": [1, "a"], "i": 42}`, `[{"type": "A", "status": "True", "reason": "B", "message": ""}]`),
		},
		"Conditions": {
			reason: "Booleans of YAML are accepted as statuses.",
			task: `{conditions: [{type: A, status: yes, reason: B, message: m}, {type: a.example.org/A, status: false, reason: B_1}, ` +
				`{type: B, status: Unknown, reason: C}, {type: C, status: "False", reason: D}]}`,
			want: reported(`{}`, `[{"type": "A", "status": "True", "reason": "B", "message": "m"}, `+
				`{"type": "a.example.org/A", "status": "False", "reason": "B_1", "message": ""}, `+
				`{"type": "B", "status": "Unknown", "reason": "C", "message": ""}, {"type": "C", "status": "False", "reason": "D", "message": ""}]`),
		},
		"TemplatedName": {
			reason: "Names may be templates, too, as for set_stats.",
			task:   "{outputs: {'{{ item }}_url': a}, conditions: []}\n    vars: {item: site}",
			want:   reported(`{"site_url": "a"}`, `[]`),
		},
		"CheckMode": {
			reason: "In check mode the arguments are checked, and nothing is reported.",
			task:   "{outputs: {a: 1}}\n    check_mode: true",
			want:   result{Outputs: json.RawMessage(`{"a": 1}`), Conditions: json.RawMessage(`[]`)},
		},
		"Empty": {reason: "Outputs and conditions may be empty.", task: `{outputs: {}, conditions: []}`, want: reported(`{}`, `[]`)},
		"Longest": {
			reason: "Texts of the largest length are accepted.",
			task: `{outputs: {a: "{{ 'x' * (65536 - 8) }}"}, conditions: [{type: "{{ 'A' * 316 }}", status: yes, reason: "{{ 'B' * 1024 }}", ` +
				`message: "{{ 'é' * 2048 }}"}]}`,
			want: reported(`{"a": "`+strings.Repeat("x", 65536-8)+`"}`, `[{"type": "`+strings.Repeat("A", 316)+`", "status": "True", "reason": "`+
				strings.Repeat("B", 1024)+`", "message": "`+strings.Repeat(`\u00e9`, 2048)+`"}]`),
		},

		"Nothing":       {reason: "A task without outputs and conditions is an error.", task: `{}`, want: failed("one of the following is required: outputs, conditions")},
		"UnknownOption": {reason: "The error names a misspelt option.", task: `{output: {a: 1}}`, want: failed("Invalid options for crossplane.ansible.status: output")},
		"Name":          {reason: "The name of an output must be a valid name of a variable.", task: `{outputs: {a-b: 1}}`, want: failed("outputs: 'a-b' is no name of an output: it must start with a letter or an underscore, and have only letters, digits and underscores")},
		"Details":       {reason: "Connection details must not be an output, which is public.", task: `{outputs: {connection_details: {password: x}}}`, want: failed("outputs: connection_details would be public here: publish it with ansible.builtin.set_stats, which puts it into the connection secret")},
		"Date":          {reason: "A date, which JSON cannot express, is an error.", task: `{outputs: {a: {b: [2020-01-01]}}}`, want: failed("outputs.a.b[0]: JSON has no date: write it as a string, in quotes")},
		"NotANumber":    {reason: "A number that is not finite is an error.", task: `{outputs: {a: .nan}}`, want: failed("outputs.a: JSON has no number nan: write it as a string")},
		"LargeInteger":  {reason: "An integer above 64 bits, which the API server would round, is an error.", task: `{outputs: {a: 9223372036854775808}}`, want: failed("outputs.a: Kubernetes does not keep the number 9223372036854775808 exactly: write it as a string")},
		"Key":           {reason: "A key that is not a string is an error.", task: `{outputs: {a: {1: b}}}`, want: failed("outputs.a: the key 1 must be a string: write it in quotes")},
		"TooLarge":      {reason: "The size of outputs is limited.", task: `{outputs: {a: "{{ 'x' * 65536 }}"}}`, want: failed("outputs: 65544 bytes of JSON are too many, at most 65536 can be kept")},
		"TooDeep":       {reason: "The depth of outputs is limited.", task: `{outputs: {a: ` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}}`, want: failed("outputs.a" + strings.Repeat("[0]", 65) + ": is nested too deeply, at most 64 levels can be kept")},
		"MissingReason": {reason: "The error names a missing field.", task: `{conditions: [{type: A, status: yes, reason: B}, {type: C, status: yes}]}`, want: failed("missing required arguments: reason found in conditions")},
		"UnknownField":  {reason: "The error names an unknown field.", task: `{conditions: [{type: A, status: yes, reason: B, msg: C}]}`, want: failed("Unsupported parameters for (ansible_collections.crossplane.ansible.plugins.action.status) module: conditions.msg. Supported parameters include: message, reason, status, type.")},
		"Status":        {reason: "A status must be one of three values.", task: `{conditions: [{type: A, status: ok, reason: B}]}`, want: failed("value of status must be one of: True, False, Unknown, got: ok found in conditions")},
		"Type":          {reason: "A type must be one word.", task: `{conditions: [{type: "Database reachable", status: yes, reason: B}]}`, want: failed("conditions[0]: type 'Database reachable' " + typ)},
		"TypeLine":      {reason: "A type must not have a line end.", task: `{conditions: [{type: "A\n", status: yes, reason: B}]}`, want: failed(`conditions[0]: type 'A\n' ` + typ)},
		"TypeLong":      {reason: "The length of a type is limited.", task: `{conditions: [{type: "{{ 'A' * 317 }}", status: yes, reason: B}]}`, want: failed("conditions[0]: type '" + strings.Repeat("A", 316) + "' " + typ)},
		"Reserved":      {reason: "A type of the provider is refused.", task: `{conditions: [{type: Ready, status: yes, reason: B}]}`, want: failed("conditions[0]: type 'Ready' is not the content's to set: choose another, such as SiteReady")},
		"Twice":         {reason: "A duplicate type is an error.", task: `{conditions: [{type: A, status: yes, reason: B}, {type: A, status: no, reason: B}]}`, want: failed("conditions[1]: type 'A' is there twice")},
		"Reason":        {reason: "A reason must be one word.", task: `{conditions: [{type: A, status: yes, reason: It works.}]}`, want: failed("conditions[0]: reason 'It works.' " + reason)},
		"Message":       {reason: "The length of a message is limited.", task: `{conditions: [{type: A, status: yes, reason: B, message: "{{ 'x' * 4097 }}"}]}`, want: failed("conditions[0]: message has 4097 bytes, which are too many: at most 4096 can be kept")},
		"TooMany":       {reason: "The number of conditions is limited.", task: `{conditions: [` + strings.Repeat(`{type: A, status: yes, reason: B},`, 21) + `]}`, want: failed("conditions: 21 are too many, at most 20 can be kept")},
		"NoLog":         {reason: "A task with no_log is an error, since it hides the report.", task: "{outputs: {a: 1}}\n    no_log: true", want: failed("no_log hides what this task is to report: leave it out here, and publish secrets with ansible.builtin.set_stats under connection_details")},
		"Async":         {reason: "A task with async is an error.", task: "{outputs: {a: 1}}\n    async: 10", want: failed("This action (crossplane.ansible.status) does not support async.")},
		"Undefined":     {reason: "Ansible's error names an undefined variable.", task: `{outputs: {a: "{{ nothing }}"}}`, want: failed("Task failed: Finalization of task args for 'crossplane.ansible.status' failed: Error while resolving value for 'outputs': 'nothing' is undefined")},
	}

	names := slices.Sorted(maps.Keys(cases))

	var tasks []string
	for _, name := range names {
		tasks = append(tasks, cases[name].task)
	}

	// One play has all tasks: the start of Ansible takes longer than all of them.
	results := play(t, tasks)

	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			tc := cases[name]
			if diff := cmp.Diff(tc.want, results[i], cmp.Transformer("json", decode)); diff != "" {
				t.Errorf("%s\n%s\n-want, +got:\n%s", tc.reason, tc.task, diff)
			}
		})
	}
}

// decode decodes JSON for comparison.
func decode(raw json.RawMessage) any {
	var v any

	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	_ = d.Decode(&v)

	return v
}

func TestReserved(t *testing.T) {
	const file = "ansible_collections/crossplane/ansible/plugins/action/status.py"

	source, err := embedded.ReadFile(file)
	list := regexp.MustCompile(`(?s)RESERVED = \((.*?)\)`).FindSubmatch(source)

	if err != nil || list == nil {
		t.Fatalf("%s has no list of reserved types: %v", file, err)
	}

	var got []xpv2.ConditionType
	for _, m := range regexp.MustCompile(`"(.*?)"`).FindAllSubmatch(list[1], -1) {
		got = append(got, xpv2.ConditionType(m[1]))
	}

	if diff := cmp.Diff(common.OwnConditions(), got); diff != "" {
		t.Errorf("The module should refuse the types that the provider refuses.\n-want, +got:\n%s", diff)
	}
}

func TestDocumentation(t *testing.T) {
	const name = "crossplane.ansible.status"

	var docs map[string]struct {
		Doc struct {
			Options map[string]any `json:"options"`
		} `json:"doc"`
		Examples string         `json:"examples"`
		Return   map[string]any `json:"return"`
	}

	needs.OK(t, json.Unmarshal([]byte(ansible(t, "ansible-doc", "--json", name)), &docs))

	got := docs[name]
	if len(got.Doc.Options) != 2 || len(got.Return) != 3 || !strings.Contains(got.Examples, name) {
		t.Errorf("ansible-doc should explain the module, got %+v", got)
	}
}
