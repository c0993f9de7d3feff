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

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// noted is a playbook that notes when it begins and ends.
const noted = `|
          - hosts: localhost
            gather_facts: false
            tasks:
            - ansible.builtin.shell: |
                echo {{ name }} {{ ansible_provider_meta.managed_resource.state }} begins >> {{ directory | quote }}/ledger
                sleep 1
                echo {{ name }} {{ ansible_provider_meta.managed_resource.state }} ends >> {{ directory | quote }}/ledger
            - ansible.builtin.set_stats:
                data:
                  name: "{{ name }}"
                  connection_details: {password: "secret-of-{{ name }}"}
`

type composeData struct {
	Plural, Kind, Scope, Claim string

	Composition, Namespace, Directory string
}

// definition of the kind of XR, with anything in its spec.
func (d composeData) definition() string {
	return definition{
		kind: d.Kind, plural: d.Plural, scope: d.Scope, claim: d.Claim,
		status: "name: {type: string}, names: {type: object, additionalProperties: {type: string}}, labelled: {type: array, items: {type: string}}",
	}.String()
}

// composition is the definition, and a Composition as far as its input.
func (d composeData) composition() string {
	return d.definition() + compositionOf
}

// lines of the ledger in a directory.
func lines(t *testing.T, dir string) []string {
	t.Helper()

	if path := filepath.Join(dir, "ledger"); exists(path) {
		return strings.Fields(strings.NewReplacer(" ", "-").Replace(readFile(t, path)))
	}

	return nil
}

// TestOrder shows that runs are created after those that they depend on, and gone
// before them when their XR is deleted.
func TestOrder(t *testing.T) {
	t.Parallel()

	cases := map[string]composeData{
		"Namespaced": {Plural: "orders", Kind: "Order", Scope: "Namespaced", Composition: "orders"},
		"Cluster":    {Plural: "clusterorders", Kind: "ClusterOrder", Scope: "Cluster", Composition: "clusterorders"},
		"Mixed":      {Plural: "mixedorders", Kind: "MixedOrder", Scope: "Cluster", Composition: "mixedorders"},
	}

	for name, d := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			d.Directory = directory(t)
			config, api := "ProviderConfig", apiCluster

			if d.Scope == "Namespaced" {
				d.Namespace, api = cp.Namespace(t), apiNamespaced
			}

			// What depends may be namespaced where the other one is not.
			app, more := "", ""

			if name == "Mixed" {
				namespace := cp.Namespace(t)
				app = ", scope: Namespaced, namespace: " + namespace
				more = "---\napiVersion: " + apiNamespaced + "\nkind: ProviderConfig\nmetadata: {name: " + d.Composition + ", namespace: " + namespace + "}\nspec: {}\n"
			}

			objs := cp.Apply(t, d.composition()+`
      defaults:
        providerConfigRef: {kind: `+config+`, name: `+d.Composition+`}
        vars: {directory: "${xr.spec.directory}"}
        playbookInline: `+noted+`
      runs:
      - {name: app, dependsOn: [database], when: "${!xr.spec.?off.orValue(false)}", vars: {name: app}`+app+`}
      - {name: database, when: "${!xr.spec.?off.orValue(false)}", vars: {name: database}}
`+more+instance(api), d)
			xr := objs[len(objs)-1]

			u := cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"),
				That("a usage", func(u *unstructured.Unstructured) bool { return len(ComposedOf(u)) == 3 }))
			composed := ComposedOf(u)

			for _, o := range composed {
				cp.WaitFor(t, o, Condition("Ready", "True"))
			}

			turn := func(off bool) {
				cp.Kubectl(t, "patch", d.Plural+".e2e.example.org", "shop", "--namespace="+d.Namespace, "--type=merge", fmt.Sprintf(`--patch={"spec": {"off": %t}}`, off))
			}

			// Both are removed while the XR stays, and come back.
			turn(true)

			for _, o := range composed {
				cp.WaitGone(t, o)
			}

			turn(false)
			composed = ComposedOf(cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"),
				That("a usage", func(u *unstructured.Unstructured) bool { return len(ComposedOf(u)) == 3 })))
			cp.Delete(t, xr)

			for _, o := range composed {
				cp.WaitGone(t, o)
			}

			want := []string{
				"database-present-begins", "database-present-ends", "app-present-begins", "app-present-ends",
				"app-absent-begins", "app-absent-ends", "database-absent-begins", "database-absent-ends",
				"database-present-begins", "database-present-ends", "app-present-begins", "app-present-ends",
				"app-absent-begins", "app-absent-ends", "database-absent-begins", "database-absent-ends",
			}
			if got := slices.Compact(lines(t, d.Directory)); !slices.Equal(want, got) {
				t.Errorf("The ledger should be in order: want %q, got %q", want, got)
			}
		})
	}
}

