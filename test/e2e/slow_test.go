package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// TestSlowSources has one namespace install from a server that never answers, more
// than there are places for, beside a provider with one place for runs. It restarts
// the provider, so that it is not parallel.
func TestSlowSources(t *testing.T) {
	needsProvider(t, "places for installations are the provider's")
	cp.Provider.Restart(t, "--max-concurrent-runs=1", "--max-concurrent-installs=2")

	asked := make(chan string, 16)
	left := make(chan string, 16)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path

		<-r.Context().Done()

		left <- r.URL.Path
	}))
	t.Cleanup(server.Close)

	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Source: server.URL}
	for i := range 3 {
		d.Names = append(d.Names, fmt.Sprintf("slow-%d", i))
	}

	slow := cp.Apply(t, `
[[- range .Names]]
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[$.Namespace]], name: [[.]]}
spec:
  requirements: |
    roles: [{name: role, src: "[[$.Source]]/[[.]].tar.gz"}]
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[$.Namespace]], name: [[.]]}
spec:
  providerConfigRef: {kind: ProviderConfig, name: [[.]]}
  forProvider:
    role: role
[[- end]]
`, d)
	for i := 1; i < len(slow); i += 2 {
		cp.WaitFor(t, slow[i], Field("status.atProvider.lastRun.phase", "Installing"), Reason("Ready", "Running"))
	}

	<-asked

	other := runData{Namespace: cp.Namespace(t), Directory: directory(t), Source: site().Git(t)}
	run := cp.Apply(t, siteConfig+`
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: run}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    role: acme.site.first
    vars: {directory: "[[.Directory]]"}
`, other)[1]
	cp.WaitFor(t, run, Condition("Ready", "True"))

	// An installation that no object waits for is ended.
	for i := 1; i < len(slow); i += 2 {
		cp.Delete(t, slow[i])
		cp.WaitGone(t, slow[i])
	}

	<-left
}
