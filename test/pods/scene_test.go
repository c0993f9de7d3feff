package pods

import (
	"net"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

const (
	groupVersion = "ansible.m.crossplane.io/v1alpha1"
	labelRun     = "ansible.crossplane.io/run"
	// small are resources of which a node has many.
	small = "resources: {requests: {cpu: 10m, memory: 64Mi}, limits: {memory: 512Mi}}"
)

// A scene is what the manifests of a test are templates for.
type scene struct {
	*ledger

	Namespace string
	// Execution of the configuration, and other lines of it.
	Execution, Config string
	// ConfigRef refers to the configuration of the runs.
	ConfigRef string
	// Volume is a directory of the node.
	Volume string
	// Actions that are allowed. A test of something else than deletion leaves it out.
	Actions string
	// Script of attacks, and the URLs of the API server and the kubelet.
	Script, API, Kubelet string
	// Names of runs.
	Names []string
}

// newScene in a namespace of its own, in which the provider may run Pods.
func newScene(t *testing.T) *scene {
	t.Helper()
	s := newForbiddenScene(t)
	needs.OK(t, cp.Stack.AllowPods(t.Context(), s.Namespace))
	return s
}

// newForbiddenScene is in a namespace in which the provider may not run Pods.
func newForbiddenScene(t *testing.T) *scene {
	t.Helper()
	return &scene{
		ledger: newLedger(t), Namespace: cp.Namespace(t), Execution: "{place: Pod, " + small + "}",
		ConfigRef: "{kind: ProviderConfig, name: default}", Actions: "[Observe, Create, Update]",
		API: "https://" + net.JoinHostPort(cp.Stack.Address(), "443"),
	}
}

// config of the scene.
const config = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec:
  execution: [[.Execution]]
  [[.Config]]
---`

// clusterConfig is the configuration after useClusterConfig.
const clusterConfig = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ClusterProviderConfig
metadata: {name: [[.Namespace]]}
spec: {execution: [[.Execution]]}
---`

// useClusterConfig has the runs use a ClusterProviderConfig with more settings of Pods.
func (s *scene) useClusterConfig(settings string) {
	s.ConfigRef = "{kind: ClusterProviderConfig, name: " + s.Namespace + "}"
	s.Execution = "{place: Pod, namespace: " + s.Namespace + ", " + settings + "}"
}

// runWith is an AnsibleRun with this metadata. Its parameters follow.
func runWith(metadata string) string {
	return `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[$.Namespace]], ` + metadata + `}
spec:
  managementPolicies: [[$.Actions]]
  providerConfigRef: [[$.ConfigRef]]
  forProvider:`
}

// theRun of a scene. Its parameters follow.
var theRun = runWith("name: run")

// inputs are a Secret with variables of the run.
const inputs = `
apiVersion: v1
kind: Secret
metadata: {namespace: [[.Namespace]], name: inputs}
stringData: {vars.yml: "password: correct-horse-battery"}
---`

// waiting is a configuration with a run that waits.
var waiting = config + waitingRun("run")

// waitingRun has a play that notes that it begins, waits at a gate, and notes that it ends.
func waitingRun(name string) string {
	return runWith("name: "+name+", annotations: {ansible.crossplane.io/runPolicy: RunOnChange}") + `
    vars: {ansible_lookup_url_timeout: 300, ledger: "[[$.URL]]"}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        vars: {what: "{{ ansible_provider_meta.managed_resource.state }}/{{ ansible_provider_meta.run.id }}"}
        tasks:
        - name: Begin
          ansible.builtin.debug: {msg: "{{ lookup('ansible.builtin.url', ledger ~ '/note/begin/' ~ what) }}"}
        - name: Wait at the gate
          ansible.builtin.debug: {msg: "{{ lookup('ansible.builtin.url', ledger ~ '/gate/' ~ ansible_provider_meta.managed_resource.state) }}"}
        - name: End
          ansible.builtin.debug: {msg: "{{ lookup('ansible.builtin.url', ledger ~ '/note/end/' ~ what) }}"}
`
}

// run of the scene.
func (s *scene) run() Object {
	return Object{APIVersion: groupVersion, Kind: "AnsibleRun", Namespace: s.Namespace, Name: "run"}
}

// apply manifests, with the configuration first.
func (s *scene) apply(t *testing.T, manifests string) { t.Helper(); cp.Apply(t, manifests, s) }

// begun waits until the play of the n-th run with state present has begun.
func (s *scene) begun(t *testing.T, n int) *unstructured.Unstructured {
	t.Helper()
	s.Await(t, n, "begin/present/")
	return cp.WaitFor(t, s.run(), Field("status.atProvider.lastRun.phase", "Running"))
}

// pod of the last run.
func (s *scene) pod(t *testing.T) Object {
	t.Helper()
	u := cp.WaitFor(t, s.run(), That("a Pod", func(u *unstructured.Unstructured) bool { return Value(u, "status.atProvider.lastRun.pod.name") != nil }))
	name, _ := Value(u, "status.atProvider.lastRun.pod.name").(string)
	return Object{APIVersion: "v1", Kind: "Pod", Namespace: s.Namespace, Name: name}
}

// ready waits for the run to be ready.
func (s *scene) ready(t *testing.T, want ...Expectation) *unstructured.Unstructured {
	t.Helper()
	return cp.WaitFor(t, s.run(), append(want, Condition("Ready", "True"), Condition("Synced", "True"), Field("status.atProvider.lastRun.phase", "Succeeded"))...)
}

// nothingLeft of runs but Pods that are kept: no Secret and no Pod that is not over, but others.
func (s *scene) nothingLeft(t *testing.T, others ...string) {
	t.Helper()
	Eventually(t, "the Secrets and Pods of runs to go", func() bool {
		return slices.Equal(s.running(t), others) && len(s.secrets(t)) == 0
	})
}

// running are the names of the Pods of the scene that are not over.
func (s *scene) running(t *testing.T) (names []string) {
	t.Helper()
	l := &corev1.PodList{}
	needs.OK(t, cp.Kube.List(t.Context(), l, client.InNamespace(s.Namespace)))
	for _, p := range l.Items {
		if p.Status.Phase == corev1.PodRunning || p.Status.Phase == corev1.PodPending {
			names = append(names, p.Name)
		}
	}
	return names
}

// secrets of runs.
func (s *scene) secrets(t *testing.T) []corev1.Secret {
	t.Helper()
	l := &corev1.SecretList{}
	needs.OK(t, cp.Kube.List(t.Context(), l, client.InNamespace(s.Namespace), client.HasLabels{labelRun}))
	return l.Items
}

// all Pods of runs.
func (s *scene) all(t *testing.T) []corev1.Pod {
	t.Helper()
	l := &corev1.PodList{}
	needs.OK(t, cp.Kube.List(t.Context(), l, client.InNamespace(s.Namespace), client.HasLabels{labelRun}))
	return l.Items
}
