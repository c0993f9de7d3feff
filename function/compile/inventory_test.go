package compile

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestInventoryInAnsible reads inventories with Ansible, with and without the plugin of the provider: values arrive unchanged,
// and computed values are not templated.
func TestInventoryInAnsible(t *testing.T) {
	t.Run("Alone", func(t *testing.T) { inAnsible(t, "hosts", map[string]any{}) })
	t.Run("Beside", func(t *testing.T) { inAnsible(t, "hosts.yml", map[string]any{"project": map[string]any{}}) })
}

func inAnsible(t *testing.T, file string, run map[string]any) {
	t.Helper()

	dir := t.TempDir()
	attack := "{{ lookup('pipe', 'touch " + filepath.Join(dir, "attacked") + "') }}"

	values := map[string]any{
		"attack": attack, "block": "{% set x = 1 %}{{ x }}", "comment": "{# x #}",
		"header": "#jinja2:variable_start_string:'[[', variable_end_string:']]'\n[[ 1 + 1 ]]",
		"yes":    "yes", "number": "1", "float": "1e3", "null": "null", "date": "2026-01-01", "merge": "<<", "equals": "=", "empty": "",
		"quotes": `"'\`, "unicode": "é😀\u007f\u0085\u2028", "lines": "a\nb: c\n- d", "tag": "!unsafe x", "colon": "a: b",
		"list": []any{attack, []any{attack}, 1.0, 1.5, true, nil}, "map": map[string]any{attack: map[string]any{"a": attack}},
		"large": 9007199254740991.0, "tiny": 1e-7,
	}

	env := expression.NewEnvironment(expression.Declarations{})
	run["inventories"] = []any{map[string]any{"yaml": map[string]any{
		"all": map[string]any{
			"vars":  map[string]any{"ansible_connection": "local", "ansible_python_interpreter": "{{ ansible_playbook_python }}", "literal": "{{ 1 + 1 }}", "whole": "${xr.spec.values}"},
			"hosts": "${{'web1': {'values': xr.spec.values}}}",
		},
	}}}

	var mistakes field.ErrorList

	in := compiler{env: env, mistakes: &mistakes}.inventory(input.Run{Object: run})
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}

	text, problems := in.Inventory.Evaluate(context.Background(), expression.Data{XR: map[string]any{"spec": map[string]any{"values": values}}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}

	playbook := `
- hosts: all
  gather_facts: false
  tasks:
  - ansible.builtin.copy:
      dest: ` + filepath.Join(dir, "out.json") + `
      content: "{{ {'values': values, 'whole': whole, 'literal': literal} | to_json }}"
`
	for name, data := range map[string]string{file: text, "play.yml": playbook} {
		needs.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}

	collections, err := filepath.Abs("../../provider/collection")
	needs.OK(t, err)

	cmd := exec.CommandContext(t.Context(), needs.Program(t, "ansible-playbook"), "-i", filepath.Join(dir, file), filepath.Join(dir, "play.yml"))
	cmd.Env = append(os.Environ(), "ANSIBLE_LOCALHOST_WARNING=false", "HOME="+dir, "ANSIBLE_COLLECTIONS_PATH="+collections)

	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, text)
	}

	got := map[string]any{}
	needs.OK(t, json.Unmarshal([]byte(needs.Read(t, filepath.Join(dir, "out.json"))), &got))

	if diff := cmp.Diff(map[string]any{"values": values, "whole": values, "literal": 2.0}, got); diff != "" {
		t.Errorf("variables in Ansible: -want, +got:\n%s\n%s", diff, text)
	}

	if _, err := os.Stat(filepath.Join(dir, "attacked")); err == nil {
		t.Errorf("a template in a computed value was run:\n%s", text)
	}
}
