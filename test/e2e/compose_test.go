package e2e

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// The functions that stand beside ours in pipelines. The one for environments is
// a stand-in, see test/environment.
const (
	functionAutoReady    = "function-auto-ready"
	functionEnvironments = "function-environment-configs"
	functionPatches      = "function-patch-and-transform"
)

// noted is a playbook that notes when it begins and ends.
const noted = `|
          - hosts: localhost
            gather_facts: false
            tasks:
            - ansible.builtin.shell: |
                echo {{ name }} {{ ansible_provider_meta.managed_resource.state }} begins >> {{ directory | quote }}/ledger
                sleep 0.3
                echo {{ name }} {{ ansible_provider_meta.managed_resource.state }} ends >> {{ directory | quote }}/ledger
            - ansible.builtin.set_stats:
                data:
                  name: "{{ name }}"
                  connection_details: {password: "secret-of-{{ name }}"}
`

// lines of the ledger in a directory.
func lines(t *testing.T, dir string) []string {
	t.Helper()

	if path := filepath.Join(dir, "ledger"); exists(path) {
		return strings.Fields(strings.NewReplacer(" ", "-").Replace(readFile(t, path)))
	}

	return nil
}

// TestResources has a run refer to what another step composes. When it refers to another resource, core deletes the first
// one before it composes the second one, and nothing waits for ever. The run is gone before what it refers to is.
func TestResources(t *testing.T) {
	t.Parallel()
	cp.Functions(t, functionPatches)

	d := data{Kind: "Box", Composition: "boxes", Namespace: cp.Namespace(t), Directory: directory(t)}

	// composition in which the run refers to a ConfigMap.
	composition := func(resource string) string {
		return strings.Replace(compositionOf, "  pipeline:\n", `  pipeline:
  - step: settings
    functionRef: {name: function-patch-and-transform}
    input:
      apiVersion: pt.fn.crossplane.io/v1beta1
      kind: Resources
      resources:
      - name: `+resource+`
        base: {apiVersion: v1, kind: ConfigMap, data: {address: of-`+resource+`}}
        readinessChecks: [{type: None}]
`, 1) + `
      defaults:
        providerConfigRef: {kind: ProviderConfig, name: default}
        vars: {directory: "${xr.spec.directory}"}
        playbookInline: ` + noted + `
      runs:
      - {name: app, vars: {name: "app-${resources.` + resource + `.data.address}"}}
`
	}

	objs := cp.Apply(t, definition{kind: "Box", plural: "boxes", scope: "Namespaced"}.String()+composition("settings")+`---`+emptyConfig+`
apiVersion: e2e.example.org/v1
kind: Box
metadata: {name: shop, namespace: [[.Namespace]]}
spec:
  crossplane: {compositionRef: {name: boxes}}
  directory: [[.Directory]]
`, d)
	xr := objs[len(objs)-1]

	// used waits until the run uses a ConfigMap, which it returns. A finalizer holds that until the test has looked.
	used := func(address string) Object {
		t.Helper()

		var settings Object

		cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"), That("a usage of "+address, func(u *unstructured.Unstructured) bool {
			composed := ComposedOf(u)
			i := slices.IndexFunc(composed, func(o Object) bool { return o.Kind == "ConfigMap" })

			if len(composed) != 3 || i < 0 {
				return false
			}

			// One that nothing uses any more may go meanwhile.
			settings = composed[i]
			found := settings.Unstructured()

			return cp.Kube.Get(t.Context(), client.ObjectKeyFromObject(found), found) == nil && Field("data.address", address).Met(found)
		}))
		cp.WaitFor(t, settings, LabelInUse())
		cp.Patch(t, settings, `{"metadata": {"finalizers": ["e2e.example.org/held"]}}`)

		return settings
	}

	// deleted waits until a ConfigMap is being deleted, and looks what happened before.
	deleted := func(settings Object, want ...string) {
		t.Helper()
		cp.WaitFor(t, settings, That("its deletion", func(u *unstructured.Unstructured) bool { return u.GetDeletionTimestamp() != nil }))

		if got := slices.Compact(lines(t, d.Directory)); !slices.Equal(want, got) {
			t.Errorf("What is used should be there until nothing uses it any more: want %q, got %q", want, got)
		}

		cp.Patch(t, settings, `{"metadata": {"finalizers": null}}`)
	}

	want := []string{"app-of-settings-present-begins", "app-of-settings-present-ends"}
	first := used("of-settings")

	cp.Apply(t, composition("others"), d)
	deleted(first, want...)

	want = append(want, "app-of-others-present-begins", "app-of-others-present-ends")
	second := used("of-others")

	cp.Delete(t, xr)

	want = append(want, "app-of-others-absent-begins", "app-of-others-absent-ends")
	deleted(second, want...)
	cp.WaitGone(t, xr)
}

