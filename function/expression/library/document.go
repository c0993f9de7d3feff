package library

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression/value"
)

// MaxMessage is how many bytes are shown of a message that strangers may have
// written, for each run perhaps.
const MaxMessage = 1 << 10

// maxDepth is how deep the values may be nested that are read from a text. Messages to
// core cannot be nested much deeper.
const maxDepth = 100

// Errors of texts that are read.
var (
	errDeep = errors.Errorf("the text is more than %d levels deep", maxDepth)
	errTag  = errors.New("the text has a YAML tag, which cannot be used here")
)

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

	err := enc.Encode(integral(v))

	return b.Bytes(), errors.Wrap(err, "cannot write YAML")
}

// integral returns a JSON value with its integral numbers as integers: as floats they would be written with an
// exponent.
func integral(v any) any {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= value.MaxExact {
			return int64(v)
		}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = integral(v[i])
		}

		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = integral(v[k])
		}

		return out
	}

	return v
}

// unmarshalJSON reads one JSON value. Integral numbers are int64, others float64.
func unmarshalJSON(text string) (any, error) {
	dec := json.NewDecoder(strings.NewReader(text))

	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, errors.New("the text is not JSON: " + clip.Text(err.Error(), MaxMessage))
	}

	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the text is not JSON: there is more after the value")
	}

	return numbers(v, 0)
}

// numbers returns a JSON value with numbers that an expression can use.
func numbers(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errDeep
	}

	var err error

	switch v := v.(type) {
	case float64:
		return numeral(v)
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

// numeral returns a number as the data of expressions has it: an integral one is
// an integer. It may not be what was written from 2^53 on.
func numeral(f float64) (any, error) {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return nil, errors.New("the text has a number that is not in JSON")
	case f != math.Trunc(f):
		return f, nil
	case math.Abs(f) >= value.MaxExact:
		return nil, errors.New("the text has an integer beyond 2^53, which is not exact here; make it a string")
	}

	return int64(f), nil
}

// unmarshalYAML reads one YAML document of plain values, as JSON has them. Tags such as
// !vault are errors, and so are aliases, by which a short text may become a huge value.
func unmarshalYAML(text string) (any, error) {
	root, err := yamltext.Parse(text)

	switch {
	case errors.Is(err, yamltext.ErrMany):
		return nil, errors.New("the text is more than one YAML document")
	case err != nil:
		return nil, errors.New("the text is not YAML: " + clip.Text(err.Error(), MaxMessage))
	case root == nil:
		return nil, nil
	}

	return plainYAML(root, 0)
}

// plainYAML returns what a node of YAML is as JSON.
func plainYAML(n *yaml.Node, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errDeep
	}

	switch n.Kind {
	case yaml.MappingNode:
		return mapping(n, depth)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))

		for i := range n.Content {
			v, err := plainYAML(n.Content[i], depth+1)
			if err != nil {
				return nil, err
			}

			list[i] = v
		}

		return list, tagged(n, "!!seq")
	case yaml.ScalarNode:
		return scalar(n)
	}

	return nil, errors.New("the text has a YAML alias, which cannot be used here")
}

// mapping returns the object that a node of YAML is.
func mapping(n *yaml.Node, depth int) (any, error) {
	object := make(map[string]any, len(n.Content)/2)

	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
			return nil, errors.New("the text has a key that is not a string; put quotes around it")
		}

		if _, ok := object[key.Value]; ok {
			return nil, errors.New("the text has a key twice")
		}

		v, err := plainYAML(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}

		object[key.Value] = v
	}

	return object, tagged(n, "!!map")
}

// scalar returns the value that a node of YAML is.
func scalar(n *yaml.Node) (any, error) {
	var v any

	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		return n.Value, nil
	case "!!null", "!!bool", "!!int", "!!float":
		if err := n.Decode(&v); err != nil {
			return nil, errors.New("the text is not YAML: " + clip.Text(err.Error(), MaxMessage))
		}
	default:
		return nil, errTag
	}

	switch v := v.(type) {
	case int:
		return numeral(float64(v))
	case uint64:
		return numeral(float64(v))
	case float64:
		return numeral(v)
	}

	return v, nil
}

// tagged reports a node of YAML that does not have this tag.
func tagged(n *yaml.Node, tag string) error {
	if n.ShortTag() == tag {
		return nil
	}

	return errTag
}
