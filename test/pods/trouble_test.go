package pods

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// last expects something of the last run.
func last(field, want string) Expectation { return Field("status.atProvider.lastRun."+field, want) }

// lastSays expects a text in the message of the last run.
func lastSays(part string) Expectation {
	return That(fmt.Sprintf("%q in the message of the last run", part), func(u *unstructured.Unstructured) bool {
		return contains(Value(u, "status.atProvider.lastRun.message"), part)
	})
}

func contains(v any, part string) bool {
	s, _ := v.(string)
	return strings.Contains(s, part)
}

// TestMissingRights grants the missing rights with the command in the message of the provider.
func TestMissingRights(t *testing.T) {
	t.Parallel()

	// The role is there as soon as any namespace has it.
	newScene(t)
	s := newForbiddenScene(t)
	s.Open("present")
	s.apply(t, waiting)
	u := cp.WaitFor(t, s.run(), last("reason", "Forbidden"), last("phase", "Failed"), lastSays("create pods"), Condition("Synced", "False"), Message("Synced", "kubectl create rolebinding"))
	configuration := s.run()
	configuration.Kind, configuration.Name = "ProviderConfig", "default"
	cp.WaitFor(t, configuration, Condition("Permitted", "False"), Message("Permitted", "kubectl create rolebinding"))
	message, _ := Value(u, "status.atProvider.lastRun.message").(string)
	command := regexp.MustCompile(`kubectl create .*`).FindString(message)

	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+cp.Stack.Kubeconfig(), "PATH="+filepath.Dir(cp.Stack.Tool("kubectl"))+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("The command in the message should grant the rights: %s: %s\n%s", command, err, out)
	}
	s.ready(t)
	cp.WaitFor(t, configuration, Condition("Permitted", "True"))
}

// TestQuota waits for a ResourceQuota that refuses the Pod.
func TestQuota(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.Open("present")
	cp.Apply(t, `
apiVersion: v1
kind: ResourceQuota
metadata: {namespace: [[.Namespace]], name: pods}
spec: {hard: {pods: "0"}}
`, s)
	cp.WaitFor(t, Object{APIVersion: "v1", Kind: "ResourceQuota", Namespace: s.Namespace, Name: "pods"}, Field("status.hard.pods", "0"))
	s.apply(t, waiting)
	cp.WaitFor(t, s.run(), last("phase", "Queued"), lastSays("exceeded quota: pods"), Condition("Ready", "False"))
	cp.Patch(t, Object{APIVersion: "v1", Kind: "ResourceQuota", Namespace: s.Namespace, Name: "pods"}, `{"spec": {"hard": {"pods": "9"}}}`)
	s.ready(t)
	if got := s.Count("begin/"); got != 1 {
		t.Errorf("One run should have begun, got %v", s.Notes())
	}
}

// TestPodGone removes the Pod of a play in progress. The run is interrupted, does not count as an attempt, and another
// run follows.
func TestPodGone(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		reason, message string
		remove          func(pod Object) error
	}{
		"PodDeletedByForce": {
			reason:  "The Pod was deleted without a wait for its end.",
			message: "its Pod was deleted",
			remove: func(pod Object) error {
				return cp.Kube.Delete(t.Context(), pod.Unstructured(), client.GracePeriodSeconds(0))
			},
		},
		"PodEvicted": {
			reason:  "A node is drained.",
			message: "its Pod was disrupted: EvictionByEvictionAPI",
			remove: func(pod Object) error {
				meta := metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}
				return cp.Kube.SubResource("eviction").Create(t.Context(), &corev1.Pod{ObjectMeta: meta}, &policyv1.Eviction{ObjectMeta: meta})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := newScene(t)
			s.apply(t, waiting)
			first := Value(s.begun(t, 1), "status.atProvider.lastRun.id")
			needs.OK(t, tc.remove(s.pod(t)))
			s.Await(t, 2, "begin/present/")
			s.Open("present")
			u := s.ready(t)

			s.interrupted(t, first, tc.message)

			if got := Value(u, "status.atProvider.lastApply.attempts"); got != int64(1) {
				t.Errorf("%s The run should not count as an attempt, got %v", tc.reason, got)
			}
			if got := s.Count("end/"); got != 1 {
				t.Errorf("%s One run should have ended, got %v", tc.reason, s.Notes())
			}
			s.nothingLeft(t)
		})
	}
}

// TestOutOfMemory ends a play that needs more than the Pod may have.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.Execution = "{place: Pod, resources: {requests: {cpu: 10m, memory: 64Mi}, limits: {memory: 160Mi}}}"
	s.apply(t, config+theRun+`
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - name: Take memory
          ansible.builtin.debug: {msg: "{{ ('x' * 1000000 * 300) | length }}"}
`)
	cp.WaitFor(t, s.run(), last("phase", "Failed"), last("reason", "OutOfMemory"), Condition("Synced", "False"))
	s.Execution = "{place: Pod, resources: {requests: {cpu: 10m, memory: 64Mi}, limits: {memory: 700Mi}}}"
	s.apply(t, config)
	s.ready(t)
}

