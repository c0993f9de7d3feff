package common

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// AnsibleRunParameters say what to run, with which variables, and on which hosts.
//
// Role, roles, playbook, playbooks and playbookInline are alternatives. Roles has no type in the schema: CEL rules
// reach it only through dyn().
//
// +kubebuilder:validation:XValidation:rule="[has(self.role), has(dyn(self).roles), has(self.playbook), has(self.playbooks), has(self.playbookInline)].filter(set, set).size() == 1",message="exactly one of role, roles, playbook, playbooks and playbookInline must be set"
// +kubebuilder:validation:XValidation:rule="has(self.project) || !(has(self.playbook) && self.playbook.matches('[.]ya?ml$') || has(self.playbooks) && self.playbooks.exists(p, p.matches('[.]ya?ml$')))",message="a playbook that is a path needs project, the repository that has it"
// +kubebuilder:validation:XValidation:rule="has(self.project) || !has(self.onDelete) || !(has(self.onDelete.playbook) && self.onDelete.playbook.matches('[.]ya?ml$') || has(self.onDelete.playbooks) && self.onDelete.playbooks.exists(p, p.matches('[.]ya?ml$')))",message="a playbook that is a path needs project, the repository that has it",fieldPath=".onDelete"
// +kubebuilder:validation:XValidation:rule=`!has(self.onDelete) || ((has(self.onDelete.playbook) ? [self.onDelete.playbook] : []) + (has(self.onDelete.playbooks) ? self.onDelete.playbooks : [])).all(p, p.matches('^[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*){2,}$') || p.matches(r'^[^\x22\x27{}\\=#\p{C}\p{Z}-][^\x22\x27{}\\=#\p{C}\p{Z}]*[.]ya?ml$') && !p.matches('(^|/)([.]{0,2}|[.](?i:git))(/|$)'))`,message="a playbook must be namespace.collection.playbook, or the path of one in the project, such as site.yml, without . and .., quotes, spaces and =",fieldPath=".onDelete"
// +kubebuilder:validation:XValidation:rule="has(self.project) || !has(self.inventories) || self.inventories.all(i, i.source != 'Project')",message="an inventory that is a path needs project, the repository that has it",fieldPath=".inventories"
// +kubebuilder:validation:XValidation:rule="!has(self.executableInventory) || !self.executableInventory || has(self.inventoryInline) || has(self.inventories)",message="executableInventory needs inventoryInline or inventories",fieldPath=".executableInventory"
type AnsibleRunParameters struct {
	// Project is a directory of a git repository or of an archive, in which the content runs as with ansible-playbook:
	// with its roles, group_vars, host_vars, plugins, inventories and ansible.cfg, and with the requirements in its
	// requirements.yml, collections/requirements.yml and roles/requirements.yml.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.path) || self.path.matches('^[^/-]') && !self.path.endsWith('/') && !self.path.matches('(^|/)([.]{0,2}|[.]git)(/|$)')",message="path must be that of a directory in the repository, such as ansible/web, without . and ..",fieldPath=".path"
	// +kubebuilder:validation:XValidation:rule="!self.src.matches('^(https?|file)://[^?#]*[.](tar([.][a-z0-9]+)?|tgz|tbz2?|txz|zip)([?#].*)?$') || !has(self.version) && !has(self.submodules)",message="an archive has neither version nor submodules: its URL says which one is meant"
	Project *Project `json:"project,omitempty"`

	// Role is one role to run: namespace.collection.role, or namespace.role for a role that is not part of a collection. A
	// two-part role that is not in the requirements is itself a requirement, from Galaxy.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Role string `json:"role,omitempty"`

	// Roles to run, one after another: at most 100. An item is a string as in role, or an object {name, src, version} that
	// is also a requirement: src is the source from which ansible-galaxy installs the role, and version is the version,
	// tag, branch or commit to install.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Roles *apiextensionsv1.JSON `json:"roles,omitempty"`

	// Playbook is one playbook of a collection, namespace.collection.playbook, or of
	// the project: its path, such as site.yml.
	// +optional
	Playbook Playbook `json:"playbook,omitempty"`

	// Playbooks of collections or of the project to run, one after another.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Playbooks []Playbook `json:"playbooks,omitempty"`

	// PlaybookInline is the text of a playbook.
	// +optional
	// +kubebuilder:validation:MinLength=1
	PlaybookInline string `json:"playbookInline,omitempty"`

	// Hosts is the host pattern of the plays that are generated for roles. It defaults to all when there is an inventory,
	// and to localhost otherwise.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^\P{Cc}*$`
	Hosts string `json:"hosts,omitempty"`

	// Vars are extra variables: any YAML. Ansible templates their strings as usual.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Vars *runtime.RawExtension `json:"vars,omitempty"`

	// UnsafeVars are extra variables with strings that Ansible never templates. They are meant for values from people
	// without trust, and win over vars.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	UnsafeVars *runtime.RawExtension `json:"unsafeVars,omitempty"`

	// VarFiles are extra variables in Secrets and ConfigMaps. Later ones win over earlier ones, and all of them win over
	// those of the configuration. vars and unsafeVars win over all of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	VarFiles []VarFile `json:"varFiles,omitempty"`

	// Env are environment variables of the play. They win over the configuration's env and vars.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(e, !e.name.matches('^(PATH|HOME|TMPDIR|ENV|IFS|PS4|SHELLOPTS|BASH_ENV|BASH_FUNC_.*|LD_.*|PYTHON.*|PERL5.*|OPENSSL_.*|AWX_.*|RUNNER_.*|GIT_SSH.*|GIT_CONFIG.*|KUBERNETES_SERVICE_.*)$'))",message="a variable is set by the provider, or would take over programs that it starts"
	// +kubebuilder:validation:XValidation:rule="self.all(e, !e.name.matches('^ANSIBLE_(CONFIG|HOME|LOCAL_TEMP|LIBRARY|MODULE_UTILS|STDOUT_CALLBACK|GALAXY_.*|.*_PATHS?|.*_PLUGINS?|.*_PATH_DIR)$'))",message="a variable says where Ansible finds content or plugins: set it in spec.vars of the configuration, if it may be set at all"
	Env []EnvVar `json:"env,omitempty"`

	// InventoryInline is the text of an inventory, or of an inventory script
	// when executableInventory is set.
	// +optional
	InventoryInline string `json:"inventoryInline,omitempty"`

	// Inventories are texts of inventories in Secrets and ConfigMaps, and files and directories of the project. Ansible
	// reads them in their order, then inventoryInline, and merges them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Inventories []Inventory `json:"inventories,omitempty"`

	// ExecutableInventory runs the inventories as scripts instead of reading them. Ansible runs inventories of the project
	// if they are executable files.
	// +optional
	ExecutableInventory bool `json:"executableInventory,omitempty"`

	// Limit is a pattern of hosts, as with --limit: the run leaves out all other hosts.
	// +optional
	// +kubebuilder:validation:Pattern=`^\P{Cc}*$`
	// +kubebuilder:validation:XValidation:rule=`!self.matches(r'(^|[],;:[\p{Z}])@')`,message="must not name a file of hosts, as @file does"
	Limit string `json:"limit,omitempty"`

	// Tags of the plays and tasks to run. When the object is deleted, the tags of onDelete replace them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:items:Pattern=`^\P{Cc}*$`
	Tags []string `json:"tags,omitempty"`

	// SkipTags are the tags of the plays and tasks not to run. When the object is deleted, those of onDelete replace them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:items:Pattern=`^\P{Cc}*$`
	SkipTags []string `json:"skipTags,omitempty"`

	// Forks is the number of hosts to work on at the same time. Ansible's
	// default is 5.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	Forks *int32 `json:"forks,omitempty"`

	// Verbosity of the output, as the number of -v options.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=5
	Verbosity *int32 `json:"verbosity,omitempty"`

	// Timeout of one run, and of the installation of its content, for example 20m. It defaults to 20m. The upper limit is
	// the provider's --max-timeout, 1h by default: a longer timeout is cut to it, and 0 means the limit itself. With
	// --max-timeout=0 there is no limit.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="must be a duration that is not negative, such as 20m"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// FactCachingTimeout is how long facts of hosts are kept, for example 24h. A later run of this object, also a check,
	// does not gather facts that are younger. By default each run gathers all facts.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="must be a duration of a second or more, such as 24h"
	FactCachingTimeout *metav1.Duration `json:"factCachingTimeout,omitempty"`

	// RetryLimit is the number of attempts for the same inputs. When unset, a
	// failed run is retried for ever, with an exponential back-off of at most 10
	// minutes.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	RetryLimit *int32 `json:"retryLimit,omitempty"`

	// Approval is Required if the changes of the run have to be predicted by a check and approved with an Approval before
	// they are applied. If the configuration requires approvals, they are required in any case. It is no input.
	// +optional
	Approval ApprovalRequirement `json:"approval,omitempty"`

	// HistoryLimit is the number of runs in status.atProvider.history: 5 by default, and none with 0. It is no input.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=50
	HistoryLimit *int32 `json:"historyLimit,omitempty"`

	// Schedule says when periodic runs are due, in place of the poll interval. It applies under RunOnChange, too. It is no
	// input.
	// +optional
	Schedule *Times `json:"schedule,omitempty"`

	// Window is when runs may begin. A requested run does not wait for it, and a run that has begun goes on when the
	// window closes. It is no input.
	// +optional
	Window *Window `json:"window,omitempty"`

	// StateVariable passes the desired state as a variable with a name and values that the content knows, so that content
	// can be used that was not written for this provider.
	// +optional
	StateVariable *StateVariable `json:"stateVariable,omitempty"`

	// OnDelete says what the deletion of the object does. Without it all of the content runs once more, with state absent.
	// Content that does not look at the state does not run, so that everything that it has made stays. It is no input: a
	// change of it starts no run, unless its roles change.
	// +optional
	OnDelete *OnDelete `json:"onDelete,omitempty"`
}

