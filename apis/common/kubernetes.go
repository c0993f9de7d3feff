package common

// Kubernetes gives content access to the API server of the provider's own cluster, with the
// rights of a ServiceAccount. Modules, lookups, kubectl and helm find it by themselves.
type Kubernetes struct {
	// ServiceAccountRef names the ServiceAccount whose rights the content has. The provider
	// gets a token of it for each run, which the content does not see.
	ServiceAccountRef ServiceAccountReference `json:"serviceAccountRef"`
}

// A ServiceAccountReference names a ServiceAccount.
type ServiceAccountReference struct {
	// Name of the ServiceAccount.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Namespace of the ServiceAccount. Only cluster scoped configurations may have it: that
	// of a ProviderConfig in a namespace is in the same one. By default it is the namespace
	// of the AnsibleRun; cluster scoped AnsibleRuns have none, so that their configuration
	// must name one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}
