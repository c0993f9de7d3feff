package common

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A RunMode says whether a run may change anything.
// +kubebuilder:validation:Enum=Apply;Check
type RunMode string

// Modes of a run.
const (
	// ModeApply runs may change the target.
	ModeApply RunMode = "Apply"
	// ModeCheck runs only predict what they would change.
	ModeCheck RunMode = "Check"
)

// A RunState is the state of the target that a run is to establish.
// +kubebuilder:validation:Enum=present;absent
type RunState string

// States that a run establishes.
const (
	StatePresent RunState = "present"
	StateAbsent  RunState = "absent"
)

// A RunTrigger says why a run was started.
// +kubebuilder:validation:Enum=Created;Changed;Poll;Dependents;Retry;Requested;Deleted;Preview
type RunTrigger string

// Triggers of a run.
const (
	// TriggerCreated runs are the first of their object.
	TriggerCreated RunTrigger = "Created"
	// TriggerChanged runs follow a change of the inputs.
	TriggerChanged RunTrigger = "Changed"
	// TriggerPoll runs are due by the poll interval or the schedule. They detect drift, or correct it.
	TriggerPoll RunTrigger = "Poll"
	// TriggerDependents runs follow a change of an object that a former run has made in the cluster.
	TriggerDependents RunTrigger = "Dependents"
	// TriggerRetry runs follow a run that did not succeed.
	TriggerRetry RunTrigger = "Retry"
	// TriggerRequested runs answer crossplane.io/reconcile-requested-at.
	TriggerRequested RunTrigger = "Requested"
	// TriggerDeleted runs follow the deletion of the object.
	TriggerDeleted RunTrigger = "Deleted"
	// TriggerPreview runs are requested checks that have no consequence.
	TriggerPreview RunTrigger = "Preview"
)

// A RunPhase is how far a run has come.
// +kubebuilder:validation:Enum=Queued;Installing;Running;Succeeded;Failed;TimedOut;Canceled;Interrupted
type RunPhase string

// Phases of a run.
const (
	// PhaseQueued runs wait for a free worker, or for their Pod to start.
	PhaseQueued RunPhase = "Queued"
	// PhaseInstalling runs wait for their content to be installed, before they wait for
	// a worker.
	PhaseInstalling RunPhase = "Installing"
	// PhaseRunning runs execute their content.
	PhaseRunning RunPhase = "Running"
	// PhaseSucceeded runs completed without a failure.
	PhaseSucceeded RunPhase = "Succeeded"
	// PhaseFailed runs ended with a failure, see reason and failures.
	PhaseFailed RunPhase = "Failed"
	// PhaseTimedOut runs were ended because they took too long.
	PhaseTimedOut RunPhase = "TimedOut"
	// PhaseCanceled runs were ended because they were not wanted any more.
	PhaseCanceled RunPhase = "Canceled"
	// PhaseInterrupted runs ended because the provider ended.
	PhaseInterrupted RunPhase = "Interrupted"
)

// Finished is true for the final phases of a run.
func (p RunPhase) Finished() bool {
	switch p {
	case PhaseSucceeded, PhaseFailed, PhaseTimedOut, PhaseCanceled, PhaseInterrupted:
		return true
	case PhaseQueued, PhaseInstalling, PhaseRunning:
		return false
	}

	return false
}

// Verb describes the end of a run that did not succeed: "failed", "timed out", "was canceled" or "was interrupted".
func (p RunPhase) Verb() string {
	switch p {
	case PhaseTimedOut:
		return "timed out"
	case PhaseCanceled:
		return "was canceled"
	case PhaseInterrupted:
		return "was interrupted"
	case PhaseFailed, PhaseSucceeded, PhaseQueued, PhaseInstalling, PhaseRunning:
	}

	return "failed"
}

