package common

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
)

// ProviderConfigSpec says from where the content of AnsibleRuns is installed, and with which settings it runs.
// +kubebuilder:validation:XValidation:rule="!has(self.execution) || !has(self.execution.content) || self.execution.content != 'Image' || !has(self.requirements) || size(self.requirements) == 0",message="requirements are not installed where execution.content is Image: leave them out, or set it to Install"
type ProviderConfigSpec struct {
	// Credentials are files in the working directory of a play, of mode 0600. When content is installed, git uses the file
	// .git-credentials, and ansible-galaxy the file ansible.cfg.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(c, self.exists_one(d, d.filename == c.filename))",message="two credentials must not have the same filename"
	Credentials []Credential `json:"credentials,omitempty"`

	// Requirements is the text of a requirements.yml: collections and roles for ansible-galaxy to install.
	// +optional
	Requirements string `json:"requirements,omitempty"`

	// Vars are the environment variables of ansible-galaxy and of the play: a map of names to values, or a list of {key,
	// value}. ANSIBLE_ROLE_PATH and ANSIBLE_COLLECTION_PATH are other names of Ansible's ANSIBLE_ROLES_PATH and
	// ANSIBLE_COLLECTIONS_PATH; such paths are searched after the installed content. Variables with which content could
	// take over the provider, such as PATH, HOME, LD_* and PYTHON*, are refused.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Vars *apiextensionsv1.JSON `json:"vars,omitempty"`

	// VarFiles are extra variables in Secrets and ConfigMaps, for all AnsibleRuns of this configuration. Later ones win
	// over earlier ones. Variables that an AnsibleRun sets itself win over all of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	VarFiles []VarFile `json:"varFiles,omitempty"`

	// Env are environment variables of the play, but not of ansible-galaxy: their values may come from Secrets, and a new
	// value causes no new installation. They win over vars.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(e, !e.name.matches('^(PATH|HOME|TMPDIR|ENV|IFS|PS4|SHELLOPTS|BASH_ENV|BASH_FUNC_.*|LD_.*|PYTHON.*|PERL5.*|OPENSSL_.*|AWX_.*|RUNNER_.*|GIT_SSH.*|GIT_CONFIG.*|KUBERNETES_SERVICE_.*)$'))",message="a variable is set by the provider, or would take over programs that it starts"
	// +kubebuilder:validation:XValidation:rule="self.all(e, !e.name.matches('^ANSIBLE_(CONFIG|HOME|LOCAL_TEMP|LIBRARY|MODULE_UTILS|STDOUT_CALLBACK|GALAXY_.*|.*_PATHS?|.*_PLUGINS?|.*_PATH_DIR)$'))",message="a variable says where Ansible finds content or plugins: set it in spec.vars of the configuration, if it may be set at all"
	Env []EnvVar `json:"env,omitempty"`

	// Verification says which signatures and files installed content must have.
	// +optional
	Verification *Verification `json:"verification,omitempty"`

	// Confinement grants the content more paths of the provider's container than its own directories, or the provider's
	// ServiceAccount. Only cluster scoped configurations may set it.
	// +optional
	Confinement *Confinement `json:"confinement,omitempty"`

	// Execution says where the runs are carried out: in the provider's own Pod, or in a
	// Pod for each run.
	// +optional
	Execution *Execution `json:"execution,omitempty"`

	// Approval is Required if the changes of each AnsibleRun of this configuration, deletions included, have to be
	// approved with an Approval before they are applied. An AnsibleRun cannot take this back.
	// +optional
	Approval ApprovalRequirement `json:"approval,omitempty"`

	// Kubernetes gives the content access to the API server of the provider's own cluster,
	// with the rights of a ServiceAccount.
	// +optional
	Kubernetes *Kubernetes `json:"kubernetes,omitempty"`
}

// Verification of installed content: of the signatures of collections, which ansible-galaxy verifies, and of the files
// of collections and roles from any source.
// +kubebuilder:validation:XValidation:rule="has(self.keyring) || has(self.collections) || has(self.roles)",message="one of keyring, collections and roles must be set"
type Verification struct {
	// Keyring is the filename of a credential with public keys, in the format of gpg --export. Collections from Galaxy
	// servers and archives must then be signed. Repositories, directories and roles have no signatures.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Keyring string `json:"keyring,omitempty"`

	// Signatures is the number of signatures of each collection that must be valid, or "all". With a "+" before it, a
	// collection without any signature is refused.
	// +optional
	// +kubebuilder:default="+1"
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:Pattern=`^\+?([1-9][0-9]?|all)$`
	Signatures string `json:"signatures,omitempty"`

	// Collections that must be installed with these files and no others.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	Collections []VerifiedContent `json:"collections,omitempty"`

	// Roles that must be installed with these files and no others.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	Roles []VerifiedContent `json:"roles,omitempty"`
}

