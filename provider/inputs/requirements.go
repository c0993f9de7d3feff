package inputs

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/crossplane-ansible/crossplane-ansible/provider/document"
)

// maxNodes of requirements that are read as data, aliases followed. Those that
// can be installed have fewer.
const maxNodes = 100_000

// canonicalRequirements are requirements as data: comments and layout mean
// nothing. Text that is no YAML, from which nothing is ever installed, stands for
// itself.
func canonicalRequirements(text string) any {
	if document.Check([]byte(text)) != nil {
		return text
	}

	doc := yaml.Node{}
	if yaml.Unmarshal([]byte(text), &doc) != nil {
		return text
	}

	left := maxNodes

	data := plain(&doc, &left)
	if left < 0 {
		return text
	}

	return data
}

// plain data of a node: a scalar is its text as it was written, since a version
// means the same with quotes and without, 1.10 not the same as 1.1. What is not
// text and no number has its tag, too.
func plain(n *yaml.Node, left *int) any {
	if *left--; *left < 0 {
		return nil
	}

	switch n.Kind {
	case yaml.DocumentNode:
		return plain(n.Content[0], left)
	case yaml.AliasNode:
		return plain(n.Alias, left)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			list[i] = plain(item, left)
		}

		return list
	case yaml.MappingNode:
		fields := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			fields[n.Content[i].Value] = plain(n.Content[i+1], left)
		}

		return fields
	case yaml.ScalarNode:
	}

	switch tag := n.ShortTag(); {
	case n.Kind == 0, tag == "!!null":
		return nil
	case slices.Contains([]string{"!!str", "!!int", "!!float", "!!timestamp"}, tag):
		return n.Value
	default:
		return []string{tag, n.Value}
	}
}
