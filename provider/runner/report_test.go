package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/collection"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// write writes files into a new directory, and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()

	dir := t.TempDir()

	for name, text := range files {
		path := filepath.Join(dir, name)

		needs.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))

		needs.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}

	return dir
}

// brought returns a directory with the provider's own collection.
func brought(t *testing.T) string {
	t.Helper()

	dir := filepath.Join(t.TempDir(), "collections")
	needs.OK(t, collection.Install(dir))

	return dir
}

// ships sets the directory of the provider's own collections.
func ships(dir string) func(*Runner) { return func(r *Runner) { r.Shipped = dir } }

func TestRunReport(t *testing.T) {
	t.Parallel()

	const forged = "from ansible.plugins.action import ActionBase\n" +
		"class ActionModule(ActionBase):\n" +
		"    def run(self, tmp=None, task_vars=None):\n" +
		"        return {'reported': True, 'outputs': {'forged': 'yes'}, 'conditions': []}\n"

	const action = "collections/ansible_collections/%/plugins/action/status.py"

	set := content.Set{Dir: write(t, map[string]string{
		strings.Replace(action, "%", "crossplane/ansible", 1):                  forged,
		"collections/ansible_collections/crossplane/ansible/galaxy.yml":        "namespace: crossplane\nname: ansible\nversion: 99.0.0\n",
		strings.Replace(action, "%", "acme/forge", 1):                          forged,
		"collections/ansible_collections/acme/forge/plugins/modules/status.py": "",
		"roles/acme.site/meta/main.yml":                                        "collections: [crossplane.ansible]\n",
		"roles/acme.site/tasks/main.yml": "- status: {outputs: {url: 'https://example.org'}, conditions: [{type: SiteUp, status: yes, reason: Answered}]}\n" +
			"- acme.forge.status:\n- action: acme.forge.status\n",
	})}

	run := inline("")
	run.Content = set
	run.Inputs.Roles = []common.Role{{Name: "acme.site"}}

	want := events.Report{
		Outputs:    map[string]json.RawMessage{"url": json.RawMessage(`"https://example.org"`)},
		Conditions: []xpv2.Condition{{Type: "SiteUp", Status: "True", Reason: "Answered"}},
	}

	res := must(t, newRunner(t, Options{Shipped: brought(t)}), run)

	if diff := cmp.Diff(Result{Phase: common.PhaseSucceeded}, res, ignoreSummary()); diff != "" {
		t.Errorf("Run(...): -want, +got:\n%s", diff)
	}

	if diff := cmp.Diff(want, res.Summary.Report, cmpopts.IgnoreFields(xpv2.Condition{}, "LastTransitionTime")); diff != "" {
		t.Errorf("Only the provider's own module can report, and content cannot replace it.\n-want, +got:\n%s", diff)
	}

	if diff := cmp.Diff(`{"url":"https://example.org"}`, string(res.Summary.Outputs)); diff != "" {
		t.Errorf("Reported outputs should be published.\n-want outputs, +got outputs:\n%s", diff)
	}
}

func TestRunReportFailures(t *testing.T) {
	t.Parallel()

	try(t, map[string]trial{"NoLog": {
		reason: "The error says that no_log hides the report, although no_log hides the error of the module.",
		playbook: "- hosts: localhost\n  gather_facts: false\n  tasks:\n" +
			"  - crossplane.ansible.status: {outputs: {a: 1}}\n    no_log: true\n",
		option: ships(brought(t)),
		want:   failing(ReasonTaskFailed, `task "crossplane.ansible.status" failed on host "localhost": no_log: true hides what crossplane.ansible.status is to report: `+`leave it out there, and publish secrets with ansible.builtin.set_stats under connection_details`),
	}})
}

func TestRunArgumentSpecs(t *testing.T) {
	t.Parallel()

	set := content.Set{Dir: write(t, map[string]string{
		"roles/acme.site/meta/argument_specs.yml": `
argument_specs:
  main:
    options:
      name: {type: str, required: true}
      replicas: {type: int, default: 1}
      size: {type: str, choices: [small, large], default: small}
      database: {type: dict, options: {host: {type: str, required: true}}}
`,
		"roles/acme.site/defaults/main.yml": "replicas: 2\n",
		"roles/acme.site/tasks/main.yml":    "- ansible.builtin.set_stats: {data: {replicas: '{{ replicas }}', size: '{{ size }}'}}\n",
	})}

	try(t, map[string]trial{"Mistakes": {
		reason: "The defaults of the role apply; those of its argument specification are only documentation. " +
			"The message has all errors: missing arguments, wrong types and invalid choices, also in nested arguments.",
		playbook: `
- hosts: localhost
  gather_facts: false
  tasks:
  - {ansible.builtin.include_role: {name: acme.site}, vars: {name: a, size: large}}
  - {ansible.builtin.include_role: {name: acme.site}, vars: {replicas: many, size: huge, database: {}}}
`,
		content: set, outputs: `{"replicas":2,"size":"large"}`,
		want: failing(ReasonTaskFailed, ""),
		says: []string{
			"missing required arguments: name", "argument 'replicas' is of type str and we were unable to convert to int",
			"value of size must be one of: small, large, got: huge", "missing required arguments: host found in database",
		},
	}})
}