// TestQueue holds and admits Pods as Kueue does, with a scheduling gate and a finalizer. It preempts the Pod of a play in
// progress, and admits the next one.
func TestQueue(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.useClusterConfig("labels: {kueue.x-k8s.io/queue-name: team}, podTemplate: {spec: {schedulingGates: [{name: kueue.x-k8s.io/admission}]}}, " + small)
	s.apply(t, clusterConfig+waitingRun("run"))
	// admit the Pod of the last run, which is held.
	admit := func(t *testing.T) Object {
		t.Helper()
		cp.WaitFor(t, s.run(), last("phase", "Queued"), lastSays("the Pod is held by the scheduling gate kueue.x-k8s.io/admission"))
		pod := s.pod(t)
		cp.Patch(t, pod, `{"metadata": {"finalizers": ["kueue.x-k8s.io/managed"]}, "spec": {"schedulingGates": null}}`)
		return pod
	}
	first := admit(t)
	s.begun(t, 1)
	cp.Delete(t, first)
	second := admit(t)
	s.Await(t, 2, "begin/present/")
	s.Open("present")
	s.ready(t, Field("status.atProvider.lastApply.attempts", 1))
	if first == second {
		t.Error("The second Pod should be another one.")
	}
	for _, pod := range []Object{first, second} {
		cp.Patch(t, pod, `{"metadata": {"finalizers": null}}`)
	}
	s.nothingLeft(t)
}

// TestDrained checks that kubectl drain accepts the Pods of runs. It refuses Pods without a controller.
func TestDrained(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.apply(t, waiting)
	s.begun(t, 1)
	out := cp.Kubectl(t, "drain", controlplane.NodeName, "--dry-run=server", "--delete-emptydir-data", "--ignore-daemonsets",
		"--pod-selector="+labelRun)
	if !strings.Contains(out, s.pod(t).Name) {
		t.Errorf("The Pod should be evicted:\n%s", out)
	}
	s.Open("present")
	s.ready(t)
}

// TestDeletedDuringRun deletes an object during its play. The play is canceled, and a run with state absent follows.
func TestDeletedDuringRun(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.Actions = `["*"]`
	s.apply(t, waiting)
	s.begun(t, 1)
	cp.Delete(t, s.run())
	s.Await(t, 1, "begin/absent/")
	if got := len(s.running(t)); got != 1 {
		t.Errorf("The run of the deletion should begin when the Pod of the other one is gone, there are %d", got)
	}
	s.Open("absent")
	cp.WaitGone(t, s.run())
	if present, absent := s.Count("end/present"), s.Count("end/absent"); present != 0 || absent != 1 {
		t.Errorf("Only the run of the deletion should have ended, got %v", s.Notes())
	}
	s.nothingLeft(t)
}

// TestLongLog displays more output than the kubelet keeps in one file.
func TestLongLog(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.apply(t, config+theRun+`
    vars: {ansible_lookup_url_timeout: 300, ledger: "[[.URL]]"}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - name: Display much
          ansible.builtin.debug: {msg: "{{ 'All work and no play makes a dull log. ' * 5000 }}"}
          loop: [1, 2, 3, 4, 5, 6, 7, 8]
        - name: Wait at the gate
          ansible.builtin.debug: {msg: "{{ lookup('ansible.builtin.url', ledger ~ '/note/begin', ledger ~ '/gate/present') }}"}
        - name: Display much again
          ansible.builtin.debug: {msg: "{{ 'All work and no play makes a dull log. ' * 5000 }}"}
          loop: [1, 2, 3, 4, 5, 6, 7, 8]
        - ansible.builtin.set_stats: {data: {done: "yes"}}
`)
	s.Await(t, 1, "begin")
	rotated(t, s.pod(t))
	s.Open("present")
	s.ready(t, Field("status.atProvider.outputs.done", "yes"))
}

// rotated waits until the log is in a new file, without the beginning of the play.
func rotated(t *testing.T, pod Object) {
	t.Helper()
	Eventually(t, "the log to be rotated", func() bool {
		return !strings.Contains(cp.Kubectl(t, "logs", "--namespace="+pod.Namespace, pod.Name, "--limit-bytes=10000"), "PLAY [")
	})
}

// interrupted expects that a run was interrupted once, since its Pod ended, and that an event has a text about it.
func (s *scene) interrupted(t *testing.T, id any, message string) {
	t.Helper()
	var ended []any
	history, _ := Value(cp.Get(t, s.run()), "status.atProvider.history").([]any)
	for _, h := range history {
		if m, _ := h.(map[string]any); m["id"] == id {
			ended = append(ended, m["result"], m["reason"])
		}
	}
	if diff := cmp.Diff([]any{"Interrupted", "PodEnded"}, ended); diff != "" {
		t.Errorf("The run should have been interrupted once: -want, +got:\n%s", diff)
	}
	Eventually(t, "an event RunInterrupted with "+message, func() bool {
		return slices.ContainsFunc(cp.List(t, "v1", "Event", s.Namespace), func(e unstructured.Unstructured) bool {
			return Value(&e, "reason") == "RunInterrupted" && contains(Value(&e, "message"), message)
		})
	})
}
