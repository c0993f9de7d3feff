package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:categories=crossplane

// AnsibleRuns is the input of function-ansible in a step of a Composition. It says which AnsibleRuns are composed for
// an XR, and which of their results the XR shows.
//
// Strings in when, readyWhen, forEach, forEachKey, previousNames, vars, varsFrom, the yaml of inventories, labels,
// annotations, requiredResources, connectionDetails, conditions, locals and status may hold CEL expressions, written
// ${…}. A string that is one expression and nothing else has the type of the expression's value; elsewhere the value is
// inserted into the string. $${ is a literal ${. The names of Secrets, ConfigMaps and ProviderConfigs may also hold
// expressions: a namespaced XR may compute any name in its own namespace, and a cluster-scoped XR names that contain
// ${xr.metadata.uid}. Values of env, and content that allowed lists, may hold expressions, too. Each run may also
// compute its runPolicy, pollInterval, keepOutput, managementPolicies, tags, skipTags, limit, timeout, retryLimit,
// verbosity and approval. A computed value must be a valid value of the field. All other fields are literal.
//
// Expressions see:
//
//   - xr: the XR as observed, with apiVersion, kind, metadata, spec and status.
//   - runs: the observed runs, by their names: runs.database has outputs, lastRun, lastApply,
//     drift and content as in the AnsibleRun's status.atProvider; reported, with the outputs
//     and the conditions that the content has reported for the status of the XR; ready, which
//     is true when the run is Ready and Synced in its current generation; and the AnsibleRun's
//     own metadata, spec and status. A run with forEach is a map of these by key.
//   - resources: the observed composed resources of other steps, by composition resource
//     name. A run that refers to a resource depends on it as on another run.
//   - required: the requiredResources that exist, by their names in this input.
//   - environment: the data of the EnvironmentConfigs that an earlier step of the
//     pipeline has selected and merged.
//   - context: the context of the pipeline, with the values of earlier steps.
//   - locals: the values in locals, by name.
//   - each: in a run with forEach, its item, with key and value.
//
// A run with expressions that refer to another run depends on it: the run is created after
// the other run is ready, and changed only while the other run is ready. An expression
// can refer to a run that may not be wanted with .?, as in runs.?database.
type AnsibleRuns struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Defaults are fields that all runs share: any field of a run but name, previousNames, forEach, forEachKey, readyWhen
	// and dependsOn. The function checks them like those of a run. Fields of a run win. Maps are merged deeply, except
	// project and onDelete; these, lists, and the content of a run replace those of the defaults as a whole.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Defaults *RunTemplate `json:"defaults,omitempty"`

	// Locals are values by name: any YAML, which may hold expressions that refer to other locals. Expressions see a local
	// as locals.<name>. A local is computed once for an XR, or never if no expression refers to it.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Locals *runtime.RawExtension `json:"locals,omitempty"`

	// RequiredResources are objects that expressions see as required.<name>: one object with matchName, and a list of
	// objects with matchLabels.
	// +optional
	RequiredResources map[string]RequiredResource `json:"requiredResources,omitempty"`

	// Runs that are composed for the XR.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	Runs []Run `json:"runs"`

	// Status fields of the XR: literals and expressions. A field keeps its value while the new value is missing, or does
	// not fit the XRD. A field with the value optional.none() is left out. The status may also be one expression with an
	// object of all fields as its value. In it, conditions is a list of conditions for the XR and its claim, each with a
	// type, a status and, if need be, a reason and a message.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Status *apiextensionsv1.JSON `json:"status,omitempty"`

	// Conditions of the XR and its claim, beside those of Crossplane. A condition is Unknown while its value is missing,
	// and its message says why.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Conditions []Condition `json:"conditions,omitempty"`

	// OperatorConditions adds the conditions Running, Successful and Failure of Ansible operators to the XR and its claim,
	// for clients that wait for them.
	// +optional
	OperatorConditions bool `json:"operatorConditions,omitempty"`

	// ConnectionDetails of the XR. Their expressions see the connection details of runs, as in
	// ${runs.database.connectionDetails.password}. Each run in such an expression has a Secret of its own. A value that is
	// not UTF-8 text is an error. A legacy XR publishes the details itself. For any other XR they are in a Secret that is
	// composed beside its runs: the connectionSecret.
	// +optional
	ConnectionDetails []ConnectionDetail `json:"connectionDetails,omitempty"`

	// ConnectionSecret has the namespace and the name of the Secret with the
	// connectionDetails. Secrets of cluster-scoped runs are in that namespace, too.
	// +optional
	ConnectionSecret *ConnectionSecret `json:"connectionSecret,omitempty"`
}

