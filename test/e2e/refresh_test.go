package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// TestContentIsResolvedAgain follows a branch of a git repository. It restarts
// the provider, so that it is not parallel.
func TestContentIsResolvedAgain(t *testing.T) {
	needsProvider(t, "Pods resolve content themselves, when they run it")
	c := site()
	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Source: c.Git(t)}
	repo := strings.TrimPrefix(d.Source, "git+file://")
	written := filepath.Join(d.Directory, "ledger")
	run := cp.Apply(t, `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec:
  requirements: |
    collections: [{name: "[[.Source]]", type: git, version: main}]
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata:
  namespace: [[.Namespace]]
  name: run
  annotations: {ansible.crossplane.io/runPolicy: RunOnChange}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    role: acme.site.first
    vars: {directory: "[[.Directory]]"}
`, d)[1]
	cp.WaitFor(t, run, Condition("Ready", "True"))

	// A restart with an empty store, as on a volume that goes with its pod.
	store := filepath.Join(cp.Stack.StateDir(), "content")
	cp.Provider.Stop(t)
	if err := os.RemoveAll(store); err != nil {
		t.Fatal(err)
	}
	cp.Provider.Start(t, "--content-ttl=2s")
	Eventually(t, "content that is resolved in the background", func() bool {
		sets, err := filepath.Glob(filepath.Join(store, "sets", "*", "content.json"))
		return err == nil && len(sets) > 0
	})
	requestRun(t, d.Namespace, "run", "restarted")
	cp.WaitFor(t, run, Field("status.atProvider.handledRequest", "restarted"), Condition("Ready", "True"))
	if got := readFile(t, written); got != "first\nfirst\n" {
		t.Errorf("The same content should not be run again but on request: got %q", got)
	}

	// A new commit, and no new version.
	writeFiles(t, repo, map[string]string{"roles/first/tasks/main.yml": ledger("second")})
	commit(t, repo, "next")
	cp.WaitFor(t, run, Field("status.atProvider.lastRun.trigger", "Changed"), Field("status.atProvider.lastRun.phase", "Succeeded"), Condition("Ready", "True"))
	if got := readFile(t, written); got != "first\nfirst\nsecond\n" {
		t.Errorf("New content should be run once: got %q", got)
	}

	// The source is down.
	if err := os.Rename(repo, repo+".away"); err != nil {
		t.Fatal(err)
	}
	u := cp.WaitFor(t, run, Condition("ContentUpToDate", "False"), Reason("ContentUpToDate", "SourceUnavailable"),
		Message("ContentUpToDate", "cannot install collections: "), Message("ContentUpToDate", " goes on serving"), Condition("Ready", "True"), Condition("Synced", "True"))
	before := ConditionOf(u, "ContentUpToDate")["message"]
	requestRun(t, d.Namespace, "run", "down")
	u = cp.WaitFor(t, run, Field("status.atProvider.handledRequest", "down"), Field("status.atProvider.lastRun.phase", "Succeeded"), Condition("Ready", "True"))
	if got := ConditionOf(u, "ContentUpToDate")["message"]; got != before {
		t.Errorf("The condition should not change while nothing happens: it was %q, and is %q", before, got)
	}

	// It is back.
	if err := os.Rename(repo+".away", repo); err != nil {
		t.Fatal(err)
	}
	cp.WaitFor(t, run, Condition("ContentUpToDate", "True"))
	if got := readFile(t, written); got != "first\nfirst\nsecond\nsecond\n" {
		t.Errorf("What was installed should have been run on request, and nothing else: got %q", got)
	}
}