// TestForEach fans out over a list of an XR, with objects that it requires, and publishes the connection details of one of
// the runs.
func TestForEach(t *testing.T) {
	t.Parallel()

	d := data{Kind: "Fleet", Composition: "fleets", Namespace: cp.Namespace(t), Directory: directory(t)}

	fleet := `
apiVersion: e2e.example.org/v1
kind: Fleet
metadata: {name: fleet, namespace: "[[.Namespace]]"}
spec:
  crossplane: {compositionRef: {name: fleets}}
  directory: [[.Directory]]
  settings: settings
  zones: %s
`
	status := "names: {type: object, additionalProperties: {type: string}}, labelled: {type: array, items: {type: string}}"
	objs := cp.Apply(t, definition{kind: "Fleet", scope: "Namespaced", status: status}.String()+compositionOf+`
      requiredResources:
        settings: {apiVersion: v1, kind: ConfigMap, matchName: "${xr.spec.settings}"}
        labelled: {apiVersion: v1, kind: ConfigMap, matchLabels: {fleet: "${required.settings.data.label}"}}
      runs:
      - name: zone
        forEach: "${xr.spec.zones}"
        providerConfigRef: {kind: ProviderConfig, name: default}
        vars:
          directory: "${xr.spec.directory}"
          name: "${each.key}-${required.settings.data.color}"
        playbookInline: `+noted+`
      connectionDetails:
      - {name: a, value: "${runs.zone.a.connectionDetails.password}"}
      status:
        names: "${runs.zone.transformMap(k, z, z.outputs.name)}"
        labelled: "${required.labelled.map(o, o.metadata.name)}"
---`+emptyConfig+fmt.Sprintf(fleet, "[a, b]"), d)
	xr := objs[len(objs)-1]

	cp.WaitFor(t, xr, Reason("AnsibleRunsReady", "ValuePending"), Message("AnsibleRunsReady", "there is no ConfigMap settings in namespace "+d.Namespace))

	cp.Apply(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: "[[.Namespace]]", labels: {fleet: blue}}
data: {color: red, label: blue}
`, d)

	cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"),
		Field("status.names", "map[a:a-red b:b-red]"), Field("status.labelled", "[settings]"))
	cp.WaitFor(t, Object{APIVersion: "v1", Kind: "Secret", Namespace: d.Namespace, Name: "fleet-connection"},
		Field("data.a", base64.StdEncoding.EncodeToString([]byte("secret-of-a-red"))))

	// The first item stays while the other one is removed, and another one is added.
	cp.Apply(t, fmt.Sprintf(fleet, "[c, a]"), d)
	cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"), Field("status.names", "map[a:a-red c:c-red]"))
	Eventually(t, "the absent run of what is gone", func() bool { return slices.Contains(lines(t, d.Directory), "b-red-absent-ends") })

	// An XR without resourceRefs, as kubectl replace and some restores leave it, goes on with the AnsibleRuns that it has. It is
	// edited at once. Core may have written in between, which is a conflict.
	needs.OK(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		u := cp.Get(t, xr)
		unstructured.RemoveNestedField(u.Object, "spec", "crossplane", "resourceRefs")
		needs.OK(t, unstructured.SetNestedStringSlice(u.Object, []string{"c", "a", "d"}, "spec", "zones"))

		return cp.Kube.Update(t.Context(), u)
	}))
	cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"), Field("status.names", "map[a:a-red c:c-red d:d-red]"))

	// Core knows them again, and can remove them.
	cp.Apply(t, fmt.Sprintf(fleet, "[a, d]"), d)
	cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"), Field("status.names", "map[a:a-red d:d-red]"))
	Eventually(t, "the absent run of what is gone", func() bool { return slices.Contains(lines(t, d.Directory), "c-red-absent-ends") })

	want := []string{
		"a-red-present-begins", "b-red-absent-begins", "b-red-present-begins", "c-red-absent-begins", "c-red-present-begins", "d-red-present-begins",
	}
	got := slices.DeleteFunc(lines(t, d.Directory), func(l string) bool { return !strings.HasSuffix(l, "-begins") })

	if slices.Sort(got); !slices.Equal(want, got) {
		t.Errorf("Nothing should run twice, or be removed: want %q, got %q", want, got)
	}
}

// TestClaim shows claims and legacy XRs: conditions, status and connection
// details come back on both.
func TestClaim(t *testing.T) {
	t.Parallel()

	d := data{Kind: "XClaimed", Composition: "claimeds", Namespace: cp.Namespace(t), Directory: directory(t)}

	// A legacy XR has a Secret only if the Composition says where.
	legacy := strings.Replace(compositionOf, "  mode: Pipeline", "  writeConnectionSecretsToNamespace: [[.Namespace]]\n  mode: Pipeline", 1)

	objs := cp.Apply(t, definition{kind: "XClaimed", claim: "Claimed", status: "name: {type: string}"}.String()+legacy+`
      runs:
      - name: page
        providerConfigRef: {name: claimeds}
        varsFrom:
        - {value: "${xr.spec}"}
        playbookInline: `+noted+`
      connectionDetails:
      - {name: password, value: "${runs.page.connectionDetails.password}"}
      connectionSecret: {namespace: [[.Namespace]]}
      status:
        name: "${runs.page.outputs.name}"
---
apiVersion: ansible.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {name: claimeds}
spec: {}
---
apiVersion: e2e.example.org/v1
kind: Claimed
metadata: {name: claim, namespace: [[.Namespace]]}
spec:
  compositionRef: {name: claimeds}
  writeConnectionSecretToRef: {name: claimed}
  directory: [[.Directory]]
  name: page
---
apiVersion: e2e.example.org/v1
kind: Claimed
metadata: {name: other, namespace: [[.Namespace]]}
spec:
  compositionRef: {name: claimeds}
  writeConnectionSecretToRef: {name: other}
  directory: [[.Directory]]
  name: other
`, d)
	claim, other := objs[len(objs)-2], objs[len(objs)-1]

	u := cp.WaitFor(t, claim, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"), Field("status.name", "page"))
	cp.WaitFor(t, Object{APIVersion: "v1", Kind: "Secret", Namespace: d.Namespace, Name: "claimed"},
		Field("data.password", base64.StdEncoding.EncodeToString([]byte("secret-of-page"))))

	// Each has a Secret of its own.
	cp.WaitFor(t, other, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"), Field("status.name", "other"))
	cp.WaitFor(t, Object{APIVersion: "v1", Kind: "Secret", Namespace: d.Namespace, Name: "other"},
		Field("data.password", base64.StdEncoding.EncodeToString([]byte("secret-of-other"))))

	xr := cp.Get(t, Object{APIVersion: apiXR, Kind: "XClaimed", Name: fmt.Sprint(Value(u, "spec.resourceRef.name"))})

	ref := fmt.Sprint(Value(xr, "spec.resourceRefs"))
	if !strings.Contains(ref, "apiVersion:"+apiCluster+" kind:AnsibleRun") {
		t.Errorf("A legacy XR should be composed of cluster scoped AnsibleRuns, got %s", ref)
	}

	run := cp.List(t, apiCluster, "AnsibleRun", "")
	for i := range run {
		if run[i].GetLabels()["crossplane.io/composite"] != xr.GetName() {
			continue
		}

		unsafe, _ := Value(&run[i], "spec.forProvider.unsafeVars").(map[string]any)
		if len(unsafe) != 2 {
			t.Errorf("Crossplane's own fields should be no variables, got %v", unsafe)
		}
	}

	cp.Delete(t, claim)
	cp.WaitGone(t, claim)
	Eventually(t, "the absent run", func() bool { return slices.Contains(lines(t, d.Directory), "page-absent-ends") })
}
