package config

import (
	"bytes"
	"io"

	"go.yaml.in/yaml/v3"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// checkVars reports a variable file that is not a mapping of names to values,
// and whether it says nothing at all. Tags mean nothing here: values may be
// encrypted by Ansible Vault, as may be the file. The error never has what is
// in the file, which may be secret.
func checkVars(data []byte) (empty bool, err error) {
	if bytes.HasPrefix(data, []byte("$ANSIBLE_VAULT;")) {
		return false, nil
	}

	d := yaml.NewDecoder(bytes.NewReader(data))

	doc := &yaml.Node{}

	err = d.Decode(doc)
	if errors.Is(err, io.EOF) {
		return true, nil
	}

	// The parser quotes what it cannot read.
	if err != nil || len(doc.Content) != 1 {
		return false, errors.New("is not valid YAML")
	}

	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return true, nil
	}

	if root.Kind != yaml.MappingNode {
		return false, errors.Errorf("is not a mapping of names to values (line %d)", root.Line)
	}

	if err := d.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return false, errors.New("is not a single YAML document")
	}

	return false, nil
}
