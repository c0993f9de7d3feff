// Package crds holds the API of the provider, as it is shipped.
package crds

import _ "embed" // For the definition.

// AnsibleRuns is the CustomResourceDefinition of the namespaced AnsibleRuns, as
// YAML. The cluster-scoped ones have the same fields.
//
//go:embed ansible.m.crossplane.io_ansibleruns.yaml
var AnsibleRuns []byte
