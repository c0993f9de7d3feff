package e2e

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// Templates of an XR and its Composition.
const (
	// compositionOf a kind of XR. What the function is told comes after it.
	compositionOf = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata:
  name: [[.Composition]]
spec:
  compositeTypeRef: {apiVersion: e2e.example.org/v1, kind: [[.Kind]]}
  mode: Pipeline
  pipeline:
  - step: run-ansible
    functionRef: {name: function-ansible}
    input:
      apiVersion: ansible.fn.crossplane.io/v1alpha1
      kind: AnsibleRuns
`

	// xrOf a kind, with a Composition of its own.
	xrOf = `
---
apiVersion: e2e.example.org/v1
kind: [[.Kind]]
metadata:
  name: site
[[- if .Namespace]]
  namespace: [[.Namespace]]
[[- end]]
spec:
  crossplane:
    compositionRef: {name: [[.Composition]]}
  title: [[.Title]]
  directory: [[.Directory]]
  size: 42
`
)

// A definition of a kind of XR. The properties of its spec and its status are YAML in
// flow style; a spec without properties may have anything in it.
type definition struct {
	kind, plural string // The default plural is the kind in lower case with an s.
	group        string // The default is e2e.example.org.
	scope        string // Legacy XRs, which may have a claim, have none.
	claim        string
	spec, status string
}

// String is the manifest of the definition, and a separator.
func (d definition) String() string {
	plural := cmp.Or(d.plural, strings.ToLower(d.kind)+"s")
	version, scope := "v2", "scope: "+d.scope

	if d.claim != "" {
		version = "v1"
		scope = fmt.Sprintf("claimNames: {kind: %s, plural: %ss}\n  connectionSecretKeys: [password]", d.claim, strings.ToLower(d.claim))
	}

	spec := "x-kubernetes-preserve-unknown-fields: true"
	if d.spec != "" {
		spec = "properties: {" + d.spec + "}"
	}

	return fmt.Sprintf(`
apiVersion: apiextensions.crossplane.io/%[1]s
kind: CompositeResourceDefinition
metadata: {name: %[3]s.%[4]s}
spec:
  %[5]s
  group: %[4]s
  names: {kind: %[2]s, plural: %[3]s}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, %[6]s}
          status: {type: object, properties: {%[7]s}}
---
`, version, d.kind, plural, cmp.Or(d.group, "e2e.example.org"), scope, spec, d.status)
}

// siteOf is the definition of a kind of XR that stands for a page.
func siteOf(kind, scope string) definition {
	return definition{
		kind: kind, scope: scope,
		spec:   "title: {type: string}, directory: {type: string}, size: {type: integer}",
		status: "path: {type: string}, size: {type: integer}",
	}
}

// data is what manifests are templates for.
type data struct {
	Kind, Namespace, Composition, Title, Directory, Source, Status, Marker, Galaxy, Git, Helm string
}

// siteWith a Composition and a configuration, of this spec, of its own.
func siteWith(t *testing.T, d data, composition, config string) Object {
	t.Helper()

	objs := cp.Apply(t, siteOf(d.Kind, "Namespaced").String()+composition+`
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec: `+config+"\n"+xrOf, d)

	return objs[len(objs)-1]
}

// TestNamespacedXR creates, changes and removes a namespaced XR with a role from a collection in a git repository.
func TestNamespacedXR(t *testing.T) {
	t.Parallel()

	d := data{Kind: "Site", Namespace: cp.Namespace(t), Composition: "namespaced-sites", Title: "Hello", Directory: directory(t), Source: site().Git(t)}

	objs := cp.Apply(t, siteOf("Site", "Namespaced").String()+compositionOf+`
      defaults:
        providerConfigRef: {kind: ProviderConfig, name: sites}
      runs:
      - name: page
        role: acme.site.page
        vars:
          title: "${xr.spec.title}"
          directory: "${xr.spec.directory}"
          size: "${xr.spec.size}"
          literal: "{{ directory }}/x"
      status:
        path: "${runs.page.outputs.path}"
        size: "${xr.spec.size + 1}"
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: sites}
spec:
  requirements: |
    collections:
    - name: [[.Source]]
      type: git
      version: 1.0.0
