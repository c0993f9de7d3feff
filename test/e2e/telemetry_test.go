package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
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
	if err := cp.Kube.List(t.Context(), l, client.InNamespace(ns)); err != nil {
		t.Fatalf("cannot list events: %s", err)
	}
	uid := cp.Get(t, o).GetUID()
	out := eventsByReason{}
	for _, e := range l.Items {
		if e.InvolvedObject.UID != uid {
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

// TestEvents follows an object that fails, gives up, is fixed, is polled and
// drifts.
func TestEvents(t *testing.T) {
	t.Parallel()

	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Source: site().Git(t)}
	run := cp.Apply(t, siteConfig+`
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata:
  namespace: [[.Namespace]]
  name: run
  annotations: {crossplane.io/poll-interval: 10s}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    retryLimit: 3
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

	cp.WaitFor(t, run, Condition("Synced", "False"), Message("Synced", "gave up after attempt 3 of 3"))
	waitForEvent(t, run, "RetriesExhausted", 1, `present run, gave up after attempt 3 of 3: task "Look for the key" failed`)
	waitForEvent(t, run, "RunFailed", 1, `present run, attempt 1: task "Look for the key" failed on host "localhost"`)
	waitForEvent(t, run, "ContentInstalled", 1, "acme.site 1.0.0")
	// One while it is tried again, and one now that it is not.
	if got := events(t, run)["CannotObserveExternalResource"]; got.Count > 2 {
		t.Errorf("A reconcile that reports the same failure again is no event: got %d, the last is %s", got.Count, got.Message)
	}

	touch(t, filepath.Join(d.Directory, "key"))
	requestRun(t, d.Namespace, "run", "fixed")
	cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"))
	waitForEvent(t, run, "RunSucceeded", 1, "ok=2 changed=1 unreachable=0 failed=0")

	polls(t, run, 1)
	before := events(t, run).counts()
	polls(t, run, 2)
	if got := events(t, run).counts(); got != before {
		t.Errorf("Polls are no events: want %s, got %s", before, got)
	}

	if err := os.WriteFile(filepath.Join(d.Directory, "page"), []byte("Goodbye"), 0o600); err != nil {
		t.Fatal(err)
	}
	polls(t, run, 2)
	waitForEvent(t, run, "DriftCorrected", 1, `"Write the page" on host "localhost"`)
}

// TestDriftEvents lets an object drift that may not be put right. It is cluster
// scoped.
func TestDriftEvents(t *testing.T) {
	t.Parallel()

	d := runData{Directory: directory(t), Marker: marker()}
	run := cp.Apply(t, `
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
    crossplane.io/poll-interval: 10s
spec:
  managementPolicies: [Observe, Create, Delete]
  providerConfigRef: {name: drift-[[.Marker]]}
  forProvider:
    vars: {directory: "[[.Directory]]"}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - name: Write the page
          ansible.builtin.copy: {content: page, dest: "{{ directory }}/page"}
`, d)[1]

	cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.lastApply.result", "Succeeded"))
	waitForEvent(t, run, "ChangesPredicted", 1, `1 task would change something: "Write the page" on host "localhost"`)
	waitForEvent(t, run, "RunSucceeded", 1, "present run succeeded")

	if err := os.WriteFile(filepath.Join(d.Directory, "page"), []byte("Goodbye"), 0o600); err != nil {
		t.Fatal(err)
	}
	waitForEvent(t, run, "DriftDetected", 1, `1 task would put right what has drifted: "Write the page" on host "localhost"`)

	before := events(t, run).counts()
	polls(t, run, 2)
	if got := events(t, run).counts(); got != before {
		t.Errorf("Drift that is known is no event: want %s, got %s", before, got)
	}
}

// TestLastEvents ends a provider in the middle of a run: its result is
// still an event.
func TestLastEvents(t *testing.T) {
	needsProvider(t, "the end of the provider ends no run in a Pod")
	cp.Provider.Restart(t, "--shutdown-grace-period=1s")

	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Marker: marker()}
	run, _ := begin(t, d)
	cp.Provider.Stop(t)
	waitForEvent(t, run, "RunCanceled", 1, `canceled during task "Wait to be let go"`)

	cp.Provider.Start(t)
	cp.WaitFor(t, run, Field("status.atProvider.lastRun.phase", "Running"))
	cp.Provider.Kill(t)
	touch(t, filepath.Join(d.Directory, "go"))
	cp.Provider.Start(t)
	waitForEvent(t, run, "RunInterrupted", 1, "the provider ended")
	cp.WaitFor(t, run, Condition("Ready", "True"))
	waitForEvent(t, run, "RunSucceeded", 1, "present run succeeded")
}

// chatty is a run that shows a secret.
const chatty = `
[[- $api := "ansible.crossplane.io"]][[if .Namespace]][[$api = "ansible.m.crossplane.io"]][[end]]
apiVersion: v1
kind: Secret
metadata: {namespace: [[or .Namespace "crossplane-system"]], name: [[.Marker]]}
stringData: {vars: "password: correct-horse-battery\n"}
---
apiVersion: [[$api]]/v1alpha1
kind: ProviderConfig
metadata: {[[if .Namespace]]namespace: [[.Namespace]], [[end]]name: [[.Marker]]}
spec: {}
---
apiVersion: [[$api]]/v1alpha1
kind: AnsibleRun
metadata:
  [[if .Namespace]]namespace: [[.Namespace]][[end]]
  name: [[.Marker]]
  annotations: {ansible.crossplane.io/keepOutput: "true"}
spec:
  providerConfigRef: {[[if .Namespace]]kind: ProviderConfig, [[end]]name: [[.Marker]]}
  forProvider:
    varFiles: [{source: SecretKey, secretKeyRef: {[[if not .Namespace]]namespace: crossplane-system, [[end]]name: [[.Marker]], key: vars}}]
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - name: Show the password
          ansible.builtin.debug: {msg: "It is {{ password }}, ok"}
`

// TestKeptOutput shows where users of an object find what its last run
// displayed.
func TestKeptOutput(t *testing.T) {
	t.Parallel()

	for _, api := range []string{apiNamespaced, apiCluster} {
		group, _, _ := strings.Cut(api, "/")
		t.Run(group, func(t *testing.T) {
			t.Parallel()

			d := runData{Marker: "kept-" + marker()}
			ns := "crossplane-system"
			if api == apiNamespaced {
				d.Namespace = cp.Namespace(t)
				ns = d.Namespace
			}
			run := cp.Apply(t, chatty, d)[2]
			u := cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.keptOutput.namespace", ns))
			kept := Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: ns, Name: fmt.Sprint(Value(u, "status.atProvider.keptOutput.configMap"))}

			out := cp.Kubectl(t, "get", "configmap", "-n", kept.Namespace, kept.Name, "-o", `jsonpath={.data.output}`)
			if !strings.Contains(out, "TASK [Show the password]") || !strings.Contains(out, "It is ********, ok") || strings.Contains(out, "horse") {
				t.Errorf("The output should be kept without the secret, got %s", out)
			}
			m := cp.WaitFor(t, kept, Field("data.runID", Value(u, "status.atProvider.lastRun.id")), Field("data.phase", "Succeeded"), Field("data.mode", "Apply"))
			if owners := m.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != u.GetUID() {
				t.Errorf("The object should own its output, got %v", owners)
			}

			// The next run replaces it.
			cp.Kubectl(t, "annotate", "ansibleruns."+group, "--namespace="+d.Namespace, run.Name, "crossplane.io/reconcile-requested-at=again")
			u = cp.WaitFor(t, run, Field("status.atProvider.handledRequest", "again"), Field("status.atProvider.lastRun.phase", "Succeeded"))
			cp.WaitFor(t, kept, Field("data.runID", Value(u, "status.atProvider.lastRun.id")))

			// It goes with the annotation.
			cp.Kubectl(t, "annotate", "ansibleruns."+group, "--namespace="+d.Namespace, run.Name, "ansible.crossplane.io/keepOutput-")
			cp.WaitFor(t, run, Field("status.atProvider.keptOutput", nil))
			cp.WaitGone(t, kept)

			// It goes some time after the run, too.
			cp.Kubectl(t, "annotate", "ansibleruns."+group, "--namespace="+d.Namespace, run.Name, "ansible.crossplane.io/keepOutput=3s", "crossplane.io/reconcile-requested-at=timed", "--overwrite")
			cp.WaitFor(t, run, Field("status.atProvider.handledRequest", "timed"), Field("status.atProvider.keptOutput", nil))
			cp.WaitGone(t, kept)

			// A ConfigMap that the provider has not made stays. It is that of another run: the output of this one, which has
			// expired, may be saved and removed again in a moment.
			d.Marker += "-other"
			kept.Name = strings.Replace(kept.Name, run.Name, d.Marker, 1)
			foreign := cp.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: %s, name: %s}\ndata: {output: mine}\n", kept.Namespace, kept.Name), nil)[0]
			run = cp.Apply(t, chatty, d)[2]
			cp.WaitFor(t, run, Condition("Synced", "True"), Condition("Ready", "True"))
			waitForEvent(t, run, "CannotKeepOutput", 1, "does not belong to the AnsibleRun")
			if got := Value(cp.Get(t, foreign), "data.output"); got != "mine" {
				t.Errorf("A ConfigMap that the provider has not made should be left alone, got %v", got)
			}

			// It goes with the object, too.
			cp.Delete(t, foreign)
			cp.Kubectl(t, "annotate", "ansibleruns."+group, "--namespace="+d.Namespace, run.Name, "crossplane.io/reconcile-requested-at=again")
			cp.WaitFor(t, run, Field("status.atProvider.handledRequest", "again"), Field("status.atProvider.keptOutput.configMap", kept.Name))
			cp.Delete(t, run)
			cp.WaitGone(t, run)
			cp.WaitGone(t, kept)
		})
	}
}

// metric is the sum of the samples of a metric that have all the labels, given
// as in mode="Apply".
func metric(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cp.Stack.ProviderMetrics(), nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("cannot get the metrics: %s", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("cannot read the metrics: %s", err)
	}
	sum := 0.0
	for line := range strings.Lines(string(text)) {
		sample, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		if !strings.HasPrefix(sample, name+"{") {
			sample, value, _ = strings.Cut(strings.TrimSpace(line), " ")
		}
		n, _, _ := strings.Cut(sample, "{")
		missing := func(l string) bool { return !strings.Contains(sample, l) }
		if n != name || slices.ContainsFunc(labels, missing) {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("cannot parse %s: %s", line, err)
		}
		sum += v
	}
	return sum
}

// TestMetrics counts a run that fails, and one that installs content. Others
// count, too, at the same time.
func TestMetrics(t *testing.T) {
	t.Parallel()

	samples := map[string][]string{
		"provider_ansible_runs_total":                 {`policy="RunOnChange"`, `trigger="Created"`, `mode="Apply"`, `result="Failed"`},
		"provider_ansible_run_duration_seconds_count": {`mode="Apply"`, `result="Failed"`},
		"provider_ansible_queue_wait_seconds_count":   {`queue="urgent"`},
		"provider_ansible_tasks_total":                {`result="failed"`},
	}
	if !inPods() {
		samples["provider_ansible_content_installs_total"] = []string{`cause="run"`, `result="Installed"`}
		samples["provider_ansible_content_install_duration_seconds_count"] = []string{`result="Installed"`}
		samples["provider_ansible_content_cache_hits_total"] = nil
	}
	before := map[string]float64{}
	for name, labels := range samples {
		before[name] = metric(t, name, labels...)
	}

	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Source: site().Git(t)}
	objs := cp.Apply(t, siteConfig+`
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata:
  namespace: [[.Namespace]]
  name: fails
  annotations: {ansible.crossplane.io/runPolicy: RunOnChange}
spec:
  managementPolicies: [Observe, Create, Update]
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    retryLimit: 1
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks: [{name: Give up, ansible.builtin.fail: {msg: no}}]
`, d)
	cp.WaitFor(t, objs[1], Condition("Synced", "False"), Field("status.atProvider.lastRun.phase", "Failed"))
	requestRun(t, d.Namespace, "fails", "again")
	cp.WaitFor(t, objs[1], Field("status.atProvider.handledRequest", "again"))

	for name, labels := range samples {
		if got := metric(t, name, labels...); got < before[name]+1 {
			t.Errorf("%s%v should have grown: it was %v, and is %v", name, labels, before[name], got)
		}
	}
	for _, name := range []string{"provider_ansible_runs_limit"} {
		if got := metric(t, name); got < 1 {
			t.Errorf("%s should be known, got %v", name, got)
		}
	}

	// The debug log has each task.
	id := fmt.Sprint(Value(cp.Get(t, objs[1]), "status.atProvider.lastRun.id"))
	var line string
	for l := range strings.Lines(cp.Provider.Log(t)) {
		if strings.Contains(l, "Task ended") && strings.Contains(l, id) {
			line = l
		}
	}
	for _, part := range []string{"DEBUG", `"task": "Give up"`, `"host": "localhost"`, `"result": "failed"`, `"name": "fails"`, `"namespace": "` + d.Namespace + `"`} {
		if !strings.Contains(line, part) {
			t.Errorf("There should be a line in the log for the task, with %s: got %q", part, line)
		}
	}
}

// TestUrgentFirst fills the queue of a provider with one worker with periodic
// runs, and then deletes one object, and changes one whose periodic run is in the
// queue.
func TestUrgentFirst(t *testing.T) {
	cp.Provider.Restart(t, "--max-concurrent-runs=1", "--max-concurrent-pods=1")

	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Marker: "one"}
	for i := range 10 {
		d.Names = append(d.Names, fmt.Sprintf("run-%d", i))
	}
	manifests := `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec: {}
[[- range .Names]]
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata:
  namespace: [[$.Namespace]]
  name: [[.]]
  annotations:
    crossplane.io/poll-interval: 10s
    ansible.crossplane.io/runPolicy: [[if or (eq . "run-3") (eq . "run-7")]]RunOnChange[[else]]ObserveAndDelete[[end]]
spec:
  managementPolicies: [[if eq . "run-3"]]["*"][[else]][Observe, Create, Update, LateInitialize][[end]]
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    vars: {ledger: "[[$.Directory]]/ledger", hold: "[[$.Directory]]/hold", marker: "[[if eq . "run-7"]][[$.Marker]][[end]]"}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - ansible.builtin.wait_for: {path: "{{ hold }}", state: absent}
          when: ansible_provider_meta.run.trigger == 'Drift'
        - ansible.builtin.shell: echo [[.]] {{ ansible_provider_meta.run.trigger }} {{ marker }} >> {{ ledger | quote }}
[[- end]]
`
	objs := cp.Apply(t, manifests, d)
	for _, o := range objs[1:] {
		cp.WaitFor(t, o, Condition("Ready", "True"))
	}
	// A periodic run keeps the only worker until it is let go.
	hold := filepath.Join(d.Directory, "hold")
	touch(t, hold)
	Eventually(t, "a queue of periodic runs", func() bool { return metric(t, "provider_ansible_queue_length", `queue="patient"`) >= 4 })

	d.Marker = "two"
	cp.Apply(t, manifests, d)
	cp.Delete(t, objs[4])
	cp.WaitFor(t, objs[4], Field("status.atProvider.lastRun.state", "absent"))
	cp.WaitFor(t, objs[8], Field("status.atProvider.lastRun.trigger", "Changed"))

	from := strings.Count(readFile(t, filepath.Join(d.Directory, "ledger")), "\n")
	if err := os.Remove(hold); err != nil {
		t.Fatal(err)
	}
	cp.WaitGone(t, objs[4])
	Eventually(t, "the run with the changed spec", func() bool {
		return strings.Contains(readFile(t, filepath.Join(d.Directory, "ledger")), "run-7 Changed two\n")
	})

	// One run is in progress, a periodic run has its turn now and then, and reading the
	// object again takes a while.
	after := strings.Split(readFile(t, filepath.Join(d.Directory, "ledger")), "\n")[from:]
	for _, want := range []string{"run-3 Deleted", "run-7 Changed two"} {
		if i := slices.Index(after, want); i < 0 || i > 4 {
			t.Errorf("%q should go before periodic runs, got %q", want, after)
		}
	}
}
