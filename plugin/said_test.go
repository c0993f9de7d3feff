package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-ansible/crossplane-ansible/plugin/text"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// objectsOf returns the objects in YAML documents.
func objectsOf(t *testing.T, text string) state {
	t.Helper()

	var all state

	for document := range strings.SplitSeq(text, "\n---\n") {
		o := &unstructured.Unstructured{}
		needs.OK(t, yaml.Unmarshal([]byte(document), &o.Object))

		all = append(all, o)
	}

	return all
}

// says returns the output of a command for objects, at the start of the year 2000.
func says(t *testing.T, s state, args ...string) (text string) {
	t.Helper()

	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer

		c := generator{}.plugin(s, &out).root()
		c.SetArgs(args)
		needs.OK(t, c.ExecuteContext(t.Context()))

		text = out.String()
	})

	return text
}

// awaiting is an XR that needs an AnsibleRun which is being deleted.
const awaiting = `
apiVersion: example.org/v1
kind: Site
metadata: {namespace: ns, name: shop, uid: shop}
spec: {crossplane: {resourceRefs: [{apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, name: shop-db}]}}
status:
  conditions:
  - type: AnsibleRunsReady
    status: "False"
    reason: DependencyNotReady
    message: "db: waiting for shop-db, which is being deleted: absent run failed: task \"Drop\" failed on host \"db1\": denied; repair the cause"
`

// undeletable is that AnsibleRun, with a failed deletion, and the XR.
const undeletable = awaiting + `---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata:
  namespace: ns
  name: shop-db
  uid: db
  deletionTimestamp: "1999-12-31T23:00:00Z"
  finalizers: [crossplane.io/finalizer]
  annotations: {crossplane.io/composition-resource-name: db}
  ownerReferences: [{apiVersion: example.org/v1, kind: Site, name: shop, uid: shop, controller: true}]
status:
  atProvider:
    lastRun: {id: a, mode: Apply, state: absent, phase: Failed, reason: TaskFailed, completionTime: "1999-12-31T23:58:00Z", message: "task \"Drop\" failed on host \"db1\": denied"}
    lastApply: {id: a, result: Failed, attempts: 2}
  conditions:
  - {type: Deletable, status: "False", reason: RunFailed, message: "absent run failed: task \"Drop\" failed on host \"db1\": denied; repair the cause"}
`

// silent is an AnsibleRun with a failed run without a message.
const silent = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: ns, name: motd, uid: motd}
status:
  atProvider:
    lastRun: {id: a, mode: Apply, phase: Failed, reason: TaskFailed, completionTime: "1999-12-31T23:58:00Z"}
    lastApply: {id: a, result: Failed, attempts: 1}
  conditions:
  - {type: Synced, status: "False", reason: RunFailed}
`

// TestSaid tests the output of commands for objects.
func TestSaid(t *testing.T) {
	cases := map[string]struct{ reason, command, objects, want string }{
		"Undeletable": {
			reason: "The failure of a deletion is shown once, also if an XR waits for it.", command: "why", objects: undeletable,
			want: `Site ns/shop: Failed, 0 of 1 ready
Run db (ns/shop-db): Failed 2m ago
  task "Drop" failed on host "db1": denied
  It is being deleted: repair the cause, or give the deletion run up with spec.forProvider.onDelete: {policy: Keep}.
  Correct the content, its variables or the host.
  To try it now: kubectl ansible retry ansiblerun.ansible.m.crossplane.io/shop-db -n ns
`,
		},
		"Predecessor": {
			reason: "The line about the deletion is not a name of a dependency.", command: "status --output=yaml", objects: awaiting,
			want: `apiVersion: example.org/v1
kind: Site
name: shop
namespace: ns
reason: DependencyNotReady
runs:
- dependsOn:
  - shop-db
  message: 'waiting for shop-db, which is being deleted: absent run failed: task "Drop"
    failed on host "db1": denied; repair the cause'
  run: db
  state: Waiting
state: Waiting
`,
		},
		"SilentWhy": {
			reason: "A failed run without a message is shown as such.", command: "why", objects: silent,
			want: `AnsibleRun ns/motd: Failed 2m ago
  TaskFailed: it does not say why
  Correct the content, its variables or the host.
  To try it now: kubectl ansible retry ansiblerun.ansible.m.crossplane.io/motd -n ns
