package e2e

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// reporting is an AnsibleRun whose play says how far it has come, and waits to
// be let go in the middle.
const reporting = `
apiVersion: [[.Group]]/v1alpha1
kind: ProviderConfig
metadata: [[.Config]]
spec: {}
---
apiVersion: [[.Group]]/v1alpha1
kind: AnsibleRun
metadata: [[.Run]]
spec:
  providerConfigRef: [[.Kind]]
  forProvider:
    vars: {directory: "[[.Directory]]", title: "[[.Title]]"}
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

// TestReport shows outputs and conditions that content reports, while its play
// still runs and at its end.
func TestReport(t *testing.T) {
	t.Parallel()

	for _, group := range []string{namespaced, clusterScoped} {
		t.Run(group, func(t *testing.T) {
			t.Parallel()

			ns := cp.Namespace(t)
			name := "report-" + ns
			d := policyData{Group: group, Directory: directory(t), Title: "please"}
			if group == namespaced {
				d.Config, d.Run = fmt.Sprintf("{namespace: %s, name: default}", ns), fmt.Sprintf("{namespace: %s, name: %s}", ns, name)
				d.Kind = "{kind: ProviderConfig, name: default}"
			} else {
				d.Config, d.Run, d.Kind = fmt.Sprintf("{name: %s}", name), fmt.Sprintf("{name: %s}", name), fmt.Sprintf("{name: %s}", name)
			}
			run := cp.Apply(t, reporting, d)[1]

			// The play goes on only once this was seen.
			u := cp.WaitFor(t, run,
				Field("status.atProvider.lastRun.phase", "Running"),
				Field("status.atProvider.outputs.stage", "installing"), Field("status.atProvider.outputs.url", "https://example.org"),
				Condition("SiteUp", "False"), Reason("SiteUp", "Installing"), Message("SiteUp", "It takes a while, please."),
				Condition("example.org/Licensed", "True"), Condition("Ready", "False"))
			if got := ConditionOf(u, "SiteUp")["observedGeneration"]; got != u.GetGeneration() {
				t.Errorf("A condition should be of the generation that the run is for, got %v", got)
			}
			licensed := transition(u, "example.org/Licensed")
			touch(t, filepath.Join(d.Directory, "go"))

			u = cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"), Condition("SiteUp", "True"), Reason("SiteUp", "Answered"))
			if got := fmt.Sprint(Value(u, "status.atProvider.outputs")); got != "map[size:3 stage:done url:https://example.org]" {
				t.Errorf("What was reported should be over what set_stats published, got %s", got)
			}

			// Another generation says the same.
			d.Title = "again"
			cp.Apply(t, reporting, d)
			u = cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.lastRun.phase", "Succeeded"), That("of the new generation", func(u *unstructured.Unstructured) bool {
				return ConditionOf(u, "example.org/Licensed")["observedGeneration"] == u.GetGeneration()
			}))
			if got := transition(u, "example.org/Licensed"); got != licensed {
				t.Errorf("The time of a condition should be that of its last change: was %s, got %s", licensed, got)
			}

			// What is not reported any more goes.
			d.Title = "changed"
			cp.Apply(t, reporting, d)
			u = cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"), That("without the condition", func(u *unstructured.Unstructured) bool {
				return ConditionOf(u, "example.org/Licensed") == nil
			}))
			if got := fmt.Sprint(Value(u, "status.atProvider.outputs")); got != "map[size:3 stage:done]" {
				t.Errorf("Outputs should be those of the last run, got %s", got)
			}

			cp.Delete(t, run)
			u = cp.WaitFor(t, run, Condition("SiteUp", "Unknown"), Reason("SiteUp", "Removing"))
			if got := Value(u, "status.atProvider.outputs.stage"); got != "done" {
				t.Errorf("What is removed should put nothing out, got %v", got)
			}
			touch(t, filepath.Join(d.Directory, "gone"))
			cp.WaitGone(t, run)
		})
	}
}

// TestReportMistakes shows what the module refuses, on the object.
func TestReportMistakes(t *testing.T) {
	t.Parallel()

	ns := cp.Namespace(t)
	cp.Apply(t, "apiVersion: ansible.m.crossplane.io/v1alpha1\nkind: ProviderConfig\nmetadata: {namespace: [[.]], name: default}\nspec: {}\n", ns)

	cases := map[string]struct {
		reason string
		task   string
		want   string
	}{
		"own": {
			reason: "The provider's own conditions should not be the content's.",
			task:   "{conditions: [{type: Ready, status: true, reason: Forged}]}",
			want:   "conditions[0]: type 'Ready' is not the content's to set: choose another, such as SiteReady",
		},
		"reason": {
			reason: "A mistake should say what to write instead.",
			task:   "{conditions: [{type: SiteUp, status: true, reason: It works}]}",
			want:   "conditions[0]: reason 'It works' must be one word in CamelCase such as ConnectionRefused",
		},
		"hidden": {
			reason: "So should one that no_log hides.",
			task:   "{outputs: {a: 1}}\n            no_log: true",
			want:   "no_log: true hides what crossplane.ansible.status is to report",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := cp.Apply(t, fmt.Sprintf(`