// instance is an XR of a composeData, as a template, with the configuration of its runs, which has the name of the Composition.
func instance(api string) string {
	return `---
apiVersion: ` + api + `
kind: ProviderConfig
metadata: {name: [[.Composition]], namespace: "[[.Namespace]]"}
spec: {}
---
apiVersion: e2e.example.org/v1
kind: [[.Kind]]
metadata: {name: shop, namespace: "[[.Namespace]]"}
spec:
  crossplane: {compositionRef: {name: [[.Composition]]}}
  directory: [[.Directory]]
`
}

// TestReplaced moves a run from one that it refers to on to another one. What it has used is removed when it has been applied
// without that, not while it still is.
func TestReplaced(t *testing.T) {
	t.Parallel()

	d := composeData{Plural: "moves", Kind: "Move", Scope: "Namespaced", Composition: "moves", Namespace: cp.Namespace(t), Directory: directory(t)}
	objs := cp.Apply(t, d.composition()+`
      defaults:
        providerConfigRef: {kind: ProviderConfig, name: moves}
        vars: {directory: "${xr.spec.directory}"}
        playbookInline: `+noted+`
      runs:
      - {name: old, when: "${!xr.spec.moved}", vars: {name: old}}
      - {name: new, when: "${xr.spec.moved}", vars: {name: new}}
      - {name: app, usages: false, vars: {name: "app-of-${runs.?new.outputs.name.or(runs.?old.outputs.name).orValue('none')}"}}
`+instance(apiNamespaced)+`  moved: false
`, d)
	xr := objs[len(objs)-1]

	cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"))
	cp.Kubectl(t, "patch", "moves.e2e.example.org", "shop", "--namespace="+d.Namespace, "--type=merge", `--patch={"spec": {"moved": true}}`)
	Eventually(t, "the end of what was replaced", func() bool { return slices.Contains(lines(t, d.Directory), "old-absent-ends") })

	want := []string{
		"old-present-begins", "old-present-ends", "app-of-old-present-begins", "app-of-old-present-ends",
		"new-present-begins", "new-present-ends", "app-of-new-present-begins", "app-of-new-present-ends",
		"old-absent-begins", "old-absent-ends",
	}
	if got := lines(t, d.Directory); !slices.Equal(want, got) {
		t.Errorf("The ledger should be in order: want %q, got %q", want, got)
	}
}

// TestAnother has a new run take the place of one that another run was rendered after. The one before goes first, the new
// one follows, and what refers to it is applied last.
func TestAnother(t *testing.T) {
	t.Parallel()

	d := composeData{Plural: "others", Kind: "Other", Scope: "Namespaced", Composition: "others", Namespace: cp.Namespace(t), Directory: directory(t)}

	composition := func(name, previous, of string) string {
		return d.composition() + `
      defaults:
        providerConfigRef: {kind: ProviderConfig, name: others}
        vars: {directory: "${xr.spec.directory}"}
        playbookInline: ` + noted + `
      runs:
      - {name: ` + name + `, vars: {name: database}` + previous + `}
      - {name: app, vars: {name: "` + of + `-of-${runs.` + name + `.outputs.name}"}}
`
	}

	objs := cp.Apply(t, composition("db", "", "first")+instance(apiNamespaced), d)
	xr := objs[len(objs)-1]

	cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"),
		That("a usage", func(u *unstructured.Unstructured) bool { return len(ComposedOf(u)) == 3 }))
	cp.Apply(t, composition("database", ", previousNames: []", "second"), d)
	Eventually(t, "the end of what refers to the new one", func() bool {
		return slices.Contains(lines(t, d.Directory), "second-of-database-present-ends")
	})

	want := []string{
		"database-present-begins", "database-present-ends", "first-of-database-present-begins", "first-of-database-present-ends",
		"database-absent-begins", "database-absent-ends",
		"database-present-begins", "database-present-ends", "second-of-database-present-begins", "second-of-database-present-ends",
	}
	if got := lines(t, d.Directory); !slices.Equal(want, got) {
		t.Errorf("The ledger should be in order: want %q, got %q", want, got)
	}

	cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"))
}

