package common

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// ProviderConfigSpec says what the content of an AnsibleRun is installed from
// and what it runs with.
type ProviderConfigSpec struct {
	// Credentials are files that are put into the working directory of a play,
	// readable by the play only. A .git-credentials is also used by git when
	// content is installed, an ansible.cfg by both tools.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Credentials []Credential `json:"credentials,omitempty"`

	// Requirements is the text of a requirements.yml: collections and roles
	// that ansible-galaxy installs.
	// +optional
	Requirements string `json:"requirements,omitempty"`

	// Vars are the environment of ansible-galaxy and of the play: a map of
	// names to values, or a list of {key, value}. ANSIBLE_ROLE_PATH and
	// ANSIBLE_COLLECTION_PATH mean what Ansible spells ANSIBLE_ROLES_PATH and
	// ANSIBLE_COLLECTIONS_PATH; such paths are searched after the content that
	// was installed.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Vars *apiextensionsv1.JSON `json:"vars,omitempty"`
}

// A Credential is a file for the working directory of a play.
type Credential struct {
	// Filename in the working directory, without a path.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^/\x00]+$`
	// +kubebuilder:validation:XValidation:rule="self != '.' && self != '..'",message="filename must be the name of a file"
	Filename string `json:"filename"`

	FileSelector `json:",inline"`
}
