// Package crds holds the API of the provider, as it is shipped.
package crds

import _ "embed" // For the definitions.

// CustomResourceDefinitions of the AnsibleRuns, as YAML.
var (
	// AnsibleRuns are the namespaced ones.
	//
	//go:embed ansible.m.crossplane.io_ansibleruns.yaml
	AnsibleRuns []byte
	// ClusterAnsibleRuns are the cluster-scoped ones.
	//
	//go:embed ansible.crossplane.io_ansibleruns.yaml
	ClusterAnsibleRuns []byte
)