// A Condition of an XR.
type Condition struct {
	// Type of the condition, as in DatabaseReady.
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	Type string `json:"type"`

	// Status is true, false, or an expression.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Status *apiextensionsv1.JSON `json:"status"`

	// Reason is a word for programs, as in ReplicaLost. It may hold an expression.
	// The default is Computed.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message is for people. It may hold expressions.
	// +optional
	Message string `json:"message,omitempty"`
}

// A ConnectionSecret names the Secret with the connection details of an XR.
type ConnectionSecret struct {
	// Namespace of the Secret. It is required for a cluster-scoped XR, unless that is a legacy XR. A namespaced XR has the
	// Secret in its own namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// Name of the Secret. It contains ${xr.metadata.name} or ${xr.metadata.uid}. The
	// default is the name of the XR, followed by -connection.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name,omitempty"`
}

// A Run is the template of an AnsibleRun, or of a set of AnsibleRuns.
type Run struct {
	RunTemplate `json:",inline"`

	// Name of the run in expressions, and of the composed resource in the pipeline. The names of the composed resources of
	// a run with forEach have the key in brackets, as in database[eu].
	// +kubebuilder:validation:Pattern=`^[a-z][a-zA-Z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// PreviousNames are names of the composed resource in XRs that were made with an earlier Composition, such as database
	// or database[eu]. The run takes over the resource with such a name. The names may hold expressions. Without
	// previousNames a run is not created while a run with the same content, hosts and variables would be removed; an empty
	// list means that the run is a new one.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	PreviousNames []string `json:"previousNames,omitempty"`

	// ReadyWhen is a further condition for the run to be ready, as in
	// ${runs.database.outputs.leader != ""}. Until it is true the XR is not ready, and
	// dependent runs wait. A missing value counts as not yet true. In a run with
	// forEach the expression sees the run of its own key.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	ReadyWhen *apiextensionsv1.JSON `json:"readyWhen,omitempty"`

	// ForEach makes a run for every item: a map, a list of unique strings, or a list of any items together with
	// forEachKey; 1000 items at most. Expressions of the run see its item as each.key and each.value. When an item is gone
	// its run is removed.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	ForEach *apiextensionsv1.JSON `json:"forEach,omitempty"`

	// ForEachKey is an expression for the key of an item of forEach, as in
	// ${each.value.name}.
	// +optional
	ForEachKey string `json:"forEachKey,omitempty"`

	// DependsOn names runs that have to be ready first, beside runs in expressions. A run does not wait for a run that is
	// not wanted.
	// +optional
	DependsOn []string `json:"dependsOn,omitempty"`
}

// A Removal limits how many items one change may remove.
type Removal struct {
	// AtMost is the number of items that may go at once, or their share of all items,
	// such as 10%. A change that removes more is held until the XR has the annotation
	// ansible.fn.crossplane.io/allow-removal with the name of the run and the number of
	// items, as in user=12.
	// +kubebuilder:validation:XIntOrString
	AtMost intstr.IntOrString `json:"atMost"`
}

