package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// eventsByReason are the events of an object, by reason.
type eventsByReason map[string]corev1.Event

// events of an object. Those of cluster scoped objects are in the namespace
// default.
func events(t *testing.T, o Object) eventsByReason {
	t.Helper()
	l := &corev1.EventList{}
	ns := o.Namespace
	if ns == "" {
		ns = "default"
	}
	needs.OK(t, cp.Kube.List(t.Context(), l, client.InNamespace(ns)))
	out := eventsByReason{}
	for _, e := range l.Items {
		if e.InvolvedObject.Kind != o.Kind || e.InvolvedObject.Name != o.Name {
			continue
		}
		e.Count = max(e.Count, 1) + out[e.Reason].Count
		out[e.Reason] = e
	}
	return out
}

// counts of events, by reason.
func (e eventsByReason) counts() string {
	var out []string
	for reason, e := range e {
		out = append(out, fmt.Sprintf("%s=%d", reason, e.Count))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// waitForEvent of an object until there are as many as wanted, with a text in
// the last one's message.
func waitForEvent(t *testing.T, o Object, reason string, want int32, part string) {
	t.Helper()
	var got eventsByReason
	defer func() {
		if t.Failed() {
			t.Logf("%s has events %s, %s: %s", o, got.counts(), reason, got[reason].Message)
		}
	}()
	Eventually(t, fmt.Sprintf("event %s of %s", reason, o), func() bool {
		got = events(t, o)
		return got[reason].Count >= want
	})
	if e := got[reason]; e.Count != want || !strings.Contains(e.Message, part) {
		t.Errorf("%s should have %d events %s with %q, got %d: %s", o, want, reason, part, e.Count, e.Message)
	}
}

// polls waits for a number of further runs of an object to end.
func polls(t *testing.T, o Object, n int) {
	t.Helper()
	for range n {
		was := Value(cp.Get(t, o), "status.atProvider.lastRun.id")
		cp.WaitFor(t, o, That("the end of another run", func(u *unstructured.Unstructured) bool {
			return Value(u, "status.atProvider.lastRun.id") != was && Value(u, "status.atProvider.lastRun.completionTime") != nil
		}))
	}
}

// TestEvents follows an object that fails, gives up, is fixed, is polled and drifts: by its events, and by metrics, which
// count others at the same time, too.
func TestEvents(t *testing.T) {
	t.Parallel()

	samples := map[string][]string{
		"provider_ansible_runs_total":                 {`policy="ObserveAndDelete"`, `trigger="Created"`, `mode="Apply"`, `result="Failed"`},
		"provider_ansible_run_duration_seconds_count": {`mode="Apply"`, `result="Failed"`},
		"provider_ansible_queue_wait_seconds_count":   {`queue="urgent"`},
		"provider_ansible_tasks_total":                {`result="failed"`},
	}
	if !inPods() {
		samples["provider_ansible_content_installs_total"] = []string{`cause="run"`, `result="Installed"`}
	}

	counted := map[string]float64{}
	for name, labels := range samples {
		counted[name] = Metric(t, cp.Stack.ProviderMetrics(), name, labels...)
	}

	d := data{Namespace: cp.Namespace(t), Directory: directory(t), Source: site().Git(t)}
	run := cp.Apply(t, siteConfig+theRun+`
    retryLimit: 2
    vars: {directory: "[[.Directory]]"}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - name: Look for the key
          ansible.builtin.command: cat {{ directory }}/key
          changed_when: false
          when: ansible_provider_meta.managed_resource.state == 'present'
        - name: Write the page
          ansible.builtin.copy: {content: page, dest: "{{ directory }}/page"}
`, d)[1]

	cp.WaitFor(t, run, Condition("Synced", "False"), Message("Synced", "attempt 2 follows at"), Reason("Ready", "RunFailed"))
	cp.WaitFor(t, run, Condition("Synced", "False"), Message("Synced", "gave up after attempt 2 of 2"), Reason("Ready", "RetriesExhausted"))
	waitForEvent(t, run, "RetriesExhausted", 1, `present run, gave up after attempt 2 of 2: task "Look for the key" failed`)
	waitForEvent(t, run, "RunFailed", 1, `present run, attempt 1: task "Look for the key" failed on host "localhost"`)
	waitForEvent(t, run, "ContentInstalled", 1, "acme.site 1.0.0")

	// One while it is tried again, and one now that it is not.
	if got := events(t, run)["CannotObserveExternalResource"]; got.Count > 2 {
		t.Errorf("A reconcile that reports the same failure again is no event: got %d, the last is %s", got.Count, got.Message)
	}

	for name, labels := range samples {
		if got := Metric(t, cp.Stack.ProviderMetrics(), name, labels...); got < counted[name]+1 {
			t.Errorf("%s%v should have grown: it was %v, and is %v", name, labels, counted[name], got)
		}
	}

	touch(t, filepath.Join(d.Directory, "key"))
	requestRun(t, d.Namespace, "run", "fixed")
	cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"))
	waitForEvent(t, run, "RunSucceeded", 1, "ok=2 changed=1 unreachable=0 failed=0")

	cp.Kubectl(t, "annotate", "ansibleruns.ansible.m.crossplane.io", "-n", d.Namespace, "run", "crossplane.io/poll-interval=2s")
	polls(t, run, 1)
	before := events(t, run).counts()
	polls(t, run, 2)
	if got := events(t, run).counts(); got != before {
		t.Errorf("Polls are no events: want %s, got %s", before, got)
	}

	needs.OK(t, os.WriteFile(filepath.Join(d.Directory, "page"), []byte("Goodbye"), 0o600))
	waitForEvent(t, run, "DriftCorrected", 1, `"Write the page" on host "localhost"`)

	if got := readFile(t, filepath.Join(d.Directory, "page")); got != "page" {
		t.Errorf("The drift should be corrected, got %q", got)
	}
}

// TestDriftEvents checks an object before anything may be applied, and lets it drift when it may be created, but not be
// updated. It is cluster scoped.
func TestDriftEvents(t *testing.T) {
	t.Parallel()

	d := data{Directory: directory(t), Marker: marker()}
	manifests := `
apiVersion: ansible.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {name: drift-[[.Marker]]}
spec: {}
---
apiVersion: ansible.crossplane.io/v1alpha1
kind: AnsibleRun
metadata:
  name: drift-[[.Marker]]
  annotations:
    ansible.crossplane.io/runPolicy: CheckWhenObserve
    crossplane.io/poll-interval: 3s
spec:
  managementPolicies: [[.Source]]
  providerConfigRef: {name: drift-[[.Marker]]}
  forProvider:
    vars: {directory: "[[.Directory]]"}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - name: Write the page
          ansible.builtin.copy: {content: page, dest: "{{ directory }}/page"}
`
	page := filepath.Join(d.Directory, "page")

	d.Source = "[Observe]"
	run := cp.Apply(t, manifests, d)[1]
	u := cp.WaitFor(t, run, Condition("Synced", "True"), Reason("Ready", "NotApplied"), Field("status.atProvider.lastRun.mode", "Check"), Field("status.atProvider.drift.changed", 1))
	tasks := fmt.Sprint(Value(u, "status.atProvider.drift.tasks"))

	for _, part := range []string{"task:Write the page", "host:localhost", "+page"} {
		if !strings.Contains(tasks, part) {
			t.Errorf("The drift should name the task and the host, and show the difference: want %q, got %s", part, tasks)
		}
	}

	if exists(page) {
		t.Error("A check should change nothing.")
	}

	waitForEvent(t, run, "ChangesPredicted", 1, `1 task would change something: "Write the page" on host "localhost"`)

	d.Source = "[Observe, Create, Delete]"
	cp.Apply(t, manifests, d)
	cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.lastApply.result", "Succeeded"), Field("status.atProvider.drift", nil))
	waitForEvent(t, run, "RunSucceeded", 1, "present run succeeded")

	needs.OK(t, os.WriteFile(page, []byte("Goodbye"), 0o600))
	waitForEvent(t, run, "DriftDetected", 1, `1 task would put right what has drifted: "Write the page" on host "localhost"`)

	before := events(t, run).counts()
	polls(t, run, 2)
	if got := events(t, run).counts(); got != before {
		t.Errorf("Drift that is known is no event: want %s, got %s", before, got)
	}

	cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"), Field("status.atProvider.drift.changed", 1))
	if got := readFile(t, page); got != "Goodbye" {
		t.Errorf("What may not be updated should stay, got %q", got)
	}
}

// chatty is a run that shows a secret.
const chatty = `
apiVersion: v1
kind: Secret
metadata: {namespace: crossplane-system, name: [[.Marker]]}
stringData: {vars: "password: correct-horse-battery\n"}
---
apiVersion: ansible.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {name: [[.Marker]]}
spec: {}
---
apiVersion: ansible.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {name: [[.Marker]], annotations: {ansible.crossplane.io/keepOutput: "true"}}
spec:
  providerConfigRef: {name: [[.Marker]]}
  forProvider:
    varFiles: [{source: SecretKey, secretKeyRef: {namespace: crossplane-system, name: [[.Marker]], key: vars}}]
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - name: Show the password
          ansible.builtin.debug: {msg: "It is {{ password }}, ok"}
`

// TestKeptOutput shows where users of a cluster scoped object find what its last run displayed.
func TestKeptOutput(t *testing.T) {
	t.Parallel()

	const ns = "crossplane-system"

	d := data{Marker: "kept-" + marker()}
	run := cp.Apply(t, chatty, d)[2]
	annotate := func(annotations ...string) {
		t.Helper()
		cp.Kubectl(t, append([]string{"annotate", "--overwrite", "ansibleruns.ansible.crossplane.io", run.Name}, annotations...)...)
	}

	u := cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.keptOutput.namespace", ns))
	kept := Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: ns, Name: fmt.Sprint(Value(u, "status.atProvider.keptOutput.configMap"))}
	m := cp.WaitFor(t, kept, Field("data.runID", Value(u, "status.atProvider.lastRun.id")), Field("data.phase", "Succeeded"), Field("data.mode", "Apply"))

	if out := fmt.Sprint(Value(m, "data.output")); !strings.Contains(out, "TASK [Show the password]") || !strings.Contains(out, "It is ********, ok") || strings.Contains(out, "horse") {
		t.Errorf("The output should be kept without the secret, got %s", out)
	}
	if owners := m.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != u.GetUID() {
		t.Errorf("The object should own its output, got %v", owners)
	}

	// The output of the next run, which replaces it, is kept for a while.
	annotate("ansible.crossplane.io/keepOutput=3s", "crossplane.io/reconcile-requested-at=again")
	cp.WaitFor(t, run, Field("status.atProvider.handledRequest", "again"), Field("status.atProvider.keptOutput", nil))
	cp.WaitGone(t, kept)

	// What is kept goes with the annotation.
	annotate("ansible.crossplane.io/keepOutput=true", "crossplane.io/reconcile-requested-at=last")
	cp.WaitFor(t, run, Field("status.atProvider.handledRequest", "last"), Field("status.atProvider.keptOutput.configMap", kept.Name))
	annotate("ansible.crossplane.io/keepOutput-")
	cp.WaitFor(t, run, Field("status.atProvider.keptOutput", nil))
	cp.WaitGone(t, kept)
}
