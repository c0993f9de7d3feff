package expression

import (
	"bytes"
	"encoding/json"
	"slices"

	yaml "go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// maxMessage is how many bytes are shown of a message that strangers may have written, for each run perhaps.
const maxMessage = 1 << 10

// maxDepth is how deep the values may be nested that are read from a text. Messages to core cannot be nested much
// deeper.
const maxDepth = 100

// isDeep is true for JSON that has more levels than these.
func isDeep(v any, levels int) bool {
	if levels < 0 {
		return true
	}

	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return isDeep(item, levels-1) })
	case map[string]any:
		for _, value := range v {
			if isDeep(value, levels-1) {
				return true
			}
		}
	}

	return false
}

// marshalJSON returns a JSON value as text, with the fields of objects in order.
func marshalJSON(v any) ([]byte, error) {
	var b bytes.Buffer

	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)

	err := enc.Encode(v)

	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), errors.Wrap(err, "cannot write JSON")
}

// marshalYAML returns a JSON value as a YAML document, with the fields of objects
// in order. It means the same in YAML 1.1, which Ansible reads.
func marshalYAML(v any) ([]byte, error) {
	const indent = 2

	var b bytes.Buffer

	enc := yaml.NewEncoder(&b)
	enc.SetIndent(indent)

	err := enc.Encode(manifest.WithIntegers(v)) // Floats would have an exponent.

	return b.Bytes(), errors.Wrap(err, "cannot write YAML")
}

// unmarshalJSON reads one JSON value.
func unmarshalJSON(text string) (any, error) {
	var v any
	if err := utiljson.Unmarshal([]byte(text), &v); err != nil {
		return nil, errors.New("the text is not JSON: " + clip.Text(err.Error(), maxMessage))
	}

	return v, nil
}

// unmarshalYAML reads one YAML document of plain values, as JSON has them. Tags such as
// !vault are errors, and so are aliases, by which a short text may become a huge value.
func unmarshalYAML(text string) (any, error) {
	root, err := yamltext.Parse(text)

	switch {
	case errors.Is(err, yamltext.ErrMany):
		return nil, errors.New("the text is more than one YAML document")
	case err != nil:
		return nil, errors.New("the text is not YAML: " + clip.Text(err.Error(), maxMessage))
	case root == nil:
		return nil, nil
	}

	return plain(root)
}

// plain returns what a node of YAML is as JSON, or says what it is. A date is a text. The decoder would compare each
// key of a mapping with all others.
func plain(n *yaml.Node) (v any, err error) {
	switch tag := n.ShortTag(); {
	case n.Kind == yaml.AliasNode:
		return nil, errors.New("the text has a YAML alias, which cannot be used here")
	case n.Kind == yaml.MappingNode && tag == "!!map":
		return mapping(n)
	case n.Kind == yaml.SequenceNode && tag == "!!seq":
		list := make([]any, len(n.Content))

		for i := range n.Content {
			if list[i], err = plain(n.Content[i]); err != nil {
				return nil, err
			}
		}

		return list, nil
	case tag == "!!timestamp":
		return n.Value, nil
	case tag == "!!int":
		var i int64

		err = n.Decode(&i)
		v = i
	case tag == "!!float" || tag == "!!str" || tag == "!!null" || tag == "!!bool":
		err = n.Decode(&v)
	default:
		return nil, errors.New("the text has a YAML tag, which cannot be used here")
	}

	if err != nil {
		return nil, errors.New("the text is not YAML: " + clip.Text(err.Error(), maxMessage))
	}

	return v, nil
}

// mapping returns the object that a node of YAML is.
func mapping(n *yaml.Node) (any, error) {
	object := make(map[string]any, len(n.Content)/2)

	for pair := range slices.Chunk(n.Content, 2) {
		key := pair[0]
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
			return nil, errors.New("the text has a key that is not a string; put quotes around it")
		}

		if _, twice := object[key.Value]; twice {
			return nil, errors.New("the text has a key twice")
		}

		v, err := plain(pair[1])
		if err != nil {
			return nil, err
		}

		object[key.Value] = v
	}

	return object, nil
}
