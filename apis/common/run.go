package common

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
)

// +kubebuilder:object:generate=false

// An AnsibleRun is an AnsibleRun of either group.
type AnsibleRun interface {
	resource.Managed

	// Parameters of the run, as written.
	Parameters() *AnsibleRunParameters

	// Observation of the run.
	Observation() *AnsibleRunObservation

	// Conditions of the object.
	Conditions() *[]xpv2.Condition

	// GetObservedGeneration is the generation that was reconciled last.
	GetObservedGeneration() int64
}

// +kubebuilder:object:generate=false

// A Config is a ProviderConfig of either group, or a ClusterProviderConfig.
type Config interface {
	resource.ProviderConfig

	// ConfigSpec is the spec that all kinds of configuration share.
	ConfigSpec() *ProviderConfigSpec
}
