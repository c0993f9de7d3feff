package scaffold

import (
	"bytes"
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
func (m *mapping) document() ([]byte, error) {
	b := &bytes.Buffer{}
	e := yaml.NewEncoder(b)
	e.SetIndent(2)
	e.CompactSeqIndent()

	if err := e.Encode(&m.Node); err != nil {
		return nil, errors.Wrap(err, "cannot write YAML")
	}

	return b.Bytes(), errors.Wrap(e.Close(), "cannot write YAML")
}
