package expression

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// maxMessage is how many bytes are shown of a message that strangers may have
// written, for each run perhaps.
const maxMessage = 1 << 10

// maxDepth is how deep the values may be nested that are read from a text. Messages to
// core cannot be nested much deeper.
const maxDepth = 100

var errDeep = errors.Errorf("the text is more than %d levels deep", maxDepth)

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

// unmarshalJSON reads one JSON value. Integral numbers are int64, others float64.
func unmarshalJSON(text string) (any, error) {
	dec := json.NewDecoder(strings.NewReader(text))

	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, errors.New("the text is not JSON: " + clip.Text(err.Error(), maxMessage))
	}

	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the text is not JSON: there is more after the value")
	}

	return numbers(v, 0)
}

// numbers returns a JSON value with numbers that an expression can use: an integral one is
// an integer. It may not be what was written from 2^53 on.
func numbers(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errDeep
	}

	var err error

	switch v := v.(type) {
	case int:
		return numbers(float64(v), depth)
	case uint64:
		return numbers(float64(v), depth)
	case float64:
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			return nil, errors.New("the text has a number that is not in JSON")
		case v != math.Trunc(v):
			return v, nil
		case math.Abs(v) >= manifest.MaxExact:
			return nil, errors.New("the text has an integer beyond 2^53, which is not exact here; make it a string")
		}

		return int64(v), nil
	case []any:
		for i := range v {
			if v[i], err = numbers(v[i], depth+1); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], err = numbers(v[k], depth+1); err != nil {
				return nil, err
			}
		}
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

	return plain(root, 0)
}

// plain returns what a node of YAML is as JSON, or says what it is. A date is a text. The decoder would compare each
// key of a mapping with all others.
func plain(n *yaml.Node, depth int) (any, error) {
	switch tag := n.ShortTag(); {
	case depth > maxDepth:
		return nil, errDeep
	case n.Kind == yaml.AliasNode:
		return nil, errors.New("the text has a YAML alias, which cannot be used here")
	case n.Kind == yaml.MappingNode && tag == "!!map":
		return mapping(n, depth)
	case n.Kind == yaml.SequenceNode && tag == "!!seq":
		list := make([]any, len(n.Content))

		for i := range n.Content {
			v, err := plain(n.Content[i], depth+1)
			if err != nil {
				return nil, err
			}

			list[i] = v
		}

		return list, nil
	case tag == "!!timestamp":
		return n.Value, nil
	case !slices.Contains([]string{"!!str", "!!null", "!!bool", "!!int", "!!float"}, tag):
		return nil, errors.New("the text has a YAML tag, which cannot be used here")
	}

	var v any
	if err := n.Decode(&v); err != nil {
		return nil, errors.New("the text is not YAML: " + clip.Text(err.Error(), maxMessage))
	}

	return numbers(v, depth)
}

// mapping returns the object that a node of YAML is.
func mapping(n *yaml.Node, depth int) (any, error) {
	object := make(map[string]any, len(n.Content)/2)

	for pair := range slices.Chunk(n.Content, 2) {
		key := pair[0]
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
			return nil, errors.New("the text has a key that is not a string; put quotes around it")
		}

		if _, twice := object[key.Value]; twice {
			return nil, errors.New("the text has a key twice")
		}

		v, err := plain(pair[1], depth+1)
		if err != nil {
			return nil, err
		}

		object[key.Value] = v
	}

	return object, nil
}
