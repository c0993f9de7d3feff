package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// variables are what the API server, the provider and Ansible must not change.
// They are JSON, which is YAML, too.
const variables = `{
	"camelCase": "as it is",
	"with-dash": {"a.b": {"a b": {"ünï": {"": "empty"}}}},
	"large": [9007199254740993, 9223372036854775807, -9223372036854775808],
	"float": [0.1, 1.5e-10, 100000.5],
	"nothing": {"null": null, "list": [null, {}, [], "", false]},
	"words": ["yes", "null", "0x1f", "0o17", "017", "1e3", "1_000", "2020-01-01", "!unsafe x", "*a", "- a", "a: b"],
	"lines": "  two\n\tlines\r\n\n",
	"characters": "\u0000\u0007\u001b\u007f\u0085\u00a0\u2028\ufeff\uffff é 👍🏽",
	"deep": [[[[[[[[[[[[[[[[[[[[{"a": {"b": {"c": {"d": {"e": [[[[[[[[[[["bottom"]]]]]]]]]]]}}}}}]]]]]]]]]]]]]]]]]]]]
}`

// TestVariables sends variables every way that there is, as kubectl does.
func TestVariables(t *testing.T) {
	t.Parallel()

	namespace := cp.Namespace(t)
	compact := &bytes.Buffer{}
	if err := json.Compact(compact, []byte(variables)); err != nil {
		t.Fatal(err)
	}
	d := struct{ Namespace, Variables string }{namespace, compact.String()}
	cp.Apply(t, `
apiVersion: v1
kind: ConfigMap
metadata: {namespace: [[.Namespace]], name: vars}
data:
  vars.json: |
    {"of_file": [[.Variables]]}
  first.yaml: |
    title: first file
    order: [first file]
  second.yaml: |
    title: second file
    color: second file
    ansible_provider_meta: of a file
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: vars}
spec:
  credentials:
  - filename: ansible.cfg
    source: ConfigMapKey
    configMapKeyRef: {name: config, key: ansible.cfg}
---
apiVersion: v1
kind: ConfigMap
metadata: {namespace: [[.Namespace]], name: config}
data:
  ansible.cfg: |
    [defaults]
    hash_behaviour = merge
`, d)

	dir := directory(t)
	run := Object{APIVersion: apiNamespaced, Kind: "AnsibleRun", Namespace: namespace, Name: "vars"}
	file := func(key string) map[string]any {
		return map[string]any{
			"source":          "ConfigMapKey",
			"configMapKeyRef": map[string]any{"name": "vars", "key": key},
		}
	}
	params := map[string]any{
		"varFiles": []any{file("vars.json"), file("first.yaml"), file("second.yaml")},
		"vars": map[string]any{
			"of_vars": json.RawMessage(variables), "color": "vars", "size": "vars",
			"sum": "{{ 1 + 1 }}", "ansible_provider_meta": "of vars",
		},
		"unsafeVars": map[string]any{
			"of_unsafe": json.RawMessage(variables), "size": "unsafeVars", "ensure": "unsafeVars",
			"template": map[string]any{"{{ key }}": "{{ lookup('pipe', 'id') }}"}, "ansible_provider_meta": "of unsafeVars",
		},
		"stateVariable": map[string]any{"name": "ensure", "present": "{{ installed }}", "absent": "gone"},
		"playbookInline": `
- hosts: localhost
  gather_facts: false
  tasks:
  - ansible.builtin.copy:
      dest: ` + dir + `/{{ ansible_provider_meta.managed_resource.state }}
      content: "{{ {'file': of_file, 'vars': of_vars, 'unsafe': of_unsafe, 'sum': sum, 'template': template,
        'precedence': [title, order, color, size, ensure], 'meta': ansible_provider_meta} | to_json }}"
`,
	}

	createRun(t, run, params)
	u := cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"))
	uid, annotations := string(u.GetUID()), u.GetAnnotations()

	got := decode(t, readFile(t, filepath.Join(dir, "present")))
	meta, _ := got["meta"].(map[string]any)
	managed, _ := meta["managed_resource"].(map[string]any)
	if a, _ := managed["annotations"].(map[string]any); a["note"] != annotations["note"] || managed["uid"] != uid {
		t.Errorf("The content should know what it runs for: got %v", managed)
	}
	if r, _ := meta["run"].(map[string]any); r["trigger"] != "Created" || r["mode"] != "Apply" {
		t.Errorf("The content should know why it runs: got %v", r)
	}
	delete(got, "meta")

	same := decode(t, variables)
	want := map[string]any{
		"file": same, "vars": same, "unsafe": same, "sum": json.Number("2"),
		"template":   map[string]any{"{{ key }}": "{{ lookup('pipe', 'id') }}"},
		"precedence": []any{"second file", []any{"first file"}, "vars", "unsafeVars", "{{ installed }}"},
	}
	if diff := cmp.Diff(texts(t, want), texts(t, got)); diff != "" {
		t.Errorf("Variables should arrive as they were written, the strongest of each name: -want, +got:\n%s", diff)
	}

	cp.Delete(t, run)
	cp.WaitGone(t, run)
	if got := decode(t, readFile(t, filepath.Join(dir, "absent")))["precedence"].([]any)[4]; got != "gone" {
		t.Errorf("The content should be told in its own words that the object is deleted: got %v", got)
	}

	// What the API server has rounded is not what was written.
	params["vars"].(map[string]any)["of_vars"] = json.RawMessage(`{"serial": [1, 123456789012345678901234567890]}`)
	createRun(t, run, params)
	cp.WaitFor(t, run, Condition("Synced", "False"), Message("Synced", "spec.forProvider.vars[of_vars][serial][1]"), Message("Synced", "write it as a string"))
	cp.Delete(t, run)
	cp.WaitGone(t, run)
}

// createRun creates an AnsibleRun with kubectl, as JSON, in which numbers and
// characters are what they are.
func createRun(t *testing.T, run Object, params map[string]any) {
	t.Helper()
	metadata := map[string]any{"namespace": run.Namespace, "name": run.Name, "annotations": map[string]any{"note": "{{ lookup('pipe', 'id') }}"}}
	ref := map[string]any{"kind": "ProviderConfig", "name": "vars"}
	text, err := json.Marshal(map[string]any{
		"apiVersion": run.APIVersion, "kind": run.Kind, "metadata": metadata,
		"spec": map[string]any{"providerConfigRef": ref, "forProvider": params},
	})
	if err != nil {
		t.Fatalf("cannot encode %s: %s", run, err)
	}
	path := filepath.Join(t.TempDir(), "run.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	// Its apply leaves out what is null, and its server-side one cannot send DEL.
	cp.Kubectl(t, "create", "--filename="+path)
}

// texts of values: cmp.Diff takes long for differences that are nested deeply.
func texts(t *testing.T, m map[string]any) map[string]string {
	t.Helper()
	out := make(map[string]string, len(m))
	for k, v := range m {
		text, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			t.Fatalf("cannot encode %v: %s", v, err)
		}
		out[k] = string(text)
	}
	return out
}

// decode JSON, with numbers as they are written.
func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatalf("cannot decode %q: %s", bytes.TrimSpace([]byte(text)), err)
	}
	return m
}