// A RunTemplate has the fields that runs and their defaults share.
type RunTemplate struct {
	// Namespace of the AnsibleRun, for a namespaced run of a cluster-scoped XR or of an Operation. Without it the run has
	// the scope, and the namespace, of the XR.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// Labels of the AnsibleRun. Their values may hold expressions.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations of the AnsibleRun, for example crossplane.io/external-name.
	// Their values may hold expressions.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// When says whether the run is wanted: true, false, or an expression. A run
	// that is not wanted is removed. The default is true.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	When *apiextensionsv1.JSON `json:"when,omitempty"`

	// Removal limits how many items of forEach may go at once.
	// +optional
	Removal *Removal `json:"removal,omitempty"`

	// AtATime is how many items of forEach are changed or created at a time: a number, or a share of all items, such as
	// 25%. They follow the order of forEach. The next items begin when the earlier ones are ready with their new values;
	// an item that fails stops the rest. By default all items begin at once.
	// +optional
	// +kubebuilder:validation:XIntOrString
	AtATime *intstr.IntOrString `json:"atATime,omitempty"`

	// Prune says whether the run is removed when it is not wanted any more, or was removed from the Composition. With
	// false the run stays, with everything that it has made, and is removed only with the XR. The default is true.
	// +optional
	Prune *bool `json:"prune,omitempty"`

	// Usages protect the runs and resources that this run depends on from being deleted before this run is gone, with
	// Crossplane's own Usage or ClusterUsage. The default is true. A cluster-scoped run that depends on a namespaced run
	// cannot have Usages. An XR has at most 2000 Usages. Two sets of runs that depend on each other need one for each pair
	// of members, unless each member depends only on the member with its own key.
	// +optional
	Usages *bool `json:"usages,omitempty"`

	// RunPolicy says when the content runs while the XR exists. The default is ObserveAndDelete.
	// +optional
	RunPolicy common.RunPolicy `json:"runPolicy,omitempty"`

	// PollInterval is the time between the end of a run and the next periodic one, for
	// example 30m. The default is that of the provider.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="must be a duration of more than 0, such as 30m"
	PollInterval *metav1.Duration `json:"pollInterval,omitempty"`

	// KeepOutput keeps the end of the last run's output in a ConfigMap: without a limit when it is "true", or for a time
	// after the run, for example 24h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == 'true' || duration(self) > duration('0s')",message="must be \"true\", or a duration of more than 0, such as 24h"
	KeepOutput string `json:"keepOutput,omitempty"`

	// ProviderConfigRef selects the configuration to run with.
	// +optional
	ProviderConfigRef *ProviderConfigReference `json:"providerConfigRef,omitempty"`

	// ManagementPolicies of the AnsibleRun: its allowed actions. Without Delete, everything that the run has made stays
	// when the AnsibleRun is deleted.
	// +optional
	// +kubebuilder:validation:items:Enum=Observe;Create;Update;Delete;LateInitialize;*
	ManagementPolicies []string `json:"managementPolicies,omitempty"`

	// Allowed says which values an XR may choose for content, by the fields of the run: project.version, playbook,
	// playbooks, roles.version and inventories.path. A field with a list may hold an expression. Its value must match one
	// of the patterns in the list. In a pattern, * is any text without a slash, and ? is any character but a slash. A
	// commit must be listed in full.
	// +optional
	// +kubebuilder:validation:MaxProperties=5
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['project.version', 'playbook', 'playbooks', 'roles.version', 'inventories.path'])",message="only project.version, playbook, playbooks, roles.version and inventories.path can be allowed: no XR chooses a source"
	Allowed map[string][]string `json:"allowed,omitempty"`

	// Project is a directory of a git repository or of an archive, in which the content runs as with ansible-playbook. The
	// project of a run replaces that of the defaults.
	// +optional
	Project *common.Project `json:"project,omitempty"`

	// Role is one role to run: namespace.collection.role, or namespace.role for
	// a role that is not part of a collection.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Role string `json:"role,omitempty"`

	// Roles to run, one after another. An item is a string as in role, or an
	// object {name, src, version} that is also a requirement.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Roles *apiextensionsv1.JSON `json:"roles,omitempty"`

	// Playbook is one playbook of a collection, namespace.collection.playbook, or of
	// the project: its path, such as site.yml.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Playbook string `json:"playbook,omitempty"`

	// Playbooks of collections or of the project to run, one after another.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Playbooks []string `json:"playbooks,omitempty"`

	// PlaybookInline is the text of a playbook.
	// +optional
	// +kubebuilder:validation:MinLength=1
	PlaybookInline string `json:"playbookInline,omitempty"`

	// Hosts is the host pattern of the plays that are generated for roles. It defaults to all when there is an inventory,
	// and to localhost otherwise.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Hosts string `json:"hosts,omitempty"`

	// Vars are extra variables: any YAML, which may hold expressions. Ansible templates a variable without an expression
	// as usual. It never templates a variable that holds an expression, since its value may come from people without
	// trust: the variable becomes one of the AnsibleRun's unsafeVars.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Vars *runtime.RawExtension `json:"vars,omitempty"`

	// VarsFrom are objects with fields that become variables. Later objects win over earlier ones, and vars win over all
	// of them. Ansible never templates them. Their names must be identifiers. They can neither start with ansible_ or
	// _ansible_ nor be one of Ansible's magic variables, or a function or a word of its templates.
	// +optional
	VarsFrom []VarsSource `json:"varsFrom,omitempty"`

	// Templated names variables of vars that Ansible templates although they hold expressions. A person that controls such
	// a value can run code in the provider.
	// +optional
	Templated []string `json:"templated,omitempty"`

	// VarFiles are extra variables in Secrets and ConfigMaps. Later ones win over earlier ones, and vars win over all of
	// them. The names of Secrets and ConfigMaps may hold expressions.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	VarFiles []common.VarFile `json:"varFiles,omitempty"`

	// Env are environment variables of the play. Their values may hold expressions,
	// unless the name begins with ANSIBLE_.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	Env []common.EnvVar `json:"env,omitempty"`

	// Inventories of the run. Ansible reads them in their order, and merges them. An inventory with yaml, inline or script
	// is the last item.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.filter(i, has(i.yaml) || has(i.inline) || has(i.script)).size() <= 1",message="only one item can have yaml, inline or script"
	// +kubebuilder:validation:XValidation:rule="!self.exists(i, has(i.yaml) || has(i.inline)) || has(self[self.size() - 1].yaml) || has(self[self.size() - 1].inline)",message="the item with yaml or inline must be the last one: Ansible reads it after the others"
	// +kubebuilder:validation:XValidation:rule="self.size() == 1 || !self.exists(i, has(i.script))",message="script must be the only item: beside it, Ansible would run the others as scripts, too"
	Inventories []Inventory `json:"inventories,omitempty"`

	// Limit is a pattern of hosts, as with --limit: the run leaves out all other hosts.
	// +optional
	Limit string `json:"limit,omitempty"`

	// Tags of the plays and tasks to run. When the object is deleted, the tags of onDelete replace them.
	// +optional
	Tags []string `json:"tags,omitempty"`

	// SkipTags are the tags of the plays and tasks not to run. When the object is deleted, those of onDelete replace them.
	// +optional
	SkipTags []string `json:"skipTags,omitempty"`

	// Forks is the number of hosts to work on at the same time.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	Forks *int32 `json:"forks,omitempty"`

	// Verbosity of the output, as the number of -v options.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=5
	Verbosity *int32 `json:"verbosity,omitempty"`

	// Timeout of one run, for example 20m.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="must be a duration that is not negative, such as 20m"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// FactCachingTimeout is how long facts of hosts are kept for later runs of the AnsibleRun, for example 24h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="must be a duration of a second or more, such as 24h"
	FactCachingTimeout *metav1.Duration `json:"factCachingTimeout,omitempty"`

	// RetryLimit is the number of attempts for the same inputs. When unset, a
	// failed run is retried for ever, with a capped exponential back-off.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	RetryLimit *int32 `json:"retryLimit,omitempty"`

	// Approval is Required if the changes of the run have to be predicted by a check and approved with an Approval before
	// they are applied. If the configuration requires approvals, they are required in any case.
	// +optional
	Approval common.ApprovalRequirement `json:"approval,omitempty"`

	// HistoryLimit is the number of runs in the AnsibleRun's status.atProvider.history: 5 by default, and none with 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=50
	HistoryLimit *int32 `json:"historyLimit,omitempty"`

	// Schedule says when periodic runs are due, in place of the poll interval. It applies under RunOnChange, too.
	// +optional
	Schedule *common.Times `json:"schedule,omitempty"`

	// Window is when runs may begin. A requested run does not wait for it, and a run that has begun goes on when the
	// window closes.
	// +optional
	Window *common.Window `json:"window,omitempty"`

	// StateVariable passes the desired state as a variable with a name and values that the content knows.
	// +optional
	StateVariable *common.StateVariable `json:"stateVariable,omitempty"`

	// OnDelete says what the deletion of the AnsibleRun does. Without it all of the content runs once more, with state
	// absent. Content that does not look at the state does not run, so that everything that it has made stays. The
	// onDelete of a run replaces that of the defaults.
	// +optional
	OnDelete *common.OnDelete `json:"onDelete,omitempty"`
}

