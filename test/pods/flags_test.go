package pods

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// TestFlags has all that needs other flags of the provider, so that it restarts once.
func TestFlags(t *testing.T) {
	cp.Provider.Restart(t, "--confinement=Off", "--content-ttl=1s")

	t.Run("Attacks", attackUnconfined)
	t.Run("ContentClaim", contentClaim)
	t.Run("ProjectMoves", projectMoves)
}

// projectMoves has runs find out themselves which commit a branch has.
func projectMoves(t *testing.T) {
	t.Parallel()

	root := t.TempDir()
	repo := filepath.Join(root, "moving.git")

	// head of the branch, after a commit of a play that notes a text.
	head := func(text string) string {
		t.Helper()
		needs.Write(t, repo, map[string]string{
			"site.yml": "- hosts: localhost\n  gather_facts: false\n  tasks: [{ansible.builtin.debug: {msg: \"{{ lookup('ansible.builtin.url', ledger ~ '/note/" + text + "') }}\"}}]\n",
		})
		return sources.Commit(t, repo)
	}
	head("first")
	server := sources.Start(t, sources.Git(t, root), sources.Options{Host: cp.Stack.Address()})

	s := newScene(t)
	s.apply(t, config+theRun+`
    project: {src: "`+server.URL+`/moving.git", version: main}
    playbook: site.yml
    vars: {ledger: "[[.URL]]"}
`)
	s.ready(t)
	second := head("second")

	// The content of the first run is due a second after that.
	cp.WaitFor(t, s.run(), That("its content is due", func(u *unstructured.Unstructured) bool {
		resolved, err := time.Parse(time.RFC3339, fmt.Sprint(Value(u, "status.atProvider.content.resolved")))
		return err == nil && time.Since(resolved) > time.Second
	}))
	s.request(t, "moved")
	s.ready(t, Field("status.atProvider.content.project.version", second))

	needs.OK(t, os.Rename(repo, repo+".away"))
	cp.Kubectl(t, "annotate", "--overwrite", "--namespace="+s.Namespace, "ansiblerun.ansible.m.crossplane.io", "run", "crossplane.io/reconcile-requested-at=down")
	cp.WaitFor(t, s.run(), Field("status.atProvider.handledRequest", "down"), Field("status.atProvider.lastRun.reason", "InstallFailed"))
	needs.OK(t, os.Rename(repo+".away", repo))
	s.request(t, "up")

	if got := strings.Join(s.Notes(), " "); got != "first second second" {
		t.Errorf("A request should run what the branch has then, and nothing more: got %q", got)
	}
}