// A Playbook of a collection or of the project. The definition of the function's input has onDelete, too, and such a
// rule of each item there takes more than the API server allows.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule=`self.matches('^[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*){2,}$') || self.matches(r'^[^\x22\x27{}\\=#\p{C}\p{Z}-][^\x22\x27{}\\=#\p{C}\p{Z}]*[.]ya?ml$') && !self.matches('(^|/)([.]{0,2}|[.](?i:git))(/|$)')`,message="must be namespace.collection.playbook, or the path of one in the project, such as site.yml, without . and .., quotes, spaces and ="
type Playbook = string

// OnDelete says what the deletion of an object does. Role, roles, playbook, playbooks and
// playbookInline are alternatives, as in the object itself.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="[has(self.role), has(dyn(self).roles), has(self.playbook), has(self.playbooks), has(self.playbookInline)].filter(set, set).size() <= 1",message="at most one of role, roles, playbook, playbooks and playbookInline may be set"
type OnDelete struct {
	// Policy is Run, the default, to run content with state absent before the object goes, or Keep to run nothing. With
	// Keep everything that the object has made stays, and the other fields have no effect.
	// +optional
	Policy DeletePolicy `json:"policy,omitempty"`

	// Role is one role to run in place of the content, as in the object itself. It is installed with the content while the
	// object exists.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Role string `json:"role,omitempty"`

	// Roles to run in place of the content, as in the object itself. They are installed with the content while the object
	// exists.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Roles *apiextensionsv1.JSON `json:"roles,omitempty"`

	// Playbook is one playbook of a collection or of the project to run in place of the
	// content.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Playbook string `json:"playbook,omitempty"`

	// Playbooks of collections or of the project to run in place of the content, one after
	// another.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Playbooks []string `json:"playbooks,omitempty"`

	// PlaybookInline is the text of a playbook to run in place of the content.
	// +optional
	// +kubebuilder:validation:MinLength=1
	PlaybookInline string `json:"playbookInline,omitempty"`

	// Tags of the plays and tasks to run, of the content or of its replacement.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:items:Pattern=`^\P{Cc}*$`
	Tags []string `json:"tags,omitempty"`

	// SkipTags are the tags of the plays and tasks not to run.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:items:Pattern=`^\P{Cc}*$`
	SkipTags []string `json:"skipTags,omitempty"`
}

