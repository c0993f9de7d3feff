package common

// Kubernetes gives content access to the API server of the provider's own cluster, with the rights of a ServiceAccount.
// Modules, lookups, kubectl and helm find the API server without further settings.
// +kubebuilder:validation:XValidation:rule="!has(self.ignoreDependents) || size(self.ignoreDependents) == 0 || (has(self.watchDependents) && self.watchDependents)",message="ignoreDependents has no effect without watchDependents: set watchDependents to true, or leave it out"
type Kubernetes struct {
	// ServiceAccountRef names the ServiceAccount with the rights of the content. The provider requests a token of it for
	// each run. The content does not see the token.
	ServiceAccountRef ServiceAccountReference `json:"serviceAccountRef"`

	// OwnerReferences makes the AnsibleRun the owner of each object that its content creates, so that Kubernetes removes
	// the remaining objects when the AnsibleRun is gone. Kubernetes allows no such owner outside of the namespace of the
	// AnsibleRun: there, the object gets the annotations of Ansible operators instead.
	// +optional
	OwnerReferences bool `json:"ownerReferences,omitempty"`

	// WatchDependents runs or checks the content again as soon as an object that the content has created or changed is
	// changed or deleted. It holds under every run policy.
	// +optional
	WatchDependents bool `json:"watchDependents,omitempty"`

	// IgnoreDependents are kinds of objects that are not watched.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	IgnoreDependents []GroupKind `json:"ignoreDependents,omitempty"`
}

// A GroupKind is a kind of objects, in all versions of its group.
type GroupKind struct {
	// Group of the kind; empty for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`

	// Kind of the objects.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
}

// A ServiceAccountReference names a ServiceAccount.
type ServiceAccountReference struct {
	// Name of the ServiceAccount.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Namespace of the ServiceAccount. Only cluster scoped configurations may set it: a ProviderConfig in a namespace
	// refers to ServiceAccounts of that namespace. The default is the namespace of the AnsibleRun. Cluster scoped
	// AnsibleRuns have none, so that their configuration must set it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}
