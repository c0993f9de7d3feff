package e2e

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// A reference to something that an AnsibleRun or its configuration needs.
type reference struct {
	// Name of the run.
	Name string
	// Field of the run's parameters, or Credential of its configuration.
	Field, Credential string
	// want is in the message of the condition Synced.
	want string
}

// referrers have one reference each.
const referrers = `
[[- range .References]]
---
apiVersion: [[$.Group]]/v1alpha1
kind: ProviderConfig
metadata: {[[$.Own]]name: [[.Name]]-[[$.Namespace]]}
spec: {credentials: [ [[- .Credential -]] ]}
---
apiVersion: [[$.Group]]/v1alpha1
kind: AnsibleRun
metadata: {[[$.Own]]name: [[.Name]]-[[$.Namespace]]}
spec:
  providerConfigRef: {[[$.Kind]]name: [[.Name]]-[[$.Namespace]]}
  forProvider:
    playbookInline: "- {hosts: localhost, gather_facts: false, tasks: [{ansible.builtin.file: {path: '[[$.Directory]]/[[.Name]]', state: touch}}]}"
    [[.Field]]
[[- end]]
`

type referencesData struct {
	scope

	Directory  string
	References []reference
}

// runAll applies runs with one reference each, and sees that each says what is
// wrong with it and does nothing.
func (d referencesData) runAll(t *testing.T) {
	t.Helper()
	cp.Apply(t, referrers, d)
	for _, r := range d.References {
		u := cp.WaitFor(t, d.run(r.Name), Condition("Synced", "False"), Message("Synced", r.want))
		if m, _ := ConditionOf(u, "Synced")["message"].(string); strings.Contains(m, "s3cret") {
			t.Errorf("%s: what is in the file should not be in the message: %s", r.Name, m)
		}
		if exists(d.Directory + "/" + r.Name) {
			t.Errorf("%s: nothing should have been run.", r.Name)
		}
	}
}

// TestMalformedReferences refers to what is not what it should be, or not there.
func TestMalformedReferences(t *testing.T) {
	t.Parallel()

	for name, in := range scopes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := in(t)
			cp.Apply(t, `
apiVersion: v1
kind: Secret
metadata: {namespace: [[.Namespace]], name: vars}
stringData:
  malformed.yaml: "a: 1\nb: [s3cret\n"
  list.json: '["s3cret"]'
  documents.yaml: "a: 1\n---\nb: s3cret\n"
  tag.yaml: "a: 1\n\nb: !s3cret 2\n"
data:
  binary: /+/+
`, s)
			key := func(key string) string {
				return "varFiles: [{optional: true, source: SecretKey, secretKeyRef: {namespace: " + s.Namespace + ", name: vars, key: " + key + "}}]"
			}
			at := func(key, problem string) string {
				return `spec.forProvider.varFiles[0]: Secret "` + s.Namespace + `/vars", key "` + key + `": ` + problem
			}
			referencesData{s, directory(t), []reference{
				{Name: "malformed", Field: key("malformed.yaml"), want: at("malformed.yaml", "is not valid YAML (line 2)")},
				{Name: "list", Field: key("list.json"), want: at("list.json", "is not a mapping of names to values")},
				{Name: "documents", Field: key("documents.yaml"), want: at("documents.yaml", "is not a single YAML document")},
				{Name: "tag", Field: key("tag.yaml"), want: at("tag.yaml", "has a tag that Ansible does not know (line 3)")},
				{Name: "binary", Field: key("binary"), want: at("binary", "is not text in UTF-8")},
				{
					Name: "key", Field: strings.Replace(key("none"), "optional: true, ", "", 1),
					want: `spec.forProvider.varFiles[0]: Secret "` + s.Namespace + `/vars" has no key "none"`,
				},
				{
					Name: "inventory", Field: "inventories: [{source: Secret, secretRef: {namespace: " + s.Namespace + ", name: vars, key: none}}]",
					want: `spec.forProvider.inventories[0]: Secret "` + s.Namespace + `/vars" has no key "none"`,
				},
			}}.runAll(t)
		})
	}
}

