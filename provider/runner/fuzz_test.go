package runner

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// FuzzVariables writes variables that Ansible must not template, and reads them
// with another parser of YAML than Ansible's, which is slow.
func FuzzVariables(f *testing.F) {
	f.Add([]byte(`{"a": ["{{ x }}", "!unsafe y", 1, 1.5e-10, 9007199254740993, true, null, {}, []]}`))
	f.Add([]byte(`{"": "\u0000\u0085\u2028\ufeff\ud83d\udc4d", "` + strings.Repeat("k", 300) + `": "- a: b # c\n..."}`))
	f.Add([]byte(`{"a\nb: c": "*alias", "<<": "&anchor", "?": ":"}`))

	f.Fuzz(func(t *testing.T, text []byte) {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()

		var vars map[string]any
		if d.Decode(&vars) != nil || vars == nil {
			return
		}

		written := untemplated(vars)

		var doc yaml.Node
		if err := yaml.Unmarshal(written, &doc); err != nil {
			t.Fatalf("untemplated(%q): %v\n%s", text, err, written)
		}

		root := doc.Content[0]
		if root.Tag != "!unsafe" {
			t.Fatalf("untemplated(%q): the mapping is %q\n%s", text, root.Tag, written)
		}

		if diff := cmp.Diff(plainValue(vars), valueOf(root)); diff != "" {
			t.Errorf("untemplated(%q): -want, +got:\n%s", text, diff)
		}
	})
}

// plainValue has numbers as they are written to YAML.
func plainValue(v any) any {
	switch v := v.(type) {
	case json.Number:
		return "number " + number(v.String())
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plainValue(v[i])
		}

		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, item := range v {
			m[k] = plainValue(item)
		}

		return m
	case string:
		return "string " + v
	}

	return v
}

// valueOf a node of YAML, as it was written.
func valueOf(n *yaml.Node) any {
	switch {
	case n.Kind == yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, c := range n.Content {
			list[i] = valueOf(c)
		}

		return list
	case n.Kind == yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			m[n.Content[i].Value] = valueOf(n.Content[i+1])
		}

		return m
	case n.Style == yaml.DoubleQuotedStyle:
		return "string " + n.Value
	case n.Value == "null":
		return nil
	case n.Value == "true", n.Value == "false":
		return n.Value == "true"
	}

	return "number " + n.Value
}

// FuzzInventory names the files of inventories.
func FuzzInventory(f *testing.F) {
	f.Add([]byte("plugin: amazon.aws.aws_ec2\nregions: [eu-west-1]\n"), false)
	f.Add([]byte("plugin: ../../x\n"), false)
	f.Add([]byte("plugin: \"a\\0b/\\n\"\n"), true)
	f.Add([]byte("[web]\nhost\n"), true)

	f.Fuzz(func(t *testing.T, text []byte, executable bool) {
		in := inputs.Inputs{Inventories: []inputs.File{{Data: text}}}
		in.Parameters.ExecutableInventory = executable

		for _, file := range planner().inventories(in)[1:] {
			name := path.Base(file.Path)
			if file.Path != path.Join(inventoryDir, "0", name) || strings.ContainsAny(name, "\x00\n\\") || len(name) > 255 || name[0] == '.' {
				t.Errorf("inventories(%q): got the path %q", text, file.Path)
			}
		}
	})
}
