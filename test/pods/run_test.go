package pods

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// page is a run whose play keeps a page, and waits at a gate before it does so for the first time.
const page = config + `
apiVersion: v1
kind: Secret
metadata: {namespace: [[.Namespace]], name: inputs}
stringData: {vars.yml: "password: correct-horse-battery"}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: run, annotations: {ansible.crossplane.io/runPolicy: [[.Policy]]}}
spec:
  managementPolicies: [[.Actions]]
  providerConfigRef: {kind: ProviderConfig, name: default}
  writeConnectionSecretToRef: {name: connection}
  forProvider:
    vars: {ansible_lookup_url_timeout: 300, ledger: "[[.URL]]", title: [[.Title]]}
    varFiles: [{source: SecretKey, secretKeyRef: {name: inputs, key: vars.yml}}]
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        vars:
          meta: "{{ ansible_provider_meta }}"
          what: "{{ 'check' if ansible_check_mode else 'apply' }}/{{ meta.managed_resource.state }}/{{ meta.run.trigger }}"
          wanted: "{{ title if meta.managed_resource.state == 'present' else '' }}"
        tasks:
        - name: Note the run
          ansible.builtin.debug: {msg: "{{ lookup('ansible.builtin.url', ledger ~ '/note/' ~ what) }}"}
        - name: Begin
          crossplane.ansible.status: {conditions: [{type: PageUp, status: false, reason: Writing}]}
        - name: Wait at the gate
          ansible.builtin.debug: {msg: "{{ lookup('ansible.builtin.url', ledger ~ '/gate/' ~ meta.managed_resource.state) }}"}
        - name: Say what nobody is to read
          ansible.builtin.debug: {msg: "The password is {{ password }}."}
        - name: Read the page
          ansible.builtin.set_fact: {found: "{{ lookup('ansible.builtin.url', ledger ~ '/page') }}"}
        - name: Keep the page
          ansible.builtin.debug: {msg: "{{ wanted }}"}
          changed_when: found != wanted
        - name: Write the page
          ansible.builtin.debug: {msg: "{{ lookup('ansible.builtin.url', ledger ~ '/write/' ~ wanted) }}"}
          when: found != wanted and not ansible_check_mode
        - name: Publish
          ansible.builtin.set_stats: {data: {size: "{{ wanted | length }}", connection_details: {password: "{{ password }}"}}}
        - name: End
          crossplane.ansible.status: {conditions: [{type: PageUp, status: true, reason: Written}]}
`

// TestLifecycle shows on the object what a run in the provider would show, from the first apply to
// the deletion.
func TestLifecycle(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.Policy, s.Actions = "CheckWhenObserve", `["*"]`
	s.Open("absent")
	s.apply(t, page)

	// The first check waits at the gate.
	s.Await(t, 1, "check/present/Created")
	s.Open("present")
	u := s.ready(t, Condition("PageUp", "True"), Field("status.atProvider.lastRun.mode", "Apply"))
	if got := Value(u, "status.atProvider.outputs.size"); got != int64(3) {
		t.Errorf("The play should have published the size of the page, got %v", got)
	}
	if got := s.Page(); got != "one" {
		t.Errorf("The play should have written the page, got %q", got)
	}
	connection := &corev1.Secret{}
	if err := cp.Kube.Get(t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: "connection"}, connection); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("correct-horse-battery", string(connection.Data["password"])); diff != "" {
		t.Errorf("The connection details should be published: -want, +got:\n%s", diff)
	}

	job := s.job(t)
	if want := "ansiblerun-" + Value(u, "status.atProvider.lastRun.id").(string); job.Name != want {
		t.Errorf("The status should name the Job of the run %s, got %s", want, job.Name)
	}
	log := cp.Kubectl(t, "logs", "--namespace="+s.Namespace, "job/"+job.Name)
	if !strings.Contains(log, "TASK [Keep the page]") || !strings.Contains(log, "The password is ****") || strings.Contains(log, "correct-horse") {
		t.Errorf("The log should show the play without its secrets:\n%s", log)
	}

	s.Title = "two"
	s.apply(t, page)
	cp.WaitFor(t, s.run(), Field("status.atProvider.outputs.size", 3), Field("status.atProvider.lastRun.trigger", "Changed"),
		Field("status.atProvider.lastRun.mode", "Apply"), Condition("Ready", "True"))
	if got := s.Page(); got != "two" {
		t.Errorf("The play should have changed the page, got %q", got)
	}

	s.Write("vandalised")
	cp.Kubectl(t, "annotate", "--namespace="+s.Namespace, "ansiblerun.ansible.m.crossplane.io", "run", "crossplane.io/poll-interval=1s")
	Eventually(t, "the page to be corrected", func() bool { return s.Page() == "two" })
	cp.Kubectl(t, "annotate", "--overwrite", "--namespace="+s.Namespace, "ansiblerun.ansible.m.crossplane.io", "run", "crossplane.io/poll-interval=1h")
	s.ready(t, Field("status.atProvider.lastRun.trigger", "Drift"))

	cp.Delete(t, s.run())
	cp.WaitGone(t, s.run())
	if got := s.Page(); got != "" {
		t.Errorf("The run of the deletion should have removed the page, got %q", got)
	}
	if got := s.Count("apply/absent/Deleted"); got != 1 {
		t.Errorf("One run should have been for the deletion, got %d: %v", got, s.Notes())
	}
	s.nothingLeft(t)
}

// TestProgress shows a run in progress.
func TestProgress(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.apply(t, page)
	u := cp.WaitFor(t, s.run(), Field("status.atProvider.lastRun.phase", "Running"), Field("status.atProvider.lastRun.currentTask", "Wait at the gate"),
		Condition("PageUp", "False"), Condition("Ready", "False"))
	if len(s.secrets(t)) == 0 {
		t.Error("A run should have its inputs in a Secret.")
	}
	if got := Value(u, "status.atProvider.lastRun.hosts.ok"); got == nil {
		t.Error("The tasks so far should be counted.")
	}
	s.Open("present")
	s.ready(t, Condition("PageUp", "True"))
	s.nothingLeft(t)
	if got := len(s.jobs(t)); got != 1 {
		t.Errorf("The Job should be kept, there are %d", got)
	}
}

// TestPeriodic applies the content again at a poll.
func TestPeriodic(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.Policy = "ObserveAndDelete"
	s.Open("present")
	s.apply(t, page)
	s.ready(t)
	s.Write("vandalised")
	cp.Kubectl(t, "annotate", "--namespace="+s.Namespace, "ansiblerun.ansible.m.crossplane.io", "run", "crossplane.io/poll-interval=1s")
	Eventually(t, "the page to be corrected", func() bool { return s.Page() == "one" })
	s.Await(t, 1, "apply/present/Drift")
}

// TestKeepFor removes Jobs in time.
func TestKeepFor(t *testing.T) {
	t.Parallel()

	for keep, reason := range map[string]string{
		"0s": "A Job that is not to be kept goes at once.",
		"2s": "A Job goes when it was kept for as long as the configuration says.",
	} {
		t.Run(keep, func(t *testing.T) {
			t.Parallel()

			s := newScene(t)
			s.Execution = "{place: Pod, keepFor: " + keep + ", " + small + "}"
			s.Open("present")
			s.apply(t, waiting)
			s.ready(t)
			Eventually(t, reason, func() bool {
				return len(s.jobs(t)) == 0 && len(cp.List(t, "v1", "Pod", s.Namespace)) == 0 && len(s.secrets(t)) == 0
			})
			s.ready(t)
		})
	}
}