// TestResources has runs refer to what another step composes: in a Composition that
// changes, each is gone before what it refers to is, and nothing waits for ever.
func TestResources(t *testing.T) {
	t.Parallel()
	cp.Functions(t, functionPatches)

	d := composeData{Plural: "boxes", Kind: "Box", Scope: "Namespaced", Composition: "boxes", Namespace: cp.Namespace(t), Directory: directory(t)}

	// composition in which a run refers to a ConfigMap.
	composition := func(run, resource string) string {
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
        providerConfigRef: {kind: ProviderConfig, name: boxes}
        vars: {directory: "${xr.spec.directory}"}
        playbookInline: ` + noted + `
      runs:
      - {name: ` + run + `, vars: {name: "` + run + `-${resources.` + resource + `.data.address}"}}
`
	}

	objs := cp.Apply(t, d.definition()+composition("app", "settings")+instance(apiNamespaced), d)
	xr := objs[len(objs)-1]

	// used waits until a run uses a ConfigMap, which it returns. A finalizer holds that
	// until the test has looked.
	used := func(address string) Object {
		var settings Object

		cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"), That("a usage of "+address, func(u *unstructured.Unstructured) bool {
			composed := ComposedOf(u)
			i := slices.IndexFunc(composed, func(o Object) bool { return o.Kind == "ConfigMap" })

			if i >= 0 {
				settings = composed[i]
			}

			return len(composed) == 3 && i >= 0
		}))

		cp.WaitFor(t, settings, Field("data.address", address), LabelInUse())
		cp.Kubectl(t, "patch", "configmap", settings.Name, "--namespace="+d.Namespace, "--type=merge", `--patch={"metadata": {"finalizers": ["e2e.example.org/held"]}}`)

		return settings
	}

	// deleted waits until a ConfigMap is being deleted, and looks what happened before.
	deleted := func(settings Object, want ...string) {
		t.Helper()
		cp.WaitFor(t, settings, That("its deletion", func(u *unstructured.Unstructured) bool { return u.GetDeletionTimestamp() != nil }))

		if got := slices.Compact(lines(t, d.Directory)); !slices.Equal(want, got) {
			t.Errorf("What is used should be there until nothing uses it any more: want %q, got %q", want, got)
		}

		cp.Kubectl(t, "patch", "configmap", settings.Name, "--namespace="+d.Namespace, "--type=merge", `--patch={"metadata": {"finalizers": null}}`)
	}

	want := []string{"app-of-settings-present-begins", "app-of-settings-present-ends"}
	first := used("of-settings")

	// The same run refers to another resource: core deletes the first one before it
	// composes the second one.
	cp.Apply(t, composition("app", "others"), d)
	deleted(first, want...)

	want = append(want, "app-of-others-present-begins", "app-of-others-present-ends")
	second := used("of-others")

	// Both are removed.
	cp.Apply(t, composition("new", "last"), d)

	want = append(want, "app-of-others-absent-begins", "app-of-others-absent-ends")
	deleted(second, want...)

	want = append(want, "new-of-last-present-begins", "new-of-last-present-ends")
	third := used("of-last")

	cp.Delete(t, xr)

	want = append(want, "new-of-last-absent-begins", "new-of-last-absent-ends")
	deleted(third, want...)
	cp.WaitGone(t, xr)
}

// TestForEach fans out over a list of an XR, with objects that it requires, and
// publishes the connection details of one of them.
func TestForEach(t *testing.T) {
	t.Parallel()

	d := composeData{Plural: "fleets", Kind: "Fleet", Scope: "Namespaced", Composition: "fleets", Namespace: cp.Namespace(t), Directory: directory(t)}

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
	objs := cp.Apply(t, d.composition()+`
      requiredResources:
        settings: {apiVersion: v1, kind: ConfigMap, matchName: "${xr.spec.settings}"}
        labelled: {apiVersion: v1, kind: ConfigMap, matchLabels: {fleet: "${required.settings.data.label}"}}
      runs:
      - name: zone
        forEach: "${xr.spec.zones}"
        providerConfigRef: {kind: ProviderConfig, name: fleets}
        writeConnectionSecretToRef: {name: "zone-${each.key}"}
        vars:
          directory: "${xr.spec.directory}"
          name: "${each.key}-${required.settings.data.color}"
        playbookInline: `+noted+`
      connectionDetails:
      - {name: a, value: "${runs.zone.a.connectionDetails.password}"}
      status:
        names: "${runs.zone.transformMap(k, z, z.outputs.name)}"
        labelled: "${required.labelled.map(o, o.metadata.name)}"
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {name: fleets, namespace: "[[.Namespace]]"}
spec: {}
---`+fmt.Sprintf(fleet, "[a, b]"), d)
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

	// The item in the middle is removed, and another one is added.
	cp.Apply(t, fmt.Sprintf(fleet, "[c, a]"), d)
	cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"), Field("status.names", "map[a:a-red c:c-red]"))
	Eventually(t, "the absent run of what is gone", func() bool { return slices.Contains(lines(t, d.Directory), "b-red-absent-ends") })

	if got := lines(t, d.Directory); slices.Contains(got, "a-red-absent-begins") {
		t.Errorf("What is still in the list should not have gone: %q", got)
	}
}

// TestLostReferences replaces an XR by one without resourceRefs, as kubectl replace and some restores do. It goes on with the
// AnsibleRuns that it has.
func TestLostReferences(t *testing.T) {
	t.Parallel()

	d := composeData{Plural: "losers", Kind: "Loser", Scope: "Namespaced", Composition: "losers", Namespace: cp.Namespace(t), Directory: directory(t)}

	loser := func(zones string) string {
		return fmt.Sprintf(`
apiVersion: e2e.example.org/v1
kind: Loser
metadata: {name: loser, namespace: %s}
spec: {crossplane: {compositionRef: {name: losers}}, directory: %s, zones: %s}
`, d.Namespace, d.Directory, zones)
	}
	objs := cp.Apply(t, d.composition()+`
      runs:
      - name: zone
        forEach: "${xr.spec.zones}"
        providerConfigRef: {kind: ProviderConfig, name: losers}
        vars: {directory: "${xr.spec.directory}", name: "${each.key}"}
        playbookInline: `+noted+`
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {name: losers, namespace: "[[.Namespace]]"}
spec: {}
---`+loser("[a, b]"), d)
	xr := objs[len(objs)-1]

	runs := func() (uids []string) {
		for _, u := range cp.List(t, apiNamespaced, "AnsibleRun", d.Namespace) {
			uids = append(uids, string(u.GetUID()))
		}

		return uids
	}
	referred := func(n int) Expectation {
		return That(fmt.Sprintf("%d references", n), func(u *unstructured.Unstructured) bool {
			refs, _, _ := unstructured.NestedSlice(u.Object, "spec", "crossplane", "resourceRefs")

			return len(refs) == n
		})
	}

	cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"), referred(2))
	before := runs()

	// It is replaced, and edited at once. Core may have written in between, which is a conflict.
	must(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		u := cp.Get(t, xr)
		unstructured.RemoveNestedField(u.Object, "spec", "crossplane", "resourceRefs")
		must(t, unstructured.SetNestedStringSlice(u.Object, []string{"a", "b", "c"}, "spec", "zones"))

		return cp.Kube.Update(t.Context(), u)
	}))

	u := cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"), referred(3))
	if now := runs(); len(now) != 3 || !slices.Contains(now, before[0]) || !slices.Contains(now, before[1]) {
		t.Errorf("An XR should go on with its AnsibleRuns %q, and not with %q: %s", before, now, Value(u, "spec.crossplane.resourceRefs"))
	}

	// Core knows them again, and can remove them.
	cp.Apply(t, loser("[a, c]"), nil)
	cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"), referred(2))
	Eventually(t, "the absent run of what is gone", func() bool { return slices.Contains(lines(t, d.Directory), "b-absent-ends") })

	want := []string{"a-present-begins", "b-absent-begins", "b-present-begins", "c-present-begins"}
	got := slices.DeleteFunc(lines(t, d.Directory), func(l string) bool { return !strings.HasSuffix(l, "-begins") })
	if slices.Sort(got); !slices.Equal(want, got) {
		t.Errorf("Nothing should run twice, or be removed: want %q, got %q", want, got)
	}
}

// TestClaim shows claims and legacy XRs: conditions, status and connection
// details come back on both.
func TestClaim(t *testing.T) {
	t.Parallel()

	d := composeData{Plural: "xclaimeds", Kind: "XClaimed", Claim: "Claimed", Composition: "claimeds", Namespace: cp.Namespace(t), Directory: directory(t)}

	// A legacy XR has a Secret only if the Composition says where.
	legacy := strings.Replace(d.composition(), "  mode: Pipeline", "  writeConnectionSecretsToNamespace: [[.Namespace]]\n  mode: Pipeline", 1)

	objs := cp.Apply(t, legacy+`
      runs:
      - name: page
        providerConfigRef: {name: claimeds}
        writeConnectionSecretToRef: {namespace: [[.Namespace]], name: "${xr.spec.claimRef.name}-${xr.metadata.uid}"}
        varsFrom:
        - {value: "${xr.spec}"}
        playbookInline: `+noted+`
      connectionDetails:
      - {name: password, value: "${runs.page.connectionDetails.password}"}
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

// TestWholeXR shows that an XR can be given to content as a whole: it is created,
// changed once, and content runs exactly twice, whatever the runs report on the XR.
func TestWholeXR(t *testing.T) {
	t.Parallel()

	d := composeData{Plural: "wholes", Kind: "Whole", Scope: "Namespaced", Composition: "wholes", Namespace: cp.Namespace(t), Directory: directory(t)}

	const xrWhole = `
apiVersion: e2e.example.org/v1
kind: Whole
metadata: {name: whole, namespace: "[[.Namespace]]"}
spec:
  crossplane: {compositionRef: {name: [[.Composition]]}}
  directory: [[.Directory]]
  text: one
`

	objs := cp.Apply(t, d.composition()+`
      runs:
      - name: whole
        runPolicy: RunOnChange
        providerConfigRef: {kind: ProviderConfig, name: wholes}
        vars: {xr: "${xr}", about: "${xr.metadata}"}
        playbookInline: |
          - hosts: localhost
            gather_facts: false
            tasks:
            - ansible.builtin.shell: echo {{ xr.spec.text | quote }} >> {{ xr.spec.directory | quote }}/ledger; wc -l < {{ xr.spec.directory | quote }}/ledger
              register: counted
            - ansible.builtin.set_stats:
                data: {name: "run {{ counted.stdout | trim }} of {{ about.name }}"}
      status:
        name: "${runs.whole.outputs.name}"
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {name: wholes, namespace: "[[.Namespace]]"}
spec: {}
---`+xrWhole, d)
	xr := objs[len(objs)-1]

	cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"), Field("status.name", "run 1 of whole"))

	cp.Apply(t, strings.Replace(xrWhole, "text: one", "text: two", 1), d)
	cp.WaitFor(t, xr, Condition("Ready", "True"), Condition("AnsibleRunsReady", "True"), Field("status.name", "run 2 of whole"))

	// What is reported has been seen when Crossplane has composed the XR once more.
	edited := strings.NewReplacer("text: one", "text: two", "compositionRef:", "compositionUpdatePolicy: Manual, compositionRef:").Replace(xrWhole)
	cp.Apply(t, edited, d)
	cp.WaitFor(t, xr, Condition("Synced", "True"), Condition("Ready", "True"), Field("spec.crossplane.compositionUpdatePolicy", "Manual"))

	if got := lines(t, d.Directory); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("Content should have run twice, got %q", got)
	}
}