`+xrOf, d)
	xr := objs[len(objs)-1]
	page := filepath.Join(d.Directory, "page")

	cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"),
		Field("status.path", page), Field("status.size", 43))

	if got := readFile(t, page); got != "Hello" {
		t.Errorf("The role should have written the page: want %q, got %q", "Hello", got)
	}

	run := composedRun(t, xr)
	if run.APIVersion != apiNamespaced || run.Namespace != d.Namespace {
		t.Errorf("A namespaced XR should become an AnsibleRun of %s in its namespace, got %+v", apiNamespaced, run)
	}

	u := cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"),
		Field("status.atProvider.lastRun.phase", "Succeeded"),
		Field("status.atProvider.lastRun.trigger", "Created"),
		Field("status.atProvider.content.collections", "[map[name:acme.site version:1.0.0]]"))
	if got := Value(u, "spec.forProvider.unsafeVars.size"); got != int64(42) {
		t.Errorf("A number should stay one: want 42, got %v (%T)", got, got)
	}
	if got := Value(u, "spec.forProvider.vars"); len(got.(map[string]any)) != 1 {
		t.Errorf("Only literal variables should be in vars, got %v", got)
	}

	out := cp.Kubectl(t, "get", "ansibleruns.ansible.m.crossplane.io", "-n", d.Namespace)
	if head := strings.Join(strings.Fields(strings.SplitN(out, "\n", 2)[0]), " "); head != "NAME RUN READY SYNCED PHASE LAST-RUN AGE" {
		t.Errorf("kubectl get: got columns %q", head)
	}

	// What an application developer writes is text, whatever it looks like.
	d.Title = `"{{ lookup('pipe', 'id') }} ${xr.spec.title}"`
	cp.Apply(t, strings.TrimPrefix(xrOf, "\n---"), d)
	Eventually(t, "the page to have the new title", func() bool {
		return readFile(t, page) == `{{ lookup('pipe', 'id') }} ${xr.spec.title}`
	})
	cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.lastRun.trigger", "Changed"))
	cp.WaitFor(t, xr, Condition("Ready", "True"))

	// The absent run fails while the page is locked, and keeps the object.
	touch(t, filepath.Join(d.Directory, "locked"))
	cp.Delete(t, xr)
	cp.Delete(t, run)
	cp.WaitFor(t, run,
		Field("status.atProvider.lastRun.state", "absent"),
		Field("status.atProvider.lastRun.phase", "Failed"),
		Message("Synced", "Refuse to remove a locked page"))

	if !exists(page) {
		t.Error("The page should be there until the absent run got to it.")
	}

	needs.OK(t, os.Remove(filepath.Join(d.Directory, "locked")))
	cp.WaitGone(t, run)

	if exists(page) {
		t.Error("The object should go only after the absent run has removed the page.")
	}
	cp.WaitGone(t, xr)
}

// TestClusterScopedXR creates, changes and removes a cluster-scoped XR, with an inline
// playbook and a role from an archive.
func TestClusterScopedXR(t *testing.T) {
	t.Parallel()

	archive := site().Tarball(t)
	d := data{Kind: "ClusterSite", Composition: "cluster-sites", Title: "Hello", Directory: directory(t), Source: archive, Status: "runs.page.outputs"}
	composition := compositionOf + `
      runs:
      - name: page
        providerConfigRef: {name: e2e-cluster-sites}
        vars:
          title: "${xr.spec.title}"
          directory: "${xr.spec.directory}"
        playbookInline: |
          - hosts: localhost
            gather_facts: false
            tasks:
            - ansible.builtin.include_role: {name: acme.site.page}
      status: "${[[.Status]]}"
