package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// An AnsibleRunSpec is the desired state of an AnsibleRun.
type AnsibleRunSpec struct {
	xpv2.ClusterManagedResourceSpec `json:",inline"`

	// ForProvider says what to run, with which variables, and on which hosts. For server-side apply it is one field: each
	// apply replaces all of it.
	// +structType=atomic
	ForProvider common.AnsibleRunParameters `json:"forProvider"`
}

// An AnsibleRunStatus is the observed state of an AnsibleRun.
type AnsibleRunStatus struct {
	xpv2.ManagedResourceStatus `json:",inline"`

	// AtProvider is the observed state of the runs.
	// +optional
	AtProvider common.AnsibleRunObservation `json:"atProvider,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories={crossplane,managed,ansible}
// +kubebuilder:printcolumn:name="RUN",type="string",JSONPath=`.metadata.annotations.crossplane\.io/composition-resource-name`
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="SYNCED",type="string",JSONPath=".status.conditions[?(@.type=='Synced')].status"
// +kubebuilder:printcolumn:name="PHASE",type="string",JSONPath=".status.atProvider.lastRun.phase"
// +kubebuilder:printcolumn:name="LAST-RUN",type="date",JSONPath=".status.atProvider.lastRun.startTime"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="POLICY",type="string",priority=1,JSONPath=`.metadata.annotations.ansible\.crossplane\.io/runPolicy`
// +kubebuilder:printcolumn:name="TRIGGER",type="string",priority=1,JSONPath=".status.atProvider.lastRun.trigger"
// +kubebuilder:printcolumn:name="PROGRESS",type="string",priority=1,JSONPath=".status.atProvider.lastRun.progress"
// +kubebuilder:printcolumn:name="TASK",type="string",priority=1,JSONPath=".status.atProvider.lastRun.currentTask"
// +kubebuilder:printcolumn:name="REASON",type="string",priority=1,JSONPath=".status.conditions[?(@.status=='False')].reason"
// +kubebuilder:printcolumn:name="MESSAGE",type="string",priority=1,JSONPath=".status.conditions[?(@.status=='False')].message"

// An AnsibleRun says which Ansible content runs, with which variables and on which
// hosts. The content runs with state present while the AnsibleRun exists, and with
// state absent when it is deleted.
type AnsibleRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AnsibleRunSpec   `json:"spec"`
	Status AnsibleRunStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// AnsibleRunList is a list of AnsibleRuns.
type AnsibleRunList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AnsibleRun `json:"items"`
}

// Parameters returns spec.forProvider.
func (r *AnsibleRun) Parameters() *common.AnsibleRunParameters {
	return &r.Spec.ForProvider
}

// Observation returns status.atProvider.
func (r *AnsibleRun) Observation() *common.AnsibleRunObservation {
	return &r.Status.AtProvider
}

// Conditions returns status.conditions.
func (r *AnsibleRun) Conditions() *[]xpv2.Condition {
	return &r.Status.Conditions
}
