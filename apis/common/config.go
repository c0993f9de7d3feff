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

	// Confinement allows the content more of the provider's machine than its
	// own directories. Only cluster scoped configurations may have it.
	// +optional
	Confinement *Confinement `json:"confinement,omitempty"`
}

// Confinement is what content may do beyond what all content may. It holds for
// every AnsibleRun that refers to the configuration.
type Confinement struct {
	// ReadPaths are files and directories of the provider's machine that the
	// content may read and execute, with all that is below them: absolute, and
	// neither above nor in the provider's state directory.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=1024
	// +kubebuilder:validation:items:Pattern=`^/`
	ReadPaths []string `json:"readPaths,omitempty"`

	// WritePaths are files and directories that the content may also change.
	// A directory that is not there is made.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=1024
	// +kubebuilder:validation:items:Pattern=`^/`
	WritePaths []string `json:"writePaths,omitempty"`

	// ServiceAccount lets plays use the provider's service account, with all
	// that it may do in the cluster.
	// +optional
	ServiceAccount bool `json:"serviceAccount,omitempty"`
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
