package inputs

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
)

// maxNodes is how many nodes of requirements are read as data, those behind aliases each
// time. Requirements that can be installed have fewer; a few aliases of aliases have
// billions.
const maxNodes = 100_000

// canonicalRequirements are requirements as data, without comments and layout. Text that
// is no YAML stands for itself; nothing is ever installed from it.
func canonicalRequirements(text string) any {
	if yamltext.Check([]byte(text)) != nil {
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

// plain data of a node. A scalar is its text as it was written: a version is the same with
// and without quotes, and 1.10 is not 1.1. Scalars that are neither text nor numbers have
// their tag, too.
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