// AnsibleRunObservation is the observed state of the runs of an AnsibleRun.
type AnsibleRunObservation struct {
	// UID of the AnsibleRun that this observation is about. An observation with another UID, as a restore from a backup
	// may bring it along, is ignored.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// LastRun is the run in progress, or the last one.
	// +optional
	LastRun *Run `json:"lastRun,omitempty"`

	// LastApply is the last run that was not a check.
	// +optional
	LastApply *Apply `json:"lastApply,omitempty"`

	// Executed is true once content may have changed something for the object, so that deletion may have something to
	// remove.
	// +optional
	Executed bool `json:"executed,omitempty"`

	// Interruptions counts consecutive runs that were in progress when the provider was killed, that failed because of the
	// provider, its machine or their Pod, or that are checks which failed with inputs that are not applied, or for which
	// the content could not be installed. Each of them makes the next run wait longer. A run that ends in another way, and
	// a run with other inputs, set the count back to 0.
	// +optional
	Interruptions int64 `json:"interruptions,omitempty"`

	// AppliedDigest identifies the inputs of the last successful apply.
	// +optional
	AppliedDigest string `json:"appliedDigest,omitempty"`

	// HandledRequest is the last value of the annotation crossplane.io/reconcile-requested-at that was answered by a run.
	// It is the uid of the Operation if an Operation made the request.
	// +optional
	HandledRequest string `json:"handledRequest,omitempty"`

	// Content is the collections and roles that the last run used.
	// +optional
	Content *Content `json:"content,omitempty"`

	// Drift is the changes that the last check run predicted. An apply clears it.
	// +optional
	Drift *Drift `json:"drift,omitempty"`

	// Preview is the last check that was requested with a value of crossplane.io/reconcile-requested-at that starts with
	// check/. It has no consequence for other runs.
	// +optional
	Preview *Preview `json:"preview,omitempty"`

	// Approval of the last check that predicted changes, if the run or its configuration requires approvals.
	// +optional
	Approval *ApprovalObservation `json:"approval,omitempty"`

	// History has the last runs that ended, newest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	History []PastRun `json:"history,omitempty"`

	// Outputs are the values that the content published with ansible.builtin.set_stats in the last successful apply.
	// Values that it reported with crossplane.ansible.status, in that apply and in all applies since, the one in progress
	// included, win over them. 64 KiB at most.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Outputs *apiextensionsv1.JSON `json:"outputs,omitempty"`

	// WithheldOutputs has a message for each output that is missing from outputs because it contains a secret. The name is
	// empty if the name itself contains a secret, or if too many outputs are withheld. Then every output is unknown to a
	// Composition.
	// +optional
	WithheldOutputs Withheld `json:"withheldOutputs,omitempty"`

	// ConnectionDetails says where the connection details of the last successful apply are, if it published any.
	// +optional
	ConnectionDetails *PublishedDetails `json:"connectionDetails,omitempty"`

	// NextRunTime is when the next run is due: as the content requested it in the last successful apply with
	// operator_sdk.util.requeue_after, or when a failed check of inputs that are not applied is repeated.
	// +optional
	NextRunTime *metav1.Time `json:"nextRunTime,omitempty"`

	// Reported is the status of the XR, without conditions, that the content has set with operator_sdk.util.k8s_status. 64
	// KiB at most.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Reported *apiextensionsv1.JSON `json:"reported,omitempty"`

	// WithheldReported has a message for each field that is missing from reported because it contains a secret, as
	// withheldOutputs has for outputs.
	// +optional
	WithheldReported Withheld `json:"withheldReported,omitempty"`

	// Dependents are the kinds of objects that the content has created or changed, if the configuration has them watched:
	// the first 100.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Dependents []DependentKind `json:"dependents,omitempty"`

	// KeptOutput says where the end of the last run's output is kept, if the annotation ansible.crossplane.io/keepOutput
	// asks for it.
	// +optional
	KeptOutput *KeptOutput `json:"keptOutput,omitempty"`
}

// MaxWithheld is the number of withheld values that a status names at most.
const MaxWithheld = 100

// MaxDependents is the number of kinds of objects that are remembered as made by runs.
const MaxDependents = 100

// Withheld has the reasons why values are withheld, by the names of the values. The empty name stands for all values.
// +kubebuilder:validation:MaxProperties=100
type Withheld map[string]string

// Limited returns w, or a single entry with the empty name if w has that or too many entries, or nil if w is empty.
func (w Withheld) Limited() Withheld {
	why, all := w[""]

	switch n := len(w); {
	case n == 0:
		return nil
	case all:
		return Withheld{"": why}
	case n > MaxWithheld:
		return Withheld{"": fmt.Sprintf("more than %d are withheld", MaxWithheld)}
	}

	return w
}

