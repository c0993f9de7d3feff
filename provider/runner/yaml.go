package runner

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// unsafeTag keeps Ansible from templating any string in a mapping. It must not tag a
// single string: ansible-core 2.19 forgets the quotes of such a string, and makes a
// boolean of "yes" and a number of "1".
// https://docs.ansible.com/ansible/latest/playbook_guide/playbooks_advanced_syntax.html#unsafe-or-raw-strings
const unsafeTag = "!unsafe"

// untemplated returns a file of variables whose strings Ansible does not template. It is YAML:
// JSON has no tags, and in JSON Ansible takes some mappings for encrypted values.
func untemplated(vars map[string]any) ([]byte, error) {
	n := node(vars, yaml.FlowStyle)
	n.Tag = unsafeTag

	text, err := yaml.Marshal(n)

	return text, errors.Wrap(err, "cannot write variables as YAML")
}

// node of YAML for a value decoded from JSON, in which numbers are json.Number. Strings are
// quoted, so that no version of YAML takes them for anything else. Collections have a style.
func node(v any, style yaml.Style) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode}

	switch v := v.(type) {
	case nil:
		n.Value = "null"
	case string:
		n.Tag, n.Style, n.Value = "!!str", yaml.DoubleQuotedStyle, v
	case json.Number:
		n.Value = number(v.String())
	case []any:
		n.Kind, n.Style = yaml.SequenceNode, style

		for _, item := range v {
			n.Content = append(n.Content, node(item, style))
		}
	case map[string]any:
		n.Kind, n.Style = yaml.MappingNode, style

		for _, k := range slices.Sorted(maps.Keys(v)) {
			n.Content = append(n.Content, node(k, style), node(v[k], style))
		}
	default:
		n.Value = fmt.Sprint(v)
	}

	return n
}

// number is a JSON number as PyYAML reads numbers: integers of any size as they are; a
// float has a point, and its exponent a sign.
func number(n string) string {
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(n), "e")
	if !scientific {
		return n
	}

	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}

	if !strings.HasPrefix(exponent, "-") && !strings.HasPrefix(exponent, "+") {
		exponent = "+" + exponent
	}

	return mantissa + "e" + exponent
}
