// Package input holds the schema of the function's input, as it is shipped.
package input

import _ "embed" // For the schema.

// Schema is the CustomResourceDefinition of the input, as YAML.
//
//go:embed ansible.fn.crossplane.io_ansibleruns.yaml
var Schema []byte