// A Preview is a requested check of what an apply would change now. LastRun shows it while it is in progress.
type Preview struct {
	// RunID is the id of the run.
	RunID string `json:"runID"`

	// Request that the preview answers.
	Request string `json:"request"`

	// Phase that the run ended in; empty while it has not ended.
	// +optional
	Phase RunPhase `json:"phase,omitempty"`

	// Reason of the phase, in CamelCase, when it needs one.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message explains the reason.
	// +optional
	Message string `json:"message,omitempty"`

	// CompletionTime is when the run ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// Drift is what an apply would change; unset if it would change nothing, or if that is not known.
	// +optional
	Drift *Drift `json:"drift,omitempty"`

	// Replaced is the run that lastRun shows again after the end of the preview.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Replaced *Run `json:"replaced,omitempty"`
}

// PublishedDetails say where the connection details of a run are. While the name is empty, no Secret has them.
type PublishedDetails struct {
	// RunID is the id of the run.
	RunID string `json:"runID"`

	// Namespace of the Secret.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the Secret.
	// +optional
	Name string `json:"name,omitempty"`

	// UID of the Secret. A Secret of the same name with another UID does not have the connection details.
	// +optional
	UID string `json:"uid,omitempty"`
}

// A DependentKind is a kind of objects that content has created or changed.
type DependentKind struct {
	// APIVersion of the objects.
	APIVersion string `json:"apiVersion"`
	// Kind of the objects.
	Kind string `json:"kind"`
	// Resource is the plural name of the kind in the API.
	Resource string `json:"resource"`

	// Namespace of the objects; empty for cluster scoped ones.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Digest of the objects at the end of the last run; empty if unknown.
	// +optional
	Digest string `json:"digest,omitempty"`
}

