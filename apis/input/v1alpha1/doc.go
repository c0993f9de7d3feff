// Package v1alpha1 holds the input of function-ansible, group
// ansible.fn.crossplane.io. It is a schema only: no such object is ever stored.
//
// +kubebuilder:object:generate=true
// +groupName=ansible.fn.crossplane.io
// +versionName=v1alpha1
package v1alpha1

// Identity of the input.
const (
	// Group of the input.
	Group = "ansible.fn.crossplane.io"
	// APIVersion of the input.
	APIVersion = Group + "/v1alpha1"
	// KindAnsibleRuns is the input's kind.
	KindAnsibleRuns = "AnsibleRuns"
)
