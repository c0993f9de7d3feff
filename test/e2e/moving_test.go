package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// A moving AnsibleRun is of a branch of a project, with a collection of another branch.
type moving struct {
	run Object
	// project and collection are git repositories.
	project, collection string
	// namespace of the run, and the ledger of its plays.
	namespace, ledger string
}

// tasks of the project and of the role, which note that they were run.
func movingPlay(text string) map[string]string {
	return map[string]string{"web/site.yml": "- hosts: localhost\n  gather_facts: false\n  roles: [acme.site.first]\n  tasks:" + strings.ReplaceAll(ledger(text), "\n", "\n  ")}
}

// newMoving runs the content once.
func newMoving(t *testing.T) *moving {
	t.Helper()

	project := directory(t)
	writeFiles(t, project, movingPlay("play"))
	commit(t, project, "v1")

	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Source: "file://" + project, Marker: site().Git(t)}
	run := cp.Apply(t, `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec:
  requirements: |
    collections: [{name: "[[.Marker]]", type: git, version: main}]
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: run, annotations: {ansible.crossplane.io/runPolicy: RunOnChange}}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    project: {src: "[[.Source]]", version: main, path: web}
    playbook: site.yml
    vars: {directory: "[[.Directory]]"}
`, d)[1]
	cp.WaitFor(t, run, Condition("Ready", "True"))

	return &moving{
		run: run, project: project, collection: strings.TrimPrefix(d.Marker, "git+file://"),
		namespace: d.Namespace, ledger: filepath.Join(d.Directory, "ledger"),
	}
}

// moves the branches under a provider that looks at them every two seconds.
func (m *moving) moves(t *testing.T) {
	changed := func() {
		t.Helper()
		cp.WaitFor(t, m.run, Field("status.atProvider.lastRun.trigger", "Changed"), Field("status.atProvider.lastRun.phase", "Succeeded"), Condition("Ready", "True"))
	}
	requested := func(token string) {
		t.Helper()
		requestRun(t, m.namespace, "run", token)
		cp.WaitFor(t, m.run, Field("status.atProvider.handledRequest", token), Field("status.atProvider.lastRun.trigger", "Requested"),
			Field("status.atProvider.lastRun.phase", "Succeeded"), Condition("Ready", "True"))
	}

	// The same content is installed again, and is not run but on request.
	requested("restarted")

	// New commits, and no new versions.
	writeFiles(t, m.collection, map[string]string{"roles/first/tasks/main.yml": ledger("second")})
	commit(t, m.collection, "next")
	changed()

	// A request in between tells two changes apart.
	requested("between")
	writeFiles(t, m.project, movingPlay("other"))
	commit(t, m.project, "v2")
	changed()

	// Another directory of the repository is no change. The sources are down: what was installed is run.
	writeFiles(t, m.project, map[string]string{"database/site.yml": "[]\n"})
	commit(t, m.project, "v3")
	must(t, os.Rename(m.collection, m.collection+".away"))

	u := cp.WaitFor(t, m.run, Condition("ContentUpToDate", "False"), Reason("ContentUpToDate", "SourceUnavailable"),
		Message("ContentUpToDate", "cannot install collections: "), Message("ContentUpToDate", " goes on serving"), Condition("Ready", "True"), Condition("Synced", "True"))
	before := ConditionOf(u, "ContentUpToDate")["message"]
	requested("down")

	if now := ConditionOf(cp.Get(t, m.run), "ContentUpToDate")["message"]; now != before {
		t.Errorf("The condition should not change while nothing happens: it was %q, and is %q", before, now)
	}

	must(t, os.Rename(m.collection+".away", m.collection))
	cp.WaitFor(t, m.run, Condition("ContentUpToDate", "True"))

	want := "first play first play second play second play second other second other"
	if got := strings.Join(strings.Fields(readFile(t, m.ledger)), " "); got != want {
		t.Errorf("Each change should be run once, and each request: want %q, got %q", want, got)
	}
}