// A DeletePolicy says whether deletion runs anything.
// +kubebuilder:validation:Enum=Run;Keep
type DeletePolicy string

// Policies of deletion.
const (
	DeleteRun  DeletePolicy = "Run"
	DeleteKeep DeletePolicy = "Keep"
)

// A Project is a directory of a git repository, or of an archive.
type Project struct {
	// Src is the URL of the repository: https://, ssh:// or user@host:path. A https:// URL that ends in .tar.gz, .tgz,
	// .zip or another suffix of an archive is the URL of an archive, unless it begins with git+.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('https?://[^/@]{16,}@|://[^/]*(:|%3[aA])[^/]*@|[?&][^=]*(?i:token|password|secret|api_?key)=')",message="must not have a password or a token: write it into a credential of the configuration, .git-credentials for a repository or .netrc for an archive"
	// +kubebuilder:validation:Pattern=`^((git\+)?(https?|ssh|file)://[^\s-]|[A-Za-z0-9_][A-Za-z0-9_.-]*@[A-Za-z0-9_.-]+:[^\s:-])\S*$`
	Src string `json:"src"`

	// Version is the tag, branch or commit to run. It defaults to the branch that is the HEAD of the repository. An
	// archive has no versions.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([^\s:~^?*\[\\+@-][^\s:~^?*\[\\]*)?$`
	Version string `json:"version,omitempty"`

	// Path of the directory in the repository or the archive, such as ansible/web. It defaults to the top directory. Files
	// outside the directory are missing when it runs.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`

	// Submodules is true to fetch submodules, too, and their submodules.
	// +optional
	Submodules bool `json:"submodules,omitempty"`
}