// A ProviderConfigReference selects the configuration of a run.
type ProviderConfigReference struct {
	// Kind of the configuration. For namespaced runs it defaults to
	// ClusterProviderConfig; cluster-scoped runs only have ProviderConfig.
	// +optional
	// +kubebuilder:validation:Enum=ProviderConfig;ClusterProviderConfig
	Kind string `json:"kind,omitempty"`

	// Name of the configuration.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// An Inventory of a run.
// +kubebuilder:validation:XValidation:rule="(has(self.yaml) ? 1 : 0) + (has(self.inline) ? 1 : 0) + (has(self.script) ? 1 : 0) + (has(self.path) ? 1 : 0) + (has(self.secretKeyRef) ? 1 : 0) + (has(self.configMapKeyRef) ? 1 : 0) == 1",message="exactly one of yaml, inline, script, path, secretKeyRef and configMapKeyRef must be set"
type Inventory struct {
	// YAML is an inventory in its YAML form, which may hold expressions: for values, for hosts, vars or children as a
	// whole, and for hosts also as a list of names. Ansible never templates computed values. Computed names must be names
	// of hosts, or identifiers; names of variables follow the rules of varsFrom.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	YAML *runtime.RawExtension `json:"yaml,omitempty"`

	// Inline is the text of an inventory.
	// +optional
	Inline string `json:"inline,omitempty"`

	// Script is the text of a program that prints the inventory as JSON.
	// +optional
	Script string `json:"script,omitempty"`

	// Path of a file or a directory in the project, such as inventories/production. It may hold expressions, each for a
	// name or a part of a name. Ansible runs an executable file.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`

	// SecretKeyRef selects a key of a Secret with the text of an inventory.
	// +optional
	SecretKeyRef *common.KeySelector `json:"secretKeyRef,omitempty"`

	// ConfigMapKeyRef selects a key of a ConfigMap with the text of an inventory.
	// +optional
	ConfigMapKeyRef *common.KeySelector `json:"configMapKeyRef,omitempty"`
}

// Keys says how the names of fields are converted to names of variables.
// +kubebuilder:validation:Enum=AsIs;SnakeCase
type Keys string

// Conversions of the names of fields to names of variables.
const (
	// KeysAsIs keeps names.
	KeysAsIs Keys = "AsIs"
	// KeysSnakeCase converts names as Ansible operators do: maxSize becomes
	// max_size.
	KeysSnakeCase Keys = "SnakeCase"
)

// A VarsSource is an object with fields that become variables.
type VarsSource struct {
	// Value is an expression for the object, as in ${xr.spec.parameters}. Crossplane's own fields of the XR's spec are
	// left out.
	Value string `json:"value"`

	// Keys says how the names of fields are converted to names of variables. The default is AsIs.
	// +optional
	Keys Keys `json:"keys,omitempty"`

	// Include only these fields.
	// +optional
	Include []string `json:"include,omitempty"`

	// Exclude these fields.
	// +optional
	Exclude []string `json:"exclude,omitempty"`
}

// A RequiredResource selects objects for Crossplane to fetch.
type RequiredResource struct {
	// APIVersion of the objects.
	APIVersion string `json:"apiVersion"`

	// Kind of the objects.
	Kind string `json:"kind"`

	// Namespace of the objects. Without it they are cluster scoped or, with matchLabels, in any namespace.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// MatchName selects one object by its name. It may hold an expression; then the object is in the XR's own namespace,
	// or cluster scoped.
	// +optional
	MatchName string `json:"matchName,omitempty"`

	// MatchLabels selects objects by their labels. Their values may hold expressions if the XR is namespaced; then the
	// objects are in its own namespace.
	// +optional
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
}

// A ConnectionDetail is a key of the XR's connection Secret.
type ConnectionDetail struct {
	// Name of the key.
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Value of the key: text that may hold expressions.
	Value string `json:"value"`
}
