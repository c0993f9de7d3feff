package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// A ProviderConfigStatus is the observed state of a ProviderConfig.
type ProviderConfigStatus struct {
	xpv2.ProviderConfigStatus `json:",inline"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={crossplane,provider,ansible}
// +kubebuilder:printcolumn:name="USERS",type="integer",JSONPath=".status.users"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must have at most 63 characters: it is the value of a label"

// A ProviderConfig says from where the content of AnsibleRuns in its namespace is installed, and with which settings it
// runs.
type ProviderConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:validation:XValidation:rule="!has(self.credentials) || self.credentials.all(c, !(c.source in ['Environment', 'Filesystem']))",message="credentials for namespaced AnsibleRuns cannot come from Environment or Filesystem, which are the provider's own"
	// +kubebuilder:validation:XValidation:rule="!has(self.execution) || !has(self.execution.podTemplate)",message="only cluster scoped configurations may have execution.podTemplate: it allows more of the nodes than a namespace may have"
	// +kubebuilder:validation:XValidation:rule="!has(self.execution) || !has(self.execution.annotations) || self.execution.annotations.all(a, !a.startsWith('container.apparmor.security.beta.kubernetes.io/') && !a.startsWith('seccomp.security.alpha.kubernetes.io/') && !a.startsWith('container.seccomp.security.alpha.kubernetes.io/'))",message="only cluster scoped configurations may have execution.annotations that loosen the confinement of the Pod"
	// +kubebuilder:validation:XValidation:rule="!has(self.execution) || !has(self.execution.namespace)",message="only cluster scoped configurations may have execution.namespace: the Pods of this configuration are in its own namespace"
	// +kubebuilder:validation:XValidation:rule="!has(self.kubernetes) || !has(self.kubernetes.serviceAccountRef.namespace)",message="only cluster scoped configurations may have kubernetes.serviceAccountRef.namespace: the ServiceAccount of this configuration is in its own namespace"
	// +kubebuilder:validation:XValidation:rule="!has(self.confinement)",message="only cluster scoped configurations may have confinement: it allows more of the provider's machine than a namespace may have"
	Spec   common.ProviderConfigSpec `json:"spec,omitempty"`
	Status ProviderConfigStatus      `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ProviderConfigList is a list of ProviderConfigs.
type ProviderConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ProviderConfig `json:"items"`
}

// ConfigSpec is the spec that all kinds of configuration share.
func (c *ProviderConfig) ConfigSpec() *common.ProviderConfigSpec {
	return &c.Spec
}

// A ClusterProviderConfigStatus is the observed state of a ClusterProviderConfig.
type ClusterProviderConfigStatus struct {
	xpv2.ProviderConfigStatus `json:",inline"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories={crossplane,provider,ansible}
// +kubebuilder:printcolumn:name="USERS",type="integer",JSONPath=".status.users"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must have at most 63 characters: it is the value of a label"

// A ClusterProviderConfig says from where the content of AnsibleRuns in any namespace is installed, and with which
// settings it runs.
type ClusterProviderConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:validation:XValidation:rule="!has(self.credentials) || self.credentials.all(c, !(c.source in ['Environment', 'Filesystem']))",message="credentials for namespaced AnsibleRuns cannot come from Environment or Filesystem, which are the provider's own"
	Spec   common.ProviderConfigSpec   `json:"spec,omitempty"`
	Status ClusterProviderConfigStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ClusterProviderConfigList is a list of ClusterProviderConfigs.
type ClusterProviderConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterProviderConfig `json:"items"`
}

// ConfigSpec is the spec that all kinds of configuration share.
func (c *ClusterProviderConfig) ConfigSpec() *common.ProviderConfigSpec {
	return &c.Spec
}
