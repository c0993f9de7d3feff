// Package common has every field of the API once: the parameters and the observation of an AnsibleRun, the spec of its
// configuration, and the conditions. The versioned packages of both API groups are thin shells around these types.
//
// +kubebuilder:object:generate=true
package common
