// Package crds holds the API of the provider, as it is shipped.
package crds

import _ "embed" // For the definitions.

// CustomResourceDefinitions, as YAML.
var (
	// AnsibleRuns are the namespaced ones.
	//
	//go:embed ansible.m.crossplane.io_ansibleruns.yaml
	AnsibleRuns []byte
	// ClusterAnsibleRuns are the cluster-scoped ones.
	//
	//go:embed ansible.crossplane.io_ansibleruns.yaml
	ClusterAnsibleRuns []byte
	// ProviderConfigs are those of namespaces.
	//
	//go:embed ansible.m.crossplane.io_providerconfigs.yaml
	ProviderConfigs []byte
	// SharedProviderConfigs are those of namespaced AnsibleRuns of all namespaces.
	//
	//go:embed ansible.m.crossplane.io_clusterproviderconfigs.yaml
	SharedProviderConfigs []byte
	// ClusterProviderConfigs are those of cluster-scoped AnsibleRuns.
	//
	//go:embed ansible.crossplane.io_providerconfigs.yaml
	ClusterProviderConfigs []byte
)