apiVersion: %s
kind: AnsibleRun
metadata: {namespace: %s, name: %s}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    retryLimit: 1
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
          - name: Report
            crossplane.ansible.status: %s
            when: ansible_provider_meta.managed_resource.state == 'present'
`, apiNamespaced, ns, name, tc.task), nil)[0]
			u := cp.WaitFor(t, run, Condition("Synced", "False"), Message("Synced", tc.want), Condition("Ready", "False"), Field("status.atProvider.lastRun.phase", "Failed"))
			if got := fmt.Sprint(Value(u, "status.atProvider.lastRun.failures")); !strings.Contains(got, tc.want) {
				t.Errorf("%s\nThe failure should have it, too, got %s", tc.reason, got)
			}
		})
	}
}

// TestOutputsOutOfRange publishes what the API server refuses. The object goes on.
func TestOutputsOutOfRange(t *testing.T) {
	t.Parallel()

	run := cp.Apply(t, emptyConfig+`
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: run}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    retryLimit: 1
    vars: {digits: 617}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - ansible.builtin.set_stats: {data: {published: "{{ ('7' * digits) | int }}"}}
`, runData{Namespace: cp.Namespace(t)})[1]
	cp.WaitFor(t, run, Condition("Ready", "False"), Field("status.atProvider.lastRun.phase", "Failed"), Field("status.atProvider.lastRun.reason", "InvalidOutputs"),
		Message("Synced", "publish it as a string"))

	cp.Kubectl(t, "patch", "ansiblerun.ansible.m.crossplane.io", "-n", run.Namespace, run.Name, "--type=merge", "-p", `{"spec":{"forProvider":{"vars":{"digits":3}}}}`)
	cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.outputs.published", int64(777)))

	cp.Delete(t, run)
	cp.WaitGone(t, run)
}

// TestConnectionDetailsElsewhere shows that connection details are not in the
// output either, however much of it there is.
func TestConnectionDetailsElsewhere(t *testing.T) {
	t.Parallel()

	d := runData{Namespace: cp.Namespace(t)}
	run := cp.Apply(t, `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec: {vars: {ANSIBLE_SHOW_CUSTOM_STATS: "true"}}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: run, annotations: {ansible.crossplane.io/keepOutput: "true"}}
spec:
  writeConnectionSecretToRef: {name: connection}
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    verbosity: 3
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - name: Publish
          ansible.builtin.set_stats:
            data:
              connection_details: {password: "{{ ['battery', 'staple'] | join('-') }}", pin: 917}
          register: published
        - name: Show what was published
          ansible.builtin.debug: {var: published.ansible_stats.data.connection_details.password}
        - name: Report what was published
          crossplane.ansible.status:
            outputs: {text: "The password is {{ ['battery', 'staple'] | join('-') }}."}
`, d)[1]
	u := cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"),
		Field("status.atProvider.outputs.text", "The password is ********."), That("with its output", func(u *unstructured.Unstructured) bool {
			return Value(u, "status.atProvider.keptOutput.configMap") != nil
		}))
	cp.WaitFor(t, Object{APIVersion: "v1", Kind: "Secret", Namespace: d.Namespace, Name: "connection"},
		Field("data.password", base64.StdEncoding.EncodeToString([]byte("battery-staple"))))

	kept := cp.Kubectl(t, "get", "configmap", "-n", d.Namespace, fmt.Sprint(Value(u, "status.atProvider.keptOutput.configMap")), "-o", "jsonpath={.data.output}")
	if !strings.Contains(kept, "TASK [Show what was published]") {
		t.Errorf("The output should be kept, got %s", kept)
	}
	for _, secret := range []string{"battery-staple", "917"} {
		if strings.Contains(kept, secret) {
			t.Errorf("The output should not have %q, got %s", secret, kept)
		}
	}
	if strings.Contains(cp.Provider.Log(t), "battery-staple") {
		t.Error("Connection details should not be in the log.")
	}
}
