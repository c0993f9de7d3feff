package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories={crossplane,ansible}
// +kubebuilder:printcolumn:name="RUN",type="string",JSONPath=".spec.runRef.name"
// +kubebuilder:printcolumn:name="DECISION",type="string",JSONPath=".spec.decision"
// +kubebuilder:printcolumn:name="BY",type="string",JSONPath=".spec.by"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"

// An Approval lets an AnsibleRun in its namespace apply the changes that a check has predicted, or forbids that. Users
// with the right to create Approvals may decide.
type Approval struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec common.ApprovalSpec `json:"spec"`
}

// +kubebuilder:object:root=true

// ApprovalList is a list of Approvals.
type ApprovalList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Approval `json:"items"`
}

// Decided returns the spec with the decision.
func (a *Approval) Decided() *common.ApprovalSpec {
	return &a.Spec
}
