package e2e

import (
	"fmt"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// reporting is an AnsibleRun with a play that says how far it has come, and waits in the middle until it may go on.
const reporting = `
apiVersion: ansible.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {name: [[.Namespace]]}
spec: {}
---
apiVersion: ansible.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {name: [[.Namespace]]}
spec:
  providerConfigRef: {name: [[.Namespace]]}
  forProvider:
    vars: {directory: "[[.Directory]]", title: "[[.Marker]]"}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        collections: [crossplane.ansible]
        tasks:
        - name: Say that it begins
          status:
            outputs: {stage: installing, url: https://example.org}
            conditions:
            - {type: SiteUp, status: false, reason: Installing, message: "It takes a while, {{ title }}."}
            - {type: example.org/Licensed, status: true, reason: Paid}
          when: ansible_provider_meta.managed_resource.state == 'present' and title != 'changed'
        - name: Publish
          ansible.builtin.set_stats: {data: {stage: published, size: 3}}
        - name: Wait to be let go
          ansible.builtin.wait_for: {path: "{{ directory }}/go", timeout: 300}
          when: ansible_provider_meta.managed_resource.state == 'present'
        - name: Say that it is done
          crossplane.ansible.status:
            outputs: {stage: done}
            conditions: [{type: SiteUp, status: "{{ 1 == 1 }}", reason: Answered}]
          when: ansible_provider_meta.managed_resource.state == 'present'
        - name: Say that it goes
          crossplane.ansible.status:
            outputs: {stage: removing}
            conditions: [{type: SiteUp, status: Unknown, reason: Removing}]
          when: ansible_provider_meta.managed_resource.state == 'absent'
        - name: Wait to be let go for good
          ansible.builtin.wait_for: {path: "{{ directory }}/gone", timeout: 300}
          when: ansible_provider_meta.managed_resource.state == 'absent'
`

// transition is when a condition has got its status.
func transition(u *unstructured.Unstructured, kind string) string {
	return fmt.Sprint(ConditionOf(u, kind)["lastTransitionTime"])
}

// TestReport shows outputs and conditions that content reports, while its play still runs and at its end. The object is
// cluster scoped.
func TestReport(t *testing.T) {
	t.Parallel()

	d := runData{Namespace: "report-" + marker(), Directory: directory(t), Marker: "please"}
	run := cp.Apply(t, reporting, d)[1]

	// The play goes on only once this was seen.
	u := cp.WaitFor(t, run,
		Field("status.atProvider.lastRun.phase", "Running"),
		Field("status.atProvider.outputs.stage", "installing"), Field("status.atProvider.outputs.url", "https://example.org"),
		Condition("SiteUp", "False"), Reason("SiteUp", "Installing"), Message("SiteUp", "It takes a while, please."),
		Condition("example.org/Licensed", "True"), Condition("Ready", "False"))
	licensed := transition(u, "example.org/Licensed")
	touch(t, filepath.Join(d.Directory, "go"))

	// What was reported is over what set_stats has published.
	cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"), Condition("SiteUp", "True"), Reason("SiteUp", "Answered"),
		Field("status.atProvider.outputs", "map[size:3 stage:done url:https://example.org]"))

	// Another generation says the same.
	d.Marker = "again"
	cp.Apply(t, reporting, d)
	u = cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.lastRun.phase", "Succeeded"), That("of the new generation", func(u *unstructured.Unstructured) bool {
		return ConditionOf(u, "example.org/Licensed")["observedGeneration"] == u.GetGeneration()
	}))
	if got := transition(u, "example.org/Licensed"); got != licensed {
		t.Errorf("The time of a condition should be that of its last change: was %s, got %s", licensed, got)
	}

	// What is not reported any more goes, but what is removed puts nothing out.
	d.Marker = "changed"
	cp.Apply(t, reporting, d)
	cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"), Field("status.atProvider.outputs", "map[size:3 stage:done]"),
		That("without the condition", func(u *unstructured.Unstructured) bool { return ConditionOf(u, "example.org/Licensed") == nil }))

	cp.Delete(t, run)
	cp.WaitFor(t, run, Condition("SiteUp", "Unknown"), Reason("SiteUp", "Removing"), Field("status.atProvider.outputs.stage", "done"))
	touch(t, filepath.Join(d.Directory, "gone"))
	cp.WaitGone(t, run)
}
