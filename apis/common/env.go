package common

// An EnvVar is an environment variable of a play. ansible-playbook gets it, and so do the modules that run on the
// provider's machine or in the Pod of the run.
// +kubebuilder:validation:XValidation:rule="has(self.value) != has(self.valueFrom)",message="exactly one of value and valueFrom must be set"
type EnvVar struct {
	// Name of the variable.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	Name string `json:"name"`

	// Value of the variable.
	// +optional
	// +kubebuilder:validation:MaxLength=131072
	Value *string `json:"value,omitempty"`

	// ValueFrom selects the value from a Secret or a ConfigMap.
	// +optional
	ValueFrom *EnvVarSource `json:"valueFrom,omitempty"`
}

// An EnvVarSource selects the value of an environment variable.
// +kubebuilder:validation:XValidation:rule="has(self.secretKeyRef) != has(self.configMapKeyRef)",message="exactly one of secretKeyRef and configMapKeyRef must be set"
type EnvVarSource struct {
	// SecretKeyRef selects a key of a Secret. Reports mask its value in text, and withhold outputs that contain it.
	// +optional
	SecretKeyRef *KeySelector `json:"secretKeyRef,omitempty"`

	// ConfigMapKeyRef selects a key of a ConfigMap.
	// +optional
	ConfigMapKeyRef *KeySelector `json:"configMapKeyRef,omitempty"`
}
