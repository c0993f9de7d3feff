package scaffold

import (
	"regexp"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	syaml "sigs.k8s.io/yaml"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// object returns a value as an object; nil if it is none.
func object(v any) map[string]any {
	o, _ := v.(map[string]any)
	return o
}

// listOf returns the list at a path of an object; nil if there is none.
func listOf(o map[string]any, path ...string) []any {
	l, _ := manifest.Nested(o, path...).([]any)
	return l
}

// goWords has patterns of messages of parsers with terms of Go, and their replacements.
var goWords = []struct{ of, is string }{ //nolint:gochecknoglobals // Go has no constant lists.
	{`yaml: unmarshal errors:\n +|error unmarshaling JSON: while decoding JSON: json: `, ""},
	{`cannot unmarshal (?:!!)?(.*) into (?:Go value of type )?`, "cannot read $1 as "},
	{`Go struct field \S*?(\w+) of type `, "the field $1, of type "},
	{`(?m)( as | type )\[\]\S+$`, "${1}list"},
	{`(?m)( as | type )(?:map\[string\]\S+(?: {})?|\w+\.\w+)$`, "${1}mapping"},
}

// inYAML returns an error of a parser without terms of Go.
func inYAML(err error) error {
	if err == nil {
		return nil
	}

	text := err.Error()
	for _, w := range goWords {
		text = regexp.MustCompile(w.of).ReplaceAllString(text, w.is)
	}

	return errors.New(text)
}

// A mapping is a YAML mapping that keeps its order.
type mapping struct {
	yaml.Node
}

func newMapping() *mapping {
	return &mapping{Node: yaml.Node{Kind: yaml.MappingNode}}
}

// set adds a key with a value, and comments above it.
func (m *mapping) set(key string, v any, comments ...string) *mapping {
	k := &yaml.Node{}
	k.SetString(key)
	k.HeadComment = commentOf(comments)
	m.Content = append(m.Content, k, nodeOf(v))

	return m
}

// some adds a key with a value, unless the value is empty.
func (m *mapping) some(key string, v any, comments ...string) *mapping {
	if n := nodeOf(v); len(n.Content) > 0 || n.Value != "" && n.Tag != "!!null" {
		m.set(key, v, comments...)
	}

	return m
}

// add adds the fields of an object, sorted by name.
func (m *mapping) add(o map[string]any) *mapping {
	for _, name := range manifest.SortedKeys(o) {
		m.set(name, o[name])
	}

	return m
}

// nodeOf returns the node of a JSON value, a mapping or a list of mappings.
func nodeOf(v any) *yaml.Node {
	n := &yaml.Node{}

	switch v := v.(type) {
	case *yaml.Node:
		return v
	case *mapping:
		return &v.Node
	case []*mapping:
		n.Kind = yaml.SequenceNode
		for _, m := range v {
			n.Content = append(n.Content, &m.Node)
		}
	default:
		if err := n.Encode(manifest.WithIntegers(v)); err != nil {
			n.SetString(err.Error())
		}

		// Without quotes, an expression such as ${a ? "x" : "y"} is not valid YAML.
		if strings.HasPrefix(n.Value, "${") {
			n.Style = yaml.DoubleQuotedStyle
		}
	}

	return n
}

// comments are the comments above a field.
type comments []string

// say adds a comment if it is needed.
func (c *comments) say(needed bool, comment string) {
	if needed {
		*c = append(*c, comment)
	}
}

// width is the width of comments.
const width = 90

// commentOf returns lines as a comment, wrapped.
func commentOf(lines []string) string {
	var out []string

	for _, l := range lines {
		current := "#"

		for w := range strings.FieldsSeq(l) {
			if len(current)+len(w) > width && current != "#" {
				out = append(out, current)
				current = "#"
			}

			current += " " + w
		}

		out = append(out, current)
	}

	return strings.Join(out, "\n")
}

// textOf returns a value as YAML.
func textOf(v any) string {
	b := &strings.Builder{}
	e := yaml.NewEncoder(b)
	e.SetIndent(2)
	e.CompactSeqIndent()

	if err := errors.Join(e.Encode(nodeOf(v)), e.Close()); err != nil {
		return err.Error()
	}

	return b.String()
}

// asJSON returns a value as JSON; nil for a value that JSON does not have, such as infinity.
func asJSON(v any) (out any) {
	_ = syaml.Unmarshal([]byte(textOf(v)), &out)
	return out
}

// oneLine returns a value as YAML in one line, for a comment.
func oneLine(v any) string {
	n := nodeOf(v)
	n.Style = yaml.FlowStyle

	return strings.Join(strings.Fields(textOf(n)), " ")
}
