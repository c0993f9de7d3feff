package pods

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// imported are the archives that the node has.
var imported sync.Map

// environment is the execution of Pods with an image of test/environments.
func environment(t *testing.T, name string) string {
	t.Helper()
	archive := filepath.Join("../../.cache/images", "environment-"+name+"-"+runtime.GOARCH+".tar")
	once, _ := imported.LoadOrStore(archive, sync.OnceValues(func() (string, error) {
		all, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(archive) })
		if err != nil {
			return "", err
		}
		return all[0].RepoTags[0], cp.Stack.Import(t.Context(), archive)
	}))
	image, err := once.(func() (string, error))()
	needs.OK(t, err)
	return "place: Pod, imagePullPolicy: Never, image: '" + image + "', " + small
}

// verdicts are two runs: one succeeds in spite of what fails, and one fails in several ways.
var verdicts = config + inputs + theRun + `
    varFiles: [{source: SecretKey, secretKeyRef: {name: inputs, key: vars.yml}}]
    playbookInline: |
      - hosts: localhost
        tasks:
        - name: Ignore
          ansible.builtin.command: "false"
          ignore_errors: true
        - block: [{name: Fail, ansible.builtin.fail: {msg: no}}]
          rescue: [{name: Rescue, ansible.builtin.debug: }]
        - name: Loop
          ansible.builtin.command: "echo {{ item }}"
          loop: [one, two]
        - name: Skip
          ansible.builtin.debug:
          when: false
        - name: Hide
          ansible.builtin.command: "echo {{ password }}"
          no_log: true
        - name: Show a secret
          ansible.builtin.debug: {msg: "The password is {{ password }}."}
        - ansible.builtin.set_stats: {data: {text: "{{ 'a' * 3 }}", number: 3, list: [1, two], object: {a: true}}}
        - crossplane.ansible.status: {outputs: {reported: 1}, conditions: [{type: PageUp, status: true, reason: Written}]}
---` + runWith("name: failing") + `
    varFiles: [{source: SecretKey, secretKeyRef: {name: inputs, key: vars.yml}}]
    inventoryInline: |
      well ansible_connection=local
      silent ansible_connection=local
      looping ansible_connection=local
      dark ansible_connection=local ansible_remote_tmp=/proc/nowhere
    playbookInline: |
      - hosts: all
        gather_facts: false
        tasks:
        - name: Reach
          ansible.builtin.ping:
        - name: Fail silently
          ansible.builtin.command: "cat /{{ password }}"
          no_log: true
          when: inventory_hostname == 'silent'
        - name: Fail an item
          ansible.builtin.fail: {msg: "{{ item }} of {{ password }}"}
          loop: [one, two]
          when: inventory_hostname == 'looping'
`

// ranWith expects versions of the last run.
func ranWith(core, runner string) Expectation {
	versions := "ansible-core " + core + ", ansible-runner " + runner + ", Python "

	return That("the last run with "+versions, func(u *unstructured.Unstructured) bool {
		return contains(Value(u, "status.atProvider.lastRun.versions"), versions)
	})
}

// TestEnvironments expects equal reports of equal plays from all versions of Ansible.
func TestEnvironments(t *testing.T) {
	t.Parallel()

	// told is the report of both runs, without values that differ between runs or versions of Ansible.
	told := func(t *testing.T, execution, core, runner string) map[string]any {
		t.Helper()
		s := newScene(t)
		s.Execution = "{" + execution + "}"
		s.apply(t, verdicts)
		failing := s.run()
		failing.Name = "failing"
		u := s.ready(t, Condition("PageUp", "True"), ranWith(core, runner))
		f := cp.WaitFor(t, failing, last("phase", "Failed"), ranWith(core, runner))

		log := cp.Kubectl(t, "logs", "--namespace="+s.Namespace, s.pod(t).Name)
		if !strings.Contains(log, "The password is ****") || strings.Contains(log, "correct-horse") {
			t.Errorf("The log should show the play without its secrets:\n%s", log)
		}
		return map[string]any{
			"hosts": Value(u, "status.atProvider.lastRun.hosts"), "outputs": Value(u, "status.atProvider.outputs"),
			"failing hosts": Value(f, "status.atProvider.lastRun.hosts"), "failing reason": Value(f, "status.atProvider.lastRun.reason"),
			"failures": failures(f),
		}
	}

	want := told(t, "place: Pod, "+small, "2.21.5", "2.4.3")
	for name, tc := range map[string]struct{ core, runner string }{
		"oldest": {"2.16.0", "2.3.0"},
		"newest": {"2.21.5", "2.4.3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if diff := cmp.Diff(want, told(t, environment(t, name), tc.core, tc.runner)); diff != "" {
				t.Errorf("-want as with the provider's image, +got:\n%s", diff)
			}
		})
	}
}

// failures of the last run with task, host, and the message about an item. Other messages differ between versions of
// Ansible.
func failures(u *unstructured.Unstructured) []string {
	var all []string
	l, _ := Value(u, "status.atProvider.lastRun.failures").([]any)
	for _, f := range l {
		m, _ := f.(map[string]any)
		task, _ := m["task"].(string)
		host, _ := m["host"].(string)
		message, _ := m["message"].(string)
		if !strings.HasPrefix(message, "item ") {
			message = ""
		}
		message, _, _ = strings.Cut(message, " (and ")
		all = append(all, task+" on "+host+": "+message)
	}
	return all
}

// TestVariablesOfImage uses content at the path in the environment variables of an image.
func TestVariablesOfImage(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.Execution = "{content: Image, " + environment(t, "oldest") + "}"
	s.apply(t, config+theRun+" {roles: [acme.greeting.greet]}")
	s.ready(t, Field("status.atProvider.outputs.greeting", "hello"))
}

// TestExecutionEnvironment uses a collection of an image of ansible-builder, with its Python packages.
func TestExecutionEnvironment(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.Execution = "{content: Image, serviceAccountName: viewer, " + environment(t, "newest") + "}"
	s.apply(t, Account("viewer", `{apiGroups: [""], resources: [configmaps], verbs: [get, list]}`)+`
apiVersion: v1
kind: ConfigMap
metadata: {namespace: [[.Namespace]], name: found}
data: {color: green}
---`+config+theRun+`
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - kubernetes.core.k8s_info: {api_version: v1, kind: ConfigMap, name: found, namespace: [[.Namespace]]}
          register: result
        - ansible.builtin.set_stats: {data: {color: "{{ result.resources[0].data.color }}"}}
`)
	s.ready(t, Field("status.atProvider.outputs.color", "green"))
}

// TestMountMissing waits for a ConfigMap that the template of the Pod mounts.
func TestMountMissing(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.useClusterConfig("podTemplate: {spec: {containers: [{name: run, volumeMounts: [{name: ca, mountPath: /etc/corp}]}], volumes: [{name: ca, configMap: {name: corp-ca}}]}}")
	s.apply(t, clusterConfig+theRun+` {playbookInline: "- {hosts: localhost, tasks: []}"}`)
	cp.WaitFor(t, s.run(), last("phase", "Queued"), lastSays("FailedMount"), lastSays(`configmap "corp-ca" not found`), Condition("Ready", "False"))
	cp.Apply(t, `
apiVersion: v1
kind: ConfigMap
metadata: {namespace: [[.Namespace]], name: corp-ca}
data: {ca.pem: none}
`, s)
	s.ready(t)
}
