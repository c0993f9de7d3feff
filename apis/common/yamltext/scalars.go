package yamltext

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// maxTags is how many %TAG directives a text may have. The parser compares each with all others, which takes minutes
// for a megabyte of them. Texts of users hardly ever have one.
const maxTags = 100

// Check returns an error for a text that would take the YAML parser minutes.
func Check(text []byte) error {
	if n := bytes.Count(text, []byte("%TAG")); n > maxTags {
		return errors.Errorf("has %d %%TAG directives; at most %d are read", n, maxTags)
	}

	return nil
}

// Scalars returns the scalars of a mapping by their keys, as text. It does not decode the mapping into a Go map: the
// decoder compares all keys with each other, which takes minutes for a hundred thousand keys.
func Scalars(text []byte) (map[string]string, error) {
	if err := Check(text); err != nil {
		return nil, err
	}

	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}

	if len(doc.Content) == 0 || doc.Content[0].ShortTag() == "!!null" {
		return nil, nil
	}

	if doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("is not a mapping")
	}

	values := map[string]string{}

	for pairs := range slices.Chunk(doc.Content[0].Content, 2) {
		value := pairs[1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}

		if value.Kind == yaml.ScalarNode && value.ShortTag() != "!!null" {
			values[pairs[0].Value] = value.Value
		}
	}

	return values, nil
}
