package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// windowed notes each of its runs. Its window opens in half a day.
const windowed = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: windowed}
spec: {}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: windowed}
spec:
  providerConfigRef: {kind: ProviderConfig, name: windowed}
  forProvider:
    [[.Title]]
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - name: Note the run
          ansible.builtin.shell: "echo {{ ansible_provider_meta.managed_resource.state }} >> [[.Directory]]/ledger"
`

// TestWindow has a run wait for its window, unless a run is asked for.
func TestWindow(t *testing.T) {
	t.Parallel()

	const name = "ansibleruns.ansible.m.crossplane.io/windowed"

	d := xrData{Namespace: cp.Namespace(t), Directory: directory(t), Title: `schedule: {cron: "every night"}`}
	run := cp.Apply(t, windowed, d)[1]
	cp.WaitFor(t, run, Condition("Synced", "False"), Message("Synced", "spec.forProvider is invalid: schedule.cron"))

	opens := time.Now().UTC().Add(12 * time.Hour).Truncate(time.Minute)
	d.Title = fmt.Sprintf(`window: {cron: "%d %d * * *", duration: 1m}`, opens.Minute(), opens.Hour())
	cp.Apply(t, windowed, d)
	cp.WaitFor(t, run, Condition("Synced", "True"), Reason("Ready", "WaitingForWindow"), Message("Ready", opens.Format(time.RFC3339)), Field("status.atProvider.lastRun", nil))
	Eventually(t, "the plugin to say why the run waits", func() bool {
		return strings.Contains(ansible(t, 0, d, "why", name), "waits for its window, which opens at "+opens.Format(time.RFC3339))
	})

	ansible(t, 0, d, "run", name)
	cp.WaitFor(t, run, Condition("Ready", "True"))

	// A deletion waits, until the window is not wanted any more.
	cp.Delete(t, run)
	cp.WaitFor(t, run, Reason("Deletable", "WaitingForWindow"))
	inOrder(t, ansible(t, 0, d, "why", name), "waits for its window")

	d.Title = "historyLimit: 3"
	cp.Apply(t, windowed, d)
	cp.WaitGone(t, run)

	if got := readFile(t, filepath.Join(d.Directory, "ledger")); got != "present\nabsent\n" {
		t.Errorf("Each run should happen once, got %q", got)
	}
}
