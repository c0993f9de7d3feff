package e2e

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// Configurations in the namespace of a test.
const (
	emptyConfig = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec: {}
---
`

	// siteConfig requires the collection site, from a repository.
	siteConfig = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec:
  requirements: |
    collections: [{name: "[[.Source]]", type: git, version: 1.0.0}]
---
`
)

// runData is what the manifests of AnsibleRuns are templates for.
type runData struct {
	Namespace, Directory, Source, Marker string
}

// TestConnectionDetails shows what goes to the connection secret, and nowhere else, however much output there is.
func TestConnectionDetails(t *testing.T) {
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
              endpoint: db.example.org
              connection_details: {password: "{{ ['battery', 'staple'] | join('-') }}", port: 5432}
          register: published
        - name: Show what was published
          ansible.builtin.debug: {var: published.ansible_stats.data.connection_details.password}
`, d)[1]
	u := cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"), Field("status.atProvider.outputs", "map[endpoint:db.example.org]"),
		That("with its output", func(u *unstructured.Unstructured) bool {
			return Value(u, "status.atProvider.keptOutput.configMap") != nil
		}))

	secret := Object{APIVersion: "v1", Kind: "Secret", Namespace: d.Namespace, Name: "connection"}
	published := []Expectation{
		Field("data.password", base64.StdEncoding.EncodeToString([]byte("battery-staple"))), Field("data.port", base64.StdEncoding.EncodeToString([]byte("5432"))),
		Field("type", "connection.crossplane.io/v1alpha1"),
	}
	cp.WaitFor(t, secret, published...)

	kept := cp.Kubectl(t, "get", "configmap", "-n", d.Namespace, fmt.Sprint(Value(u, "status.atProvider.keptOutput.configMap")), "-o", "jsonpath={.data.output}")
	if !strings.Contains(kept, "TASK [Show what was published]") || strings.Contains(kept, "battery-staple") {
		t.Errorf("The output should be kept, without connection details, got %s", kept)
	}

	// They are published again at once, not at the next poll.
	cp.Delete(t, secret)
	cp.WaitFor(t, secret, published...)

	if strings.Contains(cp.Provider.Log(t), "battery-staple") {
		t.Error("Connection details should not be in the log.")
	}
}
