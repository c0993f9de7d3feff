package install

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// work is two AnsibleRuns that note in a ledger when they begin and when they end:
// one that is over at once, and one that waits for a file.
const work = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ClusterProviderConfig
metadata: {name: upgrade}
spec: {}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata:
  namespace: default
  name: idle
  annotations: {ansible.crossplane.io/runPolicy: RunOnChange}
spec:
  forProvider:
    vars: {name: idle}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - ansible.builtin.shell: echo {{ name }} {{ ansible_provider_meta.managed_resource.state }} >> /ledger/lines
  providerConfigRef: {kind: ClusterProviderConfig, name: upgrade}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata:
  namespace: default
  name: busy
  annotations: {ansible.crossplane.io/runPolicy: RunOnChange}
spec:
  forProvider:
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - ansible.builtin.shell: echo busy begins >> /ledger/lines
          when: ansible_provider_meta.managed_resource.state == 'present'
        - ansible.builtin.wait_for: {path: /ledger/go, timeout: 240}
          when: ansible_provider_meta.managed_resource.state == 'present'
        - ansible.builtin.shell: echo busy ends >> /ledger/lines
          when: ansible_provider_meta.managed_resource.state == 'present'
        - ansible.builtin.shell: echo busy absent >> /ledger/lines
          when: ansible_provider_meta.managed_resource.state == 'absent'
  providerConfigRef: {kind: ClusterProviderConfig, name: upgrade}
`

// authorities that the example of operations mounts.
const authorities = `
apiVersion: v1
kind: ConfigMap
metadata: {namespace: crossplane-system, name: authorities}
data: {ca-bundle.crt: ""}
`

// TestUpgrade goes from one version to the next with objects in place and a run in
// progress, as the documentation says: with an account that all versions share.
func TestUpgrade(t *testing.T) {
	install(t)
	ledger := filepath.Join(host.dir, "ledger")
	if err := open(ledger); err != nil {
		t.Fatal(err)
	}
	lines := func() string {
		b, _ := os.ReadFile(filepath.Join(ledger, "lines"))
		return string(b)
	}
	provider := object("pkg.crossplane.io/v1", "Provider", "", providerName)

	// The example, with a volume of this machine for the ledger.
	config := strings.NewReplacer(
		"            - --state-dir=/state\n", "            - --state-dir=/state\n            - --write-path=/ledger\n",
		"            volumeMounts:\n", "            volumeMounts:\n            - {name: ledger, mountPath: /ledger}\n",
		"          volumes:\n", "          volumes:\n          - name: ledger\n            hostPath: {path: "+ledger+"}\n",
	).Replace(example(t, "operations/runtime.yaml"))
	cp.Apply(t, authorities+"---\n"+example(t, "operations/volume.yaml")+"---\n"+config)
	cp.Kubectl(t, "", "patch", "provider.pkg", providerName, "--type=merge", "-p", `{"spec":{"runtimeConfigRef":{"name":"provider-ansible"}}}`)
	eventually(t, "the provider with its new configuration", func() bool {
		pods := host.Pods("provider-ansible")
		return len(pods) == 1 && pods[0].Spec.ServiceAccountName == "provider-ansible"
	})

	cp.Apply(t, work)
	idle := object("ansible.m.crossplane.io/v1alpha1", "AnsibleRun", "default", "idle")
	busy := object("ansible.m.crossplane.io/v1alpha1", "AnsibleRun", "default", "busy")
	cp.WaitFor(t, idle, "Ready=True", "Synced=True")
	first := field(idle, "status.atProvider.lastRun.id")
	cp.WaitUntil(t, busy, "a run in progress", func(u *unstructured.Unstructured) bool {
		return field(u, "status.atProvider.lastRun.phase") == "Running" && strings.Contains(lines(), "busy begins")
	})
	running := field(busy, "status.atProvider.lastRun.id")

	publish(t, "v0.2.0")
	old := host.Pods("provider-ansible")[0]
	cp.Kubectl(t, "", "patch", "provider.pkg", providerName, "--type=merge", "-p",
		`{"spec":{"package":"registry.example.org/crossplane-ansible/provider-ansible:v0.2.0"}}`)
	eventually(t, "the old provider to be told to stop", func() bool { return strings.Contains(old.Log(), "Stopping") })
	if err := os.WriteFile(filepath.Join(ledger, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new provider to lead", func() bool {
		for _, p := range host.Pods("provider-ansible") {
			if p != old && strings.Contains(p.Log(), "v0.2.0") && strings.Contains(p.Log(), "Starting workers") {
				return true
			}
		}
		return false
	})
	cp.WaitFor(t, provider, "Installed=True", "Healthy=True")
	cp.WaitFor(t, busy, "Ready=True", "Synced=True")
	cp.WaitFor(t, idle, "Ready=True", "Synced=True")

	for name, got := range map[string][2]string{
		"busy": {running, field(busy, "status.atProvider.lastRun.id")},
		"idle": {first, field(idle, "status.atProvider.lastRun.id")},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: want run %s to be the last one still, got %s", name, got[0], got[1])
		}
	}
	// What Prometheus finds, by the port that the Service of the examples names.
	service, _, _ := strings.Cut(example(t, "operations/monitor.yaml"), "\n---\n")
	cp.Apply(t, service)
	rsp, err := host.Pods("provider-ansible")[0].Get("http://127.0.0.1:8080/metrics")
	if err != nil {
		t.Fatalf("cannot get metrics: %s", err)
	}
	defer rsp.Body.Close()
	if b, err := io.ReadAll(rsp.Body); err != nil || !strings.Contains(string(b), "provider_ansible_runs_limit 8") {
		t.Errorf("metrics: want provider_ansible_runs_limit 8, got %v\n%s", err, b)
	}

	// The new one carries out what comes, and what has come before was carried out
	// once.
	cp.Kubectl(t, "", "delete", "ansibleruns.ansible.m.crossplane.io", "-n", "default", "idle", "--wait=false")
	cp.WaitGone(t, idle)
	if want, got := "idle present\nbusy begins\nbusy ends\nidle absent\n", lines(); want != got && got != "busy begins\nidle present\nbusy ends\nidle absent\n" {
		t.Errorf("ledger: want\n%sgot\n%s", want, got)
	}
}

// example of the documentation.
func example(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, "examples", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