`

	objs := cp.Apply(t, siteOf("ClusterSite", "Cluster").String()+composition+`
---
apiVersion: ansible.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {name: e2e-cluster-sites}
spec:
  requirements: |
    collections:
    - name: [[.Source]]
      type: file
`+xrOf, d)
	xr := objs[len(objs)-1]
	page := filepath.Join(d.Directory, "page")

	cp.WaitFor(t, xr, Condition("Ready", "True"), Field("status.path", page))

	run := composedRun(t, xr)
	if run.APIVersion != apiCluster || run.Namespace != "" {
		t.Errorf("A cluster scoped XR should become an AnsibleRun of %s, got %+v", apiCluster, run)
	}
	if got := readFile(t, page); got != "Hello" {
		t.Errorf("The role should have written the page: want %q, got %q", "Hello", got)
	}

	// A status with a value that is not there keeps what Crossplane has applied, and no value of another writer.
	cp.Kubectl(t, "patch", "clustersites.e2e.example.org", "site", "--subresource=status", "--field-manager=another-writer", "--type=merge", "-p", `{"status": {"size": 7}}`)

	d.Status = "runs.page.outputs.later"
	cp.Apply(t, composition, d)
	u := cp.WaitFor(t, xr, Message("AnsibleRunsReady", "status: runs.page.outputs.later is not there yet"), Field("status.path", page), Field("status.size", 7))

	for _, entry := range u.GetManagedFields() {
		if entry.Subresource == "status" && strings.Contains(entry.FieldsV1.String(), "f:size") != (entry.Manager == "another-writer") {
			t.Errorf("Only another-writer should own the size, got %s: %s", entry.Manager, entry.FieldsV1)
		}
	}

	// A field that is not in it any more is removed.
	d.Status = "{'size': 8}"
	cp.Apply(t, composition, d)
	cp.WaitFor(t, xr, Condition("Ready", "True"), Field("status.path", nil), Field("status.size", 8))

	cp.Kubectl(t, "delete", "--cascade=foreground", "--timeout=10m", "clustersites.e2e.example.org", "site")
	cp.WaitGone(t, run)

	if exists(page) {
		t.Error("The page should be gone with the XR.")
	}
}

// TestMistakes shows the mistakes of a Composition on the XR, all at once. Of one that has none, the function gets the schema
// of the XR from core, and so knows which fields there are.
func TestMistakes(t *testing.T) {
	t.Parallel()

	d := data{Kind: "Site", Namespace: cp.Namespace(t), Composition: "mistaken-sites", Title: "Hello", Directory: directory(t)}
	composition := compositionOf + `
      runs:
      - name: page
        role: "[[.Source]]"
        vars:
          title: "${[[.Status]]}"
          size: "${xr.spec.size +[[.Title]]}"
`
	d.Source, d.Status, d.Title = "${xr.spec.title}", "runs.pgae.outputs.title", ""
	cp.Apply(t, siteOf("Site", "Namespaced").String()+composition, d)

	d.Title = "Hello"
	xr := cp.Apply(t, strings.TrimPrefix(xrOf, "\n---"), d)[0]
	cp.WaitFor(t, xr, Condition("Synced", "False"), Message("Synced", "runs[0].role"), Message("Synced", "runs[0].vars.title"), Message("Synced", "runs[0].vars.size"))

	d.Source, d.Status, d.Title = "acme.site.page", "xr.spec.titel", "1"
	cp.Apply(t, composition, d)

	// Releases of core without that feature leave it to say that a value is not there.
	if !controlplane.Since("v2.2") {
		cp.WaitFor(t, xr, Condition("AnsibleRunsReady", "False"), Message("AnsibleRunsReady", "xr.spec.titel is not set"))
		return
	}

	cp.WaitFor(t, xr, Condition("Synced", "False"),
		Message("Synced", `runs[0].vars.title: Invalid value: "${xr.spec.titel}": xr.spec has no field "titel" (did you mean "title"?)`))
}
