package install

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// foreign is a provider of another project with the cluster scoped kinds, as v0.8 of the other provider-ansible: they
// have no categories, and all of them are active. Their schemas allow everything.
const (
	foreign = `
apiVersion: meta.pkg.crossplane.io/v1
kind: Provider
metadata: {name: provider-ansible}
`
	foreignKind = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.ansible.crossplane.io}
spec:
  group: ansible.crossplane.io
  names: {kind: %[1]s, listKind: %[1]sList, plural: %[2]s, singular: %[3]s}
  scope: Cluster
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    subresources: {status: {}}
`
	foreignRepository = "contrib/provider-ansible"
)

// published is an AnsibleRun as a provider leaves it that has applied it, with a field that
// only that provider knows.
const published = `
apiVersion: ansible.crossplane.io/v1alpha1
kind: ProviderConfig
metadata:
  name: foreign
  finalizers: [in-use.crossplane.io]
spec: {credentials: []}
---
apiVersion: ansible.crossplane.io/v1alpha1
kind: AnsibleRun
metadata:
  name: foreign
  annotations: {crossplane.io/external-name: foreign}
  finalizers: [finalizer.managedresource.crossplane.io]
spec:
  deletionPolicy: Delete
  providerConfigRef: {name: foreign}
  publishConnectionDetailsTo: {name: foreign}
  forProvider:
    playbookInline: |
      - hosts: localhost
        tasks:
        - ansible.builtin.debug: {msg: "{{ ansible_provider_meta.foreign.state }}"}
`

// used says of the AnsibleRun that it uses its configuration.
const used = `
apiVersion: ansible.crossplane.io/v1alpha1
kind: ProviderConfigUsage
metadata:
  name: %[1]s
  labels: {crossplane.io/provider-config: foreign}
  ownerReferences:
  - {apiVersion: ansible.crossplane.io/v1alpha1, kind: AnsibleRun, name: foreign, uid: %[1]s, controller: true, blockOwnerDeletion: true}
providerConfigRef: {name: foreign}
resourceRef: {apiVersion: ansible.crossplane.io/v1alpha1, kind: AnsibleRun, name: foreign, uid: %[1]s}
`

// TestForeign puts the provider in the place of another one with kinds of the same names, as
// the documentation says: the objects stay, and the provider carries on with them.
func TestForeign(t *testing.T) {
	explainFailure(t)
	if installed {
		t.Skip("The provider is there already: this is a test for the first one.")
	}

	publishForeign(t)
	apply(t, strings.ReplaceAll(mirror, "%s", warehouse)+`---
apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata: {name: provider-ansible}
spec: {package: "registry.example.org/`+foreignRepository+`:v0.8.0"}
`)
	provider := object("pkg.crossplane.io/v1", "Provider", "", "provider-ansible")
	before := Value(cp.WaitFor(t, provider, Condition("Installed", "True"), Condition("Healthy", "True")), "status.currentRevision")

	runs := object("apiextensions.crossplane.io/v1alpha1", "ManagedResourceDefinition", "", "ansibleruns.ansible.crossplane.io")
	cp.WaitFor(t, runs, Condition("Established", "True"))
	apply(t, published)
	run := object("ansible.crossplane.io/v1alpha1", "AnsibleRun", "", "foreign")
	uid := cp.Get(t, run).GetUID()
	apply(t, fmt.Sprintf(used, uid))

	// What the documentation says.
	cp.Kubectl(t, "annotate", "ansibleruns.ansible.crossplane.io", "--all", "crossplane.io/paused=true")
	saved := cp.Kubectl(t, "get", "ansibleruns.ansible.crossplane.io,providerconfigs.ansible.crossplane.io", "-o", "yaml")
	if !strings.Contains(saved, "ansible_provider_meta.foreign.state") {
		t.Errorf("saved objects: want the AnsibleRun, got\n%s", saved)
	}
	publish(t, "provider-ansible", "v0.1.0")
	cp.Kubectl(t, "patch", "provider.pkg", "provider-ansible", "--type=merge", "-p",
		`{"spec":{"package":"registry.example.org/crossplane-ansible/provider-ansible:v0.1.0"}}`)
	after, _ := Value(cp.WaitFor(t, provider, That("another revision", func(u *unstructured.Unstructured) bool {
		return Value(u, "status.currentRevision") != before
	})), "status.currentRevision").(string)
	revision := object("pkg.crossplane.io/v1", "ProviderRevision", "", after)
	cp.WaitFor(t, revision, Message("RevisionHealthy", "spec.names: Invalid value: Value is immutable"))
	cp.Kubectl(t, "annotate", "mrd", runs.Name, "crossplane.io/paused=true")
	Eventually(t, "Crossplane to say that the ManagedResourceDefinition is paused", func() bool {
		return strings.Contains(cp.Kubectl(t, "events", "--for=managedresourcedefinition/"+runs.Name, "--namespace=default"), "ReconciliationPaused")
	})
	cp.Kubectl(t, "delete", "mrd", runs.Name, "--cascade=orphan")
	cp.WaitFor(t, revision, Condition("RevisionHealthy", "True"), Condition("RuntimeHealthy", "True"))
	cp.WaitFor(t, provider, Condition("Installed", "True"), Condition("Healthy", "True"))

	for _, plural := range []string{"ansibleruns", "providerconfigs", "providerconfigusages"} {
		kind := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", plural+".ansible.crossplane.io")
		cp.WaitFor(t, kind, That("the new revision as the controller", func(u *unstructured.Unstructured) bool {
			c := metav1.GetControllerOf(u)

			return c != nil && c.Name == after
		}))
	}

	u := cp.WaitFor(t, run, Condition("Synced", "False"))
	if !Reason("Synced", "ReconcilePaused").Met(u) || Value(u, "status.atProvider.lastRun") != nil {
		t.Errorf("the AnsibleRun before it is resumed: want no run, and reason ReconcilePaused, got\n%v", u.Object)
	}
	cp.Kubectl(t, "annotate", "ansibleruns.ansible.crossplane.io", "foreign", "crossplane.io/paused-")
	u = cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"))
	got := []any{u.GetUID(), Value(u, "status.atProvider.lastRun.trigger"), Value(u, "status.atProvider.lastRun.phase")}
	if diff := cmp.Diff([]any{uid, "Created", "Succeeded"}, got); diff != "" {
		t.Errorf("the AnsibleRun: -want, +got:\n%s", diff)
	}

	cp.Kubectl(t, "delete", "ansibleruns.ansible.crossplane.io", "foreign", "--wait=false")
	cp.WaitGone(t, run)
	cp.Kubectl(t, "delete", "providerconfigs.ansible.crossplane.io", "foreign", "--wait=false")
	cp.WaitGone(t, object("ansible.crossplane.io/v1alpha1", "ProviderConfig", "", "foreign"))
}

// publishForeign publishes the foreign package. Its program sleeps, in an image of ours.
func publishForeign(t *testing.T) {
	t.Helper()

	img, err := tarball.ImageFromPath(filepath.Join(released, "provider-ansible.xpkg"), nil)
	needs.OK(t, err)
	config, err := img.ConfigFile()
	needs.OK(t, err)
	config = config.DeepCopy()
	config.Config.Entrypoint = []string{"sleep", "infinity"}
	config.Config.Labels = nil // They say which layer has the package.
	img, err = mutate.ConfigFile(img, config)
	needs.OK(t, err)

	dir := t.TempDir()
	runtime, source, file := filepath.Join(dir, "runtime.tar"), filepath.Join(dir, "package"), filepath.Join(dir, "foreign.xpkg")
	tag, err := name.NewTag("example.org/" + foreignRepository)
	needs.OK(t, err)
	kinds := ""
	for _, kind := range []string{"AnsibleRun", "ProviderConfig", "ProviderConfigUsage"} {
		kinds += fmt.Sprintf(foreignKind, kind, strings.ToLower(kind)+"s", strings.ToLower(kind))
	}
	needs.OK(t, tarball.WriteToFile(runtime, tag, img))
	needs.Write(t, source, map[string]string{"crossplane.yaml": foreign, "kinds.yaml": kinds})
	crank(t, "xpkg", "build", "--package-root="+source, "--package-file="+file, "--examples-root="+t.TempDir(), "--embed-runtime-image-tarball="+runtime)
	push(t, file, foreignRepository, "v0.8.0")
}