// TestOtherNamespaces tries to reach what another namespace has, by every field
// that refers to something.
func TestOtherNamespaces(t *testing.T) {
	t.Parallel()

	ns, other := cp.Namespace(t), cp.Namespace(t)
	d := referencesData{scope{"ansible.m.crossplane.io", ns, "namespace: " + ns + ", ", "kind: ProviderConfig, "}, directory(t), nil}
	cp.Apply(t, strings.ReplaceAll(`
apiVersion: v1
kind: Secret
metadata: {namespace: OTHER, name: there}
stringData: {key: "a: s3cret"}
---
apiVersion: v1
kind: ConfigMap
metadata: {namespace: OTHER, name: there}
data: {key: "a: s3cret"}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: OTHER, name: there}
spec: {}
`, "OTHER", other), nil)

	ref := "{namespace: " + other + ", name: there, key: key}"
	refused := func(field, kind string) string {
		return field + `.namespace must be "` + ns + `", the namespace of this ` + kind + `, not "` + other + `"`
	}
	d.References = []reference{
		{
			Name: "vars-secret", Field: "varFiles: [{optional: true, source: SecretKey, secretKeyRef: " + ref + "}]",
			want: refused("spec.forProvider.varFiles[0]: secretKeyRef", "AnsibleRun"),
		},
		{
			Name: "vars-config-map", Field: "varFiles: [{source: ConfigMapKey, configMapKeyRef: " + ref + "}]",
			want: refused("spec.forProvider.varFiles[0]: configMapKeyRef", "AnsibleRun"),
		},
		{
			Name: "inventory-secret", Field: "inventories: [{source: Secret, secretRef: " + ref + "}]",
			want: refused("spec.forProvider.inventories[0]: secretRef", "AnsibleRun"),
		},
		{
			Name: "inventory-config-map", Field: "inventories: [{source: ConfigMapKey, configMapKeyRef: " + ref + "}]",
			want: refused("spec.forProvider.inventories[0]: configMapKeyRef", "AnsibleRun"),
		},
		{
			Name: "credential-secret", Credential: "{filename: a, source: Secret, secretRef: " + ref + "}",
			want: refused("spec.credentials[0]: secretRef", "ProviderConfig"),
		},
		{
			Name: "credential-config-map", Credential: "{filename: a, source: ConfigMapKey, configMapKeyRef: " + ref + "}",
			want: refused("spec.credentials[0]: configMapKeyRef", "ProviderConfig"),
		},
	}
	d.runAll(t)

	// These references have no field for a namespace: the API server refuses one.
	const run = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: elsewhere}
spec:
  [[.Marker]]
  forProvider: {playbookInline: "[]"}
`
	for field, marker := range map[string]string{
		"spec.providerConfigRef.namespace":          "providerConfigRef: {kind: ProviderConfig, name: there, namespace: " + other + "}",
		"spec.writeConnectionSecretToRef.namespace": "writeConnectionSecretToRef: {name: details, namespace: " + other + "}",
	} {
		us, err := Parse(run, runData{Namespace: ns, Marker: marker})
		if err != nil {
			t.Fatal(err)
		}
		err = cp.Kube.Create(t.Context(), us[0], client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
		if err == nil || !strings.Contains(err.Error(), `unknown field "`+field+`"`) {
			t.Errorf("There should be no field %s: %v", field, err)
		}
	}
	for reason, manifest := range map[string]string{
		"providerConfigRef.kind must be ProviderConfig or ClusterProviderConfig": strings.Replace(run, "[[.Marker]]", "providerConfigRef: {kind: Secret, name: there}", 1),
		"inventories of a namespaced AnsibleRun cannot come from Environment or Filesystem": strings.Replace(
			strings.Replace(run, "[[.Marker]]", "", 1), `"[]"`, `"[]", inventories: [{source: Filesystem, fs: {path: /etc/hosts}}]`, 1),
		"credentials for namespaced AnsibleRuns cannot come from Environment or Filesystem": `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ClusterProviderConfig
metadata: {name: [[.Namespace]]}
spec: {credentials: [{filename: token, source: Environment, env: {name: TOKEN}}]}
`,
	} {
		if err := cp.ApplyError(t, manifest, runData{Namespace: ns}); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("The API server should say that %s: %v", reason, err)
		}
	}

	o := cp.Apply(t, run, runData{Namespace: ns, Marker: "providerConfigRef: {kind: ProviderConfig, name: there}"})[0]
	cp.WaitFor(t, o, Condition("Synced", "False"), Message("Synced", `spec.providerConfigRef: ProviderConfig "`+ns+`/there" not found`))
}