`,
		},
		"SilentLogs": {
			reason: "The output of a failed run without a message was not kept.", command: "logs", objects: silent,
			want: `Apply run failed. Its output was not kept.
TaskFailed: it does not say why
To keep the output of runs from now on: kubectl annotate ansiblerun.ansible.m.crossplane.io/motd -n ns ansible.crossplane.io/keepOutput=true
`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, says(t, objectsOf(t, tc.objects), append(strings.Fields(tc.command), "x")...)); diff != "" {
				t.Errorf("\n%s\n%s: -want, +got:\n%s", tc.reason, tc.command, diff)
			}
		})
	}
}

// TestAllNamespaces calls commands without an object.
func TestAllNamespaces(t *testing.T) {
	const ready = `{"apiVersion": "ansible.m.crossplane.io/v1alpha1", "kind": "AnsibleRun", "metadata": {"namespace": "a", "name": "fine"},
		"status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Synced", "status": "True"}]}}`

	failed, err := yaml.YAMLToJSON([]byte(silent))
	needs.OK(t, err)

	for name, tc := range map[string]struct{ reason, items, want string }{
		"Failing": {
			reason: "AnsibleRuns that do not go on by themselves are listed.", items: ready + "," + string(failed),
			want: "AnsibleRun ns/motd: Failed",
		},
		"Ready": {reason: "All AnsibleRuns may go on by themselves.", items: ready, want: "All AnsibleRuns go on by themselves.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			answers := map[string]string{
				"/api":                                   `{"kind": "APIVersions", "versions": []}`,
				"/apis":                                  `{"kind": "APIGroupList", "groups": [{"name": "ansible.m.crossplane.io", "versions": [{"groupVersion": "ansible.m.crossplane.io/v1alpha1", "version": "v1alpha1"}], "preferredVersion": {"groupVersion": "ansible.m.crossplane.io/v1alpha1", "version": "v1alpha1"}}]}`,
				"/apis/ansible.m.crossplane.io/v1alpha1": `{"kind": "APIResourceList", "groupVersion": "ansible.m.crossplane.io/v1alpha1", "resources": [{"name": "ansibleruns", "namespaced": true, "kind": "AnsibleRun", "verbs": ["list"]}]}`,
				"/apis/ansible.m.crossplane.io/v1alpha1/ansibleruns": `{"apiVersion": "ansible.m.crossplane.io/v1alpha1", "kind": "AnsibleRunList", "items": [` + tc.items + `]}`,
			}

			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(answers[r.URL.Path]))
			}))
			defer s.Close()

			var out, errs bytes.Buffer

			status := run([]string{"why", "-A", "--kubeconfig=/dev/null", "--cache-dir=" + t.TempDir(), "--server=" + s.URL}, &out, &errs)
			if status != 0 || !strings.HasPrefix(out.String(), tc.want) {
				t.Errorf("\n%s\nrun(...): want %q, got %d, %q, %q", tc.reason, tc.want, status, out.String(), errs.String())
			}
		})
	}
}

// TestDocs compares the examples in docs/kubectl.md with the output of commands.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/kubectl.md")
	needs.OK(t, err)

	shop, err := os.ReadFile("testdata/shop.yaml")
	needs.OK(t, err)

	many, err := os.ReadFile("testdata/many.yaml")
	needs.OK(t, err)

	all := objectsOf(t, string(many))
	running, ready := all[len(all)-2], all[len(all)-1]
	all = append(slices.Repeat(state{running}, 2), slices.Concat(all, slices.Repeat(state{ready}, 405))...)

	for call, says := range map[string]func(args ...string) string{
		"status site shop":  func(args ...string) string { return says(t, objectsOf(t, string(shop)), args...) },
		"why site shop":     func(args ...string) string { return says(t, objectsOf(t, string(shop)), args...) },
		"history site shop": func(args ...string) string { return says(t, objectsOf(t, string(shop)), args...) },
		"status -A": func(...string) string {
			var nodes []*tree.Node
			for _, o := range all {
				nodes = append(nodes, tree.Of(o))
			}

			return text.Overview(text.Style{}, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), nodes...)
		},
	} {
		_, want, _ := strings.Cut(string(page), "```console\n$ kubectl ansible "+call+"\n")
		want, _, _ = strings.Cut(want, "```\n")

		if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(says(strings.Fields(call)...), "\n")); diff != "" {
			t.Errorf("%s: -docs/kubectl.md, +got:\n%s", call, diff)
		}
	}
}
