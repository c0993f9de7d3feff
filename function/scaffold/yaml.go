package scaffold

import (
	"regexp"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	syaml "sigs.k8s.io/yaml"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// object is a value that is an object; nil if it is none.
func object(v any) map[string]any {
	o, _ := v.(map[string]any)
	return o
}

// listOf what is at a path of an object; nil if it is no list.
func listOf(o map[string]any, path ...string) []any {
	l, _ := manifest.Nested(o, path...).([]any)
	return l
}

// goWords are what readers of YAML and JSON say in terms of Go, with the terms of YAML.
var goWords = []struct{ of, is string }{ //nolint:gochecknoglobals // Go has no constant lists.
	{`yaml: unmarshal errors:\n +|error unmarshaling JSON: while decoding JSON: json: `, ""},
	{`cannot unmarshal (?:!!)?(.*) into (?:Go value of type )?`, "cannot read $1 as "},
	{`Go struct field \S*?(\w+) of type `, "the field $1, of type "},
	{`(?m)( as | type )\[\]\S+$`, "${1}list"},
	{`(?m)( as | type )(?:map\[string\]\S+(?: {})?|\w+\.\w+)$`, "${1}mapping"},
}

// inYAML is an error of a reader of YAML, in terms of YAML.
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

// set a key to a value, below a comment if there is one.
func (m *mapping) set(key string, v any, comments ...string) *mapping {
	k := &yaml.Node{}
	k.SetString(key)
	k.HeadComment = commentOf(comments)
	m.Content = append(m.Content, k, nodeOf(v))

	return m
}

// some sets a key to a value that is not empty.
func (m *mapping) some(key string, v any, comments ...string) *mapping {
	if n := nodeOf(v); len(n.Content) > 0 || n.Value != "" && n.Tag != "!!null" {
		m.set(key, v, comments...)
	}

	return m
}

// add the fields of an object, in the order of their names.
func (m *mapping) add(o map[string]any) *mapping {
	for _, name := range manifest.SortedKeys(o) {
		m.set(name, o[name])
	}

	return m
}

// nodeOf a JSON value, of mappings, and of lists of those.
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

		// An expression such as ${a ? "x" : "y"} would be no YAML.
		if strings.HasPrefix(n.Value, "${") {
			n.Style = yaml.DoubleQuotedStyle
		}
	}

	return n
}

// comments on a field.
type comments []string

// say a comment when it is needed.
func (c *comments) say(needed bool, comment string) {
	if needed {
		*c = append(*c, comment)
	}
}

// width of comments.
const width = 90

// commentOf lines, wrapped.
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

// textOf a value in YAML.
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

// asJSON is a value as JSON has it; nil for one that JSON cannot have, such as infinity.
func asJSON(v any) (out any) {
	_ = syaml.Unmarshal([]byte(textOf(v)), &out)
	return out
}

// oneLine of a value, for a comment.
func oneLine(v any) string {
	n := nodeOf(v)
	n.Style = yaml.FlowStyle

	return strings.Join(strings.Fields(textOf(n)), " ")
}
