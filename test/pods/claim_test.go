package pods

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// claim is a volume of the node for content.
const claim = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: "content-[[.Namespace]]"}
spec:
  storageClassName: none
  accessModes: [ReadWriteMany]
  capacity: {storage: 1Gi}
  claimRef: {namespace: [[.Namespace]], name: content}
  hostPath: {path: "[[.Volume]]"}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {namespace: [[.Namespace]], name: content}
spec:
  storageClassName: none
  accessModes: [ReadWriteMany]
  resources: {requests: {storage: 1Gi}}
---`

// roleOf is a run of a role.
var roleOf = config + theRun + `
    role: kept
    vars: {ansible_lookup_url_timeout: 300, ledger: "[[.URL]]"}
`

// contentClaim installs content on a claim once. The next run finds it there, with nothing to install it from. The play
// cannot write to it, also where the kernel confines nothing.
func contentClaim(t *testing.T) {
	t.Parallel()

	s := newScene(t)

	volume := t.TempDir()
	needs.OK(t, os.Chmod(volume, 0o777)) // A directory of the node gets no group from Kubernetes.
	root := t.TempDir()
	needs.Write(t, filepath.Join(root, "kept"), map[string]string{
		"meta/main.yml": "galaxy_info: {author: The tests, description: A role, license: Apache-2.0, min_ansible_version: '2.14'}\n",
		"tasks/main.yml": `
- ansible.builtin.copy: {content: evil, dest: "{{ role_path }}/tasks/evil.yml"}
  ignore_errors: true
  register: written
- ansible.builtin.debug: {msg: "{{ lookup('ansible.builtin.url', ledger ~ '/note/' ~ (written is failed) | ternary('kept', 'changed')) }}"}
`,
	})
	if out, err := exec.CommandContext(t.Context(), "tar", "-czf", filepath.Join(root, "kept-1.0.0.tar.gz"), "-C", root, "kept").CombinedOutput(); err != nil {
		t.Fatalf("cannot archive a role: %s\n%s", err, out)
	}
	server := sources.Start(t, sources.Files(root), sources.Options{Host: cp.Stack.Address()})

	s.Volume = volume
	s.Execution = "{place: Pod, contentVolumeClaim: content, keepFor: 0s, " + small + "}" // A Pod that is kept keeps the claim.
	s.Config = fmt.Sprintf("requirements: \"roles: [{name: kept, src: '%s/kept-1.0.0.tar.gz'}]\"", server.URL)
	s.apply(t, claim+roleOf)
	s.ready(t, That("a role", func(u *unstructured.Unstructured) bool {
		l, _ := Value(u, "status.atProvider.content.roles").([]any)
		return len(l) == 1
	}))

	server.Stop()
	s.request(t, "1")

	if got := strings.Join(s.Notes(), " "); got != "kept kept" {
		t.Errorf("Both runs should have used a role that they could not change, got %q", got)
	}
	sets, err := filepath.Glob(filepath.Join(volume, "ansible-content/*/*/sets/*"))
	if err != nil || len(sets) != 1 {
		t.Errorf("One set should be on the claim, got %v, %v", sets, err)
	}
	if left, err := filepath.Glob(filepath.Join(volume, "ansible-content/*/*/tmp/*")); err != nil || len(left) > 0 {
		t.Errorf("Nothing else should be left there, got %v, %v", left, err)
	}
}