// A StateVariable tells the content, with values that the content knows, whether the object exists or is being deleted.
type StateVariable struct {
	// Name of the variable.
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	// +kubebuilder:validation:XValidation:rule="self != 'ansible_provider_meta'",message="ansible_provider_meta is the provider's own variable"
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Present is the variable's value while the object exists.
	// +kubebuilder:default=present
	// +optional
	Present string `json:"present,omitempty"`

	// Absent is the variable's value when the object is deleted.
	// +kubebuilder:default=absent
	// +optional
	Absent string `json:"absent,omitempty"`
}

// A VarFileSource is the kind of the object with variables, or of the object and one key.
// +kubebuilder:validation:Enum=ConfigMap;ConfigMapKey;Secret;SecretKey
type VarFileSource string

// Sources of variables.
const (
	VarFileSourceConfigMap    VarFileSource = "ConfigMap"
	VarFileSourceConfigMapKey VarFileSource = "ConfigMapKey"
	VarFileSourceSecret       VarFileSource = "Secret"
	VarFileSourceSecretKey    VarFileSource = "SecretKey"
)

// A VarFile refers to extra variables: to a file of YAML or JSON, to the text of one variable, or to an object with a
// variable for each key.
// +kubebuilder:validation:XValidation:rule="has(self.configMapKeyRef) == (self.source == 'ConfigMapKey') && has(self.configMapRef) == (self.source == 'ConfigMap')",message="source ConfigMap takes configMapRef; for one key write source: ConfigMapKey with configMapKeyRef; other sources take neither"
// +kubebuilder:validation:XValidation:rule="has(self.secretKeyRef) == (self.source == 'SecretKey') && has(self.secretRef) == (self.source == 'Secret')",message="source Secret takes secretRef; for one key write source: SecretKey with secretKeyRef; other sources take neither"
// +kubebuilder:validation:XValidation:rule="!has(self.variable) || self.source in ['SecretKey', 'ConfigMapKey']",message="variable must be set with source SecretKey or ConfigMapKey only: of a whole Secret or ConfigMap each key is a variable"
type VarFile struct {
	// Source says where the variables are. SecretKey and ConfigMapKey are one key: a file of YAML or JSON, or the text of
	// the variable. Secret and ConfigMap are whole objects: each key is a variable, with the text of the key. Characters
	// of a key that the name of a variable cannot have become _, so that tls.crt becomes tls_crt.
	Source VarFileSource `json:"source"`

	// ConfigMapKeyRef selects a key of a ConfigMap.
	// +optional
	ConfigMapKeyRef *KeySelector `json:"configMapKeyRef,omitempty"`

	// SecretKeyRef selects a key of a Secret. Reports mask its values in text, and withhold outputs that contain them.
	// +optional
	SecretKeyRef *KeySelector `json:"secretKeyRef,omitempty"`

	// ConfigMapRef selects a ConfigMap.
	// +optional
	ConfigMapRef *ObjectSelector `json:"configMapRef,omitempty"`

	// SecretRef selects a Secret. Reports mask its values in text, and withhold outputs that contain them.
	// +optional
	SecretRef *ObjectSelector `json:"secretRef,omitempty"`

	// Variable is the name of a variable with the text of the key as its value, which Ansible never templates. Without it
	// the key is a file of YAML or JSON.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	// +kubebuilder:validation:XValidation:rule="self != 'ansible_provider_meta'",message="ansible_provider_meta is the provider's own variable"
	Variable string `json:"variable,omitempty"`

	// Optional is true if the object or the key may be missing.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// An ObjectSelector selects a Secret or a ConfigMap.
type ObjectSelector struct {
	// Namespace of the object. It is required in references from cluster scoped objects. Objects in a namespace refer to
	// objects of the same namespace, and have no such field.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// A KeySelector selects a key of a Secret or a ConfigMap.
type KeySelector struct {
	// Namespace of the object. It is required in references from cluster scoped objects. Objects in a namespace refer to
	// objects of the same namespace, and have no such field.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Key within the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// A FileSource says where a credential or an inventory comes from.
// +kubebuilder:validation:Enum=None;Secret;ConfigMapKey;InjectedIdentity;Environment;Filesystem;Project
type FileSource string

// Sources of credentials and inventories. None and InjectedIdentity bring no file. Environment and Filesystem read an
// environment variable or a file of the provider, and are refused unless a flag of the provider allows them. Project is
// for inventories only.
const (
	FileSourceNone             FileSource = "None"
	FileSourceSecret           FileSource = "Secret"
	FileSourceConfigMapKey     FileSource = "ConfigMapKey"
	FileSourceInjectedIdentity FileSource = "InjectedIdentity"
	FileSourceEnvironment      FileSource = "Environment"
	FileSourceFilesystem       FileSource = "Filesystem"
	FileSourceProject          FileSource = "Project"
)

// A FileSelector selects the content of a file.
// +kubebuilder:validation:XValidation:rule="self.source != 'Secret' || has(self.secretRef)",message="secretRef must be set with source Secret"
// +kubebuilder:validation:XValidation:rule="self.source != 'ConfigMapKey' || has(self.configMapKeyRef)",message="configMapKeyRef must be set with source ConfigMapKey"
// +kubebuilder:validation:XValidation:rule="self.source != 'Environment' || has(self.env)",message="env must be set with source Environment"
// +kubebuilder:validation:XValidation:rule="self.source != 'Filesystem' || has(self.fs)",message="fs must be set with source Filesystem"
type FileSelector struct {
	// Source says where the text of the file is. None and InjectedIdentity, which exist for compatibility with other
	// providers, bring no file.
	Source FileSource `json:"source"`

	// SecretRef selects a key of a Secret.
	// +optional
	SecretRef *KeySelector `json:"secretRef,omitempty"`

	// ConfigMapKeyRef selects a key of a ConfigMap.
	// +optional
	ConfigMapKeyRef *KeySelector `json:"configMapKeyRef,omitempty"`

	// Env selects an environment variable of the provider.
	// +optional
	Env *EnvSelector `json:"env,omitempty"`

	// Fs selects a file that the provider can read.
	// +optional
	Fs *FsSelector `json:"fs,omitempty"`
}

// An EnvSelector selects an environment variable of the provider.
type EnvSelector struct {
	// Name of the environment variable.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// A FsSelector selects a file that the provider can read.
type FsSelector struct {
	// Path of the file.
	// +kubebuilder:validation:MinLength=1
	Path string `json:"path"`
}

// An Inventory refers to an inventory.
// +kubebuilder:validation:XValidation:rule="has(self.path) == (self.source == 'Project')",message="path must be set with source Project, and only then"
type Inventory struct {
	FileSelector `json:",inline"`

	// Path of a file or a directory in the project, such as inventories/production.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^/-]') && !self.endsWith('/') && !self.matches('(^|/)[.]{0,2}(/|$)')",message="must be that of a file or a directory in the project, without . and .."
	Path string `json:"path,omitempty"`
}