// VerifiedContent is a collection or role with known files.
type VerifiedContent struct {
	// Name of the collection or role.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Revision of the content: the full hash of its files. While it is empty the content is not installed, and the error
	// shows its revision.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^([0-9a-f]{64})?$`
	Revision string `json:"revision,omitempty"`
}

// Confinement grants rights that content does not have by default, to every AnsibleRun that refers to the
// configuration.
type Confinement struct {
	// ReadPaths are files and directories of the provider's machine that the content may read and execute, with everything
	// below them. They are absolute, and are neither in nor above the provider's state directory.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=1024
	// +kubebuilder:validation:items:Pattern=`^/`
	ReadPaths []string `json:"readPaths,omitempty"`

	// WritePaths are files and directories that the content may also change. A missing directory is created.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=1024
	// +kubebuilder:validation:items:Pattern=`^/`
	WritePaths []string `json:"writePaths,omitempty"`

	// ServiceAccount lets plays use the provider's ServiceAccount with all of its rights in the cluster: plays can read
	// its token, and find KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT in their environment.
	// +optional
	ServiceAccount bool `json:"serviceAccount,omitempty"`
}

// A Credential is a file for the working directory of a play.
// +kubebuilder:validation:XValidation:rule="self.source != 'Project'",message="only inventories may have source Project"
type Credential struct {
	// Filename in the working directory, without a path.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[^-/\\\p{C}][^/\\\p{C}]*$') && size(bytes(self)) <= 255`,message="filename must be the name of a file, with 255 bytes at most, without a path, control characters, and a dash at its start"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('.') || self in ['.aws', '.boto', '.docker', '.dockerconfigjson', '.git-credentials', '.gitconfig', '.htpasswd', '.kubeconfig', '.my.cnf', '.netrc', '.pgpass', '.vault', '.vault-pass', '.vault-pass.txt', '.vault-password', '.vault-password.txt', '.vault_pass', '.vault_pass.txt', '.vault_password', '.vault_password.txt', '.vault_password_file']",message="filename must not start with a dot, except for .aws, .boto, .docker, .dockerconfigjson, .git-credentials, .gitconfig, .htpasswd, .kubeconfig, .my.cnf, .netrc, .pgpass, .vault, .vault-pass, .vault-pass.txt, .vault-password, .vault-password.txt, .vault_pass, .vault_pass.txt, .vault_password, .vault_password.txt, .vault_password_file"
	// +kubebuilder:validation:XValidation:rule="!(self in ['playbook.yml', 'args', 'artifacts', 'cmdline', 'collections', 'daemon.log', 'env', 'envvars', 'extravars', 'fact_cache', 'group_vars', 'host_vars', 'inventory', 'library', 'module_utils', 'passwords', 'pid', 'profiling_data', 'project', 'roles', 'settings', 'ssh_key']) && !self.endsWith('_plugins')",message="filename has a meaning to Ansible or ansible-runner"
	Filename string `json:"filename"`

	// Rotates is true for a value that is replaced often, such as a token that is valid for an hour. A new value then
	// starts no run; the next run gets it. The source and the filename of the credential are still inputs.
	// +optional
	Rotates bool `json:"rotates,omitempty"`

	FileSelector `json:",inline"`
}

// TypePermitted says whether the provider has the rights that the runs of a configuration need. A configuration gets
// the condition once a right was missing.
const TypePermitted xpv2.ConditionType = "Permitted"

// ReasonGranted means that no right is missing any more. While a right is missing, the reason is ReasonForbidden.
const ReasonGranted xpv2.ConditionReason = "Granted"

// NotPermitted indicates which rights are missing, and how to grant them.
func NotPermitted(message string) xpv2.Condition {
	return condition(TypePermitted, corev1.ConditionFalse, ReasonForbidden, message)
}

// Permitted indicates that no right is missing any more.
func Permitted() xpv2.Condition {
	return condition(TypePermitted, corev1.ConditionTrue, ReasonGranted, "")
}