// KeptOutput says where the end of a run's output is kept.
type KeptOutput struct {
	// Namespace of the ConfigMap.
	Namespace string `json:"namespace"`

	// ConfigMap is the name of the ConfigMap. The output is in its key output.
	ConfigMap string `json:"configMap"`

	// RunID is the id of the run.
	RunID string `json:"runID"`

	// CompletionTime is when the run ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// A Run is one execution of the content.
type Run struct {
	// ID of the run. If the run has a Pod, the name of the Pod ends with it.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]+(-+[a-z0-9]+)*$`
	ID string `json:"id"`

	// Mode is Apply, or Check for a run that only predicts changes.
	Mode RunMode `json:"mode"`

	// State of the target that the run is to establish: present or absent.
	State RunState `json:"state"`

	// Trigger says why the run was started.
	Trigger RunTrigger `json:"trigger"`

	// Phase is how far the run has come.
	Phase RunPhase `json:"phase"`

	// InputsDigest identifies the inputs of the run.
	// +optional
	InputsDigest string `json:"inputsDigest,omitempty"`

	// MetadataDigest identifies the labels and annotations that the content saw, in a check with changes that need an
	// approval.
	// +optional
	MetadataDigest string `json:"metadataDigest,omitempty"`

	// Reason of the phase, in CamelCase, when it needs one.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message explains the reason.
	// +optional
	Message string `json:"message,omitempty"`

	// StartTime is when the run was started, without its time in the queue.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// CompletionTime is when the run ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// Pod of the run; unset for a run in the provider's own Pod.
	// +optional
	Pod *PodReference `json:"pod,omitempty"`

	// Confinement of the run by the kernel of its machine. It is set once the run executes its content.
	// +optional
	Confinement *RunConfinement `json:"confinement,omitempty"`

	// Versions of ansible-core, ansible-runner and Python that the run uses. They are set once the run has started.
	// +optional
	Versions string `json:"versions,omitempty"`

	// CurrentTask is the task in progress.
	// +optional
	CurrentTask string `json:"currentTask,omitempty"`

	// Tasks counts the tasks that have begun, in all plays, without the gathering of facts.
	// +optional
	Tasks int64 `json:"tasks,omitempty"`

	// Progress of the run while it goes on, as in "task 14 of ~40, 2 of 5 hosts left behind". The total of tasks is an
	// estimate from the history: the number of the last successful run with the same mode and state. Hosts that are left
	// behind have failed, or could not be reached.
	// +optional
	Progress string `json:"progress,omitempty"`

	// Hosts has the totals of all hosts.
	// +optional
	Hosts *HostTotals `json:"hosts,omitempty"`

	// Failures of tasks, the first 10 at most.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Failures []Failure `json:"failures,omitempty"`
}

// A RunConfinement says how a kernel confined a run.
type RunConfinement struct {
	// Landlock is the version of the ABI of Landlock that kept the run from files of others; 0 without Landlock.
	Landlock int64 `json:"landlock"`

	// Seccomp is true if the container's runtime had the kernel filter system calls.
	Seccomp bool `json:"seccomp"`
}

// A PodReference names the Pod of a run.
type PodReference struct {
	// Namespace of the Pod.
	Namespace string `json:"namespace"`

	// Name of the Pod.
	Name string `json:"name"`
}

// HostTotals count the outcomes of tasks, summed over all hosts.
type HostTotals struct {
	// OK counts tasks that succeeded, changed ones included.
	OK int64 `json:"ok"`
	// Changed counts tasks that changed something.
	Changed int64 `json:"changed"`
	// Failed counts tasks that failed.
	Failed int64 `json:"failed"`
	// Unreachable counts hosts that could not be reached.
	Unreachable int64 `json:"unreachable"`
	// Skipped counts tasks that were skipped.
	Skipped int64 `json:"skipped"`
	// Rescued counts tasks that failed and were rescued.
	Rescued int64 `json:"rescued"`
	// Ignored counts tasks that failed and were ignored.
	Ignored int64 `json:"ignored"`
}

// A Failure is a task that failed on a host.
type Failure struct {
	// Task that failed.
	// +optional
	Task string `json:"task,omitempty"`

	// Host on which the task failed.
	// +optional
	Host string `json:"host,omitempty"`

	// Message of the failure, 1 KiB at most.
	// +optional
	Message string `json:"message,omitempty"`

	// Rescued is true for a failure after which the rescue of its block went on, in a run that failed later.
	// +optional
	Rescued bool `json:"rescued,omitempty"`
}

// An Apply summarizes the last run that was not a check.
type Apply struct {
	// ID of the run.
	ID string `json:"id"`

	// Result is the phase that the run ended in; empty while it has not ended.
	// +optional
	Result RunPhase `json:"result,omitempty"`

	// CompletionTime is when the run ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// InputsDigest identifies the inputs that the attempts are counted for.
	// +optional
	InputsDigest string `json:"inputsDigest,omitempty"`

	// State that the attempts are counted for.
	// +optional
	State RunState `json:"state,omitempty"`

	// Attempts that were made with these inputs since the last success, this run included. Runs that ended with the
	// provider, or that failed because of the provider or its machine, do not count.
	// +optional
	Attempts int64 `json:"attempts,omitempty"`

	// Untouched is true when no content has started since the last successful apply, neither in this run nor in a run
	// between the two.
	// +optional
	Untouched bool `json:"untouched,omitempty"`

	// NextRetryTime is the earliest time of the next attempt.
	// +optional
	NextRetryTime *metav1.Time `json:"nextRetryTime,omitempty"`
}

// Content is a set of collections and roles.
type Content struct {
	// Digest of the requirements.
	// +optional
	Digest string `json:"digest,omitempty"`

	// Collections that are installed.
	// +optional
	// +listType=atomic
	Collections []ContentItem `json:"collections,omitempty"`

	// Roles that are installed.
	// +optional
	// +listType=atomic
	Roles []ContentItem `json:"roles,omitempty"`

	// Project that is installed: its repository and its commit.
	// +optional
	Project *ContentItem `json:"project,omitempty"`

	// Resolved is when the requirements were last resolved to these versions.
	// +optional
	Resolved *metav1.Time `json:"resolved,omitempty"`
}

// A ContentItem is an installed collection, role or project.
type ContentItem struct {
	// Name of the collection or role, or the URL of the project's repository.
	Name string `json:"name"`

	// Version that is installed. The version of a project is a commit, or the SHA-256 of its archive.
	// +optional
	Version string `json:"version,omitempty"`

	// Revision of the content, a hash of its files. Only content that is not pinned, such as a branch of a git repository,
	// has a revision: it may change while its version stays the same.
	// +optional
	Revision string `json:"revision,omitempty"`

	// Source is the Galaxy server that a collection came from.
	// +optional
	Source string `json:"source,omitempty"`
}

// Drift is the changes that a check run predicted.
type Drift struct {
	// Changed counts all tasks that would change something.
	Changed int64 `json:"changed"`

	// Tasks that would change something, the first 20 at most.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Tasks []DriftTask `json:"tasks,omitempty"`
}

// A DriftTask is a task that would change a host.
type DriftTask struct {
	// Task that would change something.
	// +optional
	Task string `json:"task,omitempty"`

	// Host that would be changed.
	// +optional
	Host string `json:"host,omitempty"`

	// Diff of the change, if Ansible gives one.
	// +optional
	Diff string `json:"diff,omitempty"`
}
