package tree

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestManifests checks the objects for a tree.
func TestManifests(t *testing.T) {
	x := Tree{
		Project: "testdata", Role: "page", Inventory: []string{"inventories/stage", "web1,web2"}, Limit: "web",
		ExtraVars: []string{"a=b"}, Tags: []string{"web"}, SkipTags: []string{"slow"},
	}

	got, err := x.Manifests()
	needs.OK(t, err)

	dir, err := filepath.Abs("testdata")
	needs.OK(t, err)

	want := `apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata:
  name: default
  namespace: default
spec: {}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata:
  name: testdata
  namespace: default
spec:
  forProvider:
    inventories:
    - path: inventories/stage
      source: Project
    inventoryInline: |
      web1
      web2
    limit: web
    project:
      src: file://` + dir + `
    role: page
    skipTags:
    - slow
    tags:
    - web
    varFiles:
    - configMapKeyRef:
        key: 0.yml
        name: extra-vars
      source: ConfigMapKey
  providerConfigRef:
    kind: ProviderConfig
    name: default
---
apiVersion: v1
data:
  0.yml: '{"a":"b"}'
kind: ConfigMap
metadata:
  name: extra-vars
  namespace: default
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("Manifests(): -want, +got:\n%s", diff)
	}
}

// TestManifestsPaths has paths as a shell completes them.
func TestManifestsPaths(t *testing.T) {
	for path, ok := range map[string]bool{"./a/../b": true, "/srv/web/b": true, "../b": false, "/srv/b": false} {
		for _, x := range []Tree{{Project: "/srv/web", Playbook: path}, {Project: "/srv/web", Inventory: []string{path}}} {
			got, err := x.Manifests()

			switch {
			case ok && (err != nil || !strings.Contains(string(got), ": b\n")):
				t.Errorf("Manifests() of %v: want the path b, got %v\n%s", x, err, got)
			case !ok && (err == nil || !strings.Contains(err.Error(), `"`+path+`" is not in the project`)):
				t.Errorf("Manifests() of %v: want an error about the project, got %v", x, err)
			}
		}
	}
}
