package scaffold

import (
	"bytes"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/crossplane/function-sdk-go/errors"
)

// A mapping is a YAML mapping that keeps its order.
type mapping struct {
	yaml.Node
}

func newMapping() *mapping {
	return &mapping{Node: yaml.Node{Kind: yaml.MappingNode}}
}

// set a key to a value, below a comment if there is one.
func (m *mapping) set(key string, v any, comments ...string) *mapping {
	k := scalar(key)
	k.HeadComment = commentOf(comments)
	m.Content = append(m.Content, k, nodeOf(v))

	return m
}

// nodeOf a value of YAML, of mappings, and of lists of those.
func nodeOf(v any) *yaml.Node {
	switch v := v.(type) {
	case *yaml.Node:
		return v
	case *mapping:
		return &v.Node
	case []*mapping:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, m := range v {
			n.Content = append(n.Content, &m.Node)
		}

		return n
	case expression:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: string(v), Style: yaml.DoubleQuotedStyle}
	}

	n := &yaml.Node{}
	if err := n.Encode(v); err != nil {
		return scalar(err.Error())
	}

	return n
}

// An expression is a string that is always quoted, for ${a ? "x" : "y"} would
// be no YAML.
type expression string

func scalar(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)

	return n
}

// commentOf lines, wrapped.
func commentOf(lines []string) string {
	var out []string

	for _, l := range lines {
		out = append(out, wrap(l)...)
	}

	return strings.Join(out, "\n")
}

// wrap a line of a comment.
func wrap(line string) []string {
	const width = 90

	var (
		out     []string
		current = "#"
	)

	for w := range strings.FieldsSeq(line) {
		if len(current)+len(w) > width && current != "#" {
			out = append(out, current)
			current = "#"
		}

		current += " " + w
	}

	return append(out, current)
}

// document in YAML.
func (m *mapping) document() ([]byte, error) { return written(&m.Node) }

// written in YAML.
func written(n *yaml.Node) ([]byte, error) {
	b := &bytes.Buffer{}
	e := yaml.NewEncoder(b)
	e.SetIndent(2)
	e.CompactSeqIndent()

	if err := e.Encode(n); err != nil {
		return nil, errors.Wrap(err, "cannot write YAML")
	}

	return b.Bytes(), errors.Wrap(e.Close(), "cannot write YAML")
}

// child is a field of a YAML mapping; nil when there is none.
func child(n *yaml.Node, path ...string) *yaml.Node {
	for _, name := range path {
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}

		var found *yaml.Node

		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				found = n.Content[i+1]
			}
		}

		n = found
	}

	return n
}

// text of a field of a YAML mapping; empty when there is none.
func text(n *yaml.Node, path ...string) string {
	if f := child(n, path...); f != nil && f.Kind == yaml.ScalarNode {
		return f.Value
	}

	return ""
}

// isTrue is true for a field of a YAML mapping that is.
func isTrue(n *yaml.Node, path ...string) bool {
	b, _ := coerceBool(text(n, path...))
	return b == true
}

// keys of a YAML mapping, in their order.
func keys(n *yaml.Node) []string {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}

	var all []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		all = append(all, n.Content[i].Value)
	}

	return all
}

// expanded is a copy of YAML without anchors and aliases.
func expanded(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return expanded(n.Alias)
	}

	out := *n
	out.Anchor, out.Content = "", nil

	for _, below := range n.Content {
		out.Content = append(out.Content, expanded(below))
	}

	return &out
}

// without is a copy of a YAML mapping that lacks some of its fields.
func without(n *yaml.Node, names ...string) *mapping {
	m := newMapping()
	if n == nil {
		return m
	}

	m.Style = n.Style

	for i := 0; i+1 < len(n.Content); i += 2 {
		if !slices.Contains(names, n.Content[i].Value) {
			m.Content = append(m.Content, n.Content[i], n.Content[i+1])
		}
	}

	return m
}
