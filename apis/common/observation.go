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

// A RunState is the state that a run is to bring about.
// +kubebuilder:validation:Enum=present;absent
type RunState string

// States that a run brings about.
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
	// TriggerPoll runs are due by the poll interval or the schedule. They look for drift, or put it right.
	TriggerPoll RunTrigger = "Poll"
	// TriggerDependents runs follow a change of what former ones have made in the cluster.
	TriggerDependents RunTrigger = "Dependents"
	// TriggerRetry runs follow one that did not succeed.
	TriggerRetry RunTrigger = "Retry"
	// TriggerRequested runs answer crossplane.io/reconcile-requested-at.
	TriggerRequested RunTrigger = "Requested"
	// TriggerDeleted runs follow the deletion of the object.
	TriggerDeleted RunTrigger = "Deleted"
	// TriggerPreview runs are checks that were asked for, and after which nothing follows.
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
	// PhaseSucceeded runs did all that they were to do.
	PhaseSucceeded RunPhase = "Succeeded"
	// PhaseFailed runs ended with a failure, see reason and failures.
	PhaseFailed RunPhase = "Failed"
	// PhaseTimedOut runs were ended because they took too long.
	PhaseTimedOut RunPhase = "TimedOut"
	// PhaseCanceled runs were ended because they were not wanted any more.
	PhaseCanceled RunPhase = "Canceled"
	// PhaseInterrupted runs were ended by the end of the provider.
	PhaseInterrupted RunPhase = "Interrupted"
)

// Finished is true for phases that a run does not leave any more.
func (p RunPhase) Finished() bool {
	switch p {
	case PhaseSucceeded, PhaseFailed, PhaseTimedOut, PhaseCanceled, PhaseInterrupted:
		return true
	case PhaseQueued, PhaseInstalling, PhaseRunning:
		return false
	}

	return false
}

// Verb says how a run has ended that did not succeed: "failed", "timed out", "was canceled" or "was interrupted".
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

// AnsibleRunObservation is what is known of the runs of an AnsibleRun.
type AnsibleRunObservation struct {
	// UID of the AnsibleRun that this is about. What is known of the runs of another one, which a restore from
	// a backup may bring along, does not count.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// LastRun is the run in progress, or the last one.
	// +optional
	LastRun *Run `json:"lastRun,omitempty"`

	// LastApply is the last run that was not a check.
	// +optional
	LastApply *Apply `json:"lastApply,omitempty"`

	// Executed is true once content may have changed something on behalf of the
	// object, so that there may be something to remove when it is deleted.
	// +optional
	Executed bool `json:"executed,omitempty"`

	// Interruptions counts the runs in a row that were in progress when the provider
	// was killed, or that failed because of the provider, its machine or their Pod, and
	// the checks for which the content could not be installed, or that have failed with inputs
	// that are not applied. Each of them makes the next run wait longer. Another run that
	// ends by itself, and one with other inputs, set the count back to 0.
	// +optional
	Interruptions int64 `json:"interruptions,omitempty"`

	// AppliedDigest identifies the inputs of the last successful apply.
	// +optional
	AppliedDigest string `json:"appliedDigest,omitempty"`

	// HandledRequest is the last value of the annotation
	// crossplane.io/reconcile-requested-at that a run has answered. It is the uid of
	// the Operation if an Operation made the request.
	// +optional
	HandledRequest string `json:"handledRequest,omitempty"`

	// Content is the collections and roles that the last run used.
	// +optional
	Content *Content `json:"content,omitempty"`

	// Drift is what the last check run would change. An apply clears it.
	// +optional
	Drift *Drift `json:"drift,omitempty"`

	// Preview is the last check that a value of crossplane.io/reconcile-requested-at that starts
	// with check/ has asked for. Nothing depends on it.
	// +optional
	Preview *Preview `json:"preview,omitempty"`

	// Approval of the last check that predicted something, if the run or its configuration requires
	// approvals.
	// +optional
	Approval *ApprovalObservation `json:"approval,omitempty"`

	// History has the last runs that ended, the latest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	History []PastRun `json:"history,omitempty"`

	// Outputs are the values that the content published with
	// ansible.builtin.set_stats in the last successful apply. Over them are those
	// that it reported with crossplane.ansible.status, in that apply and in all
	// applies since, the one in progress included. 64 KiB at most.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Outputs *apiextensionsv1.JSON `json:"outputs,omitempty"`

	// WithheldOutputs says why outputs are not in outputs, by their names: they have a secret in them. The name is empty
	// if it has a secret in it, or if there are too many. Then every output is unknown to a Composition.
	// +optional
	WithheldOutputs Withheld `json:"withheldOutputs,omitempty"`

	// ConnectionDetails is where the connection details of the last successful apply
	// are, if it published any.
	// +optional
	ConnectionDetails *PublishedDetails `json:"connectionDetails,omitempty"`

	// NextRunTime is when the content wants to run again, as it has said in the last successful
	// apply with operator_sdk.util.requeue_after, or when a failed check of inputs that are not
	// applied is repeated.
	// +optional
	NextRunTime *metav1.Time `json:"nextRunTime,omitempty"`

	// Reported is what the content has set of the status of the XR, without conditions:
	// operator_sdk.util.k8s_status does that. 64 KiB at most.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Reported *apiextensionsv1.JSON `json:"reported,omitempty"`

	// WithheldReported says why fields are not in reported, as withheldOutputs does of outputs.
	// +optional
	WithheldReported Withheld `json:"withheldReported,omitempty"`

	// Dependents are the kinds of objects that the content has created or changed, if the
	// configuration says that they are watched: the first 100.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Dependents []DependentKind `json:"dependents,omitempty"`

	// KeptOutput is where the end of what the last run displayed is kept, when
	// the annotation ansible.crossplane.io/keepOutput asks for it.
	// +optional
	KeptOutput *KeptOutput `json:"keptOutput,omitempty"`
}

// MaxWithheld is how many values a status says to be withheld.
const MaxWithheld = 100

// MaxDependents is how many kinds of objects are remembered that runs have made in the cluster.
const MaxDependents = 100

// Withheld says why values are not there, by their names. The value of the empty name may be any: it stands for all.
// +kubebuilder:validation:MaxProperties=100
type Withheld map[string]string

// Limited is w, or one entry if that stands for all; nil if there are none.
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

// A Preview is a check that was asked for, to see what an apply would change now. LastRun shows it while
// it is in progress.
type Preview struct {
	// RunID is the id of the run.
	RunID string `json:"runID"`

	// Request that it answers.
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

	// Drift is what an apply would change; unset if that is nothing, or not known.
	// +optional
	Drift *Drift `json:"drift,omitempty"`

	// Replaced is the run that lastRun shows again once the preview has ended.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Replaced *Run `json:"replaced,omitempty"`
}

// PublishedDetails say where the connection details of a run are. While the name is
// empty no Secret has them.
type PublishedDetails struct {
	// RunID is the id of the run.
	RunID string `json:"runID"`

	// Namespace of the Secret.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the Secret.
	// +optional
	Name string `json:"name,omitempty"`

	// UID of the Secret. A Secret of the same name with another UID does not have the
	// connection details.
	// +optional
	UID string `json:"uid,omitempty"`
}

// A DependentKind is a kind of objects that content has created or changed.
type DependentKind struct {
	// APIVersion of the objects.
	APIVersion string `json:"apiVersion"`
	// Kind of the objects.
	Kind string `json:"kind"`
	// Resource is what the API server calls the kind.
	Resource string `json:"resource"`

	// Namespace of the objects; empty for cluster scoped ones.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Digest of the objects at the end of the last run. It is empty if that is not known.
	// +optional
	Digest string `json:"digest,omitempty"`
}

// KeptOutput is where the end of what a run displayed is kept.
type KeptOutput struct {
	// Namespace of the ConfigMap.
	Namespace string `json:"namespace"`

	// ConfigMap is the name of the ConfigMap. Its key output has the output.
	ConfigMap string `json:"configMap"`

	// RunID is the id of the run.
	RunID string `json:"runID"`

	// CompletionTime is when the run ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// A Run is one execution of the content.
type Run struct {
	// ID of the run. The name of its Pod, if it has one, ends with it.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]+(-+[a-z0-9]+)*$`
	ID string `json:"id"`

	// Mode is Apply, or Check for a run that only predicts changes.
	Mode RunMode `json:"mode"`

	// State that the run is to bring about: present or absent.
	State RunState `json:"state"`

	// Trigger says why the run was started.
	Trigger RunTrigger `json:"trigger"`

	// Phase is how far the run has come.
	Phase RunPhase `json:"phase"`

	// InputsDigest identifies the inputs of the run.
	// +optional
	InputsDigest string `json:"inputsDigest,omitempty"`

	// MetadataDigest identifies the labels and annotations that the content saw, in a check of what
	// has to be approved.
	// +optional
	MetadataDigest string `json:"metadataDigest,omitempty"`

	// Reason of the phase, in CamelCase, when it needs one.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message explains the reason.
	// +optional
	Message string `json:"message,omitempty"`

	// StartTime is when the run was started, its time in the queue excluded.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// CompletionTime is when the run ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// Pod that carries the run out; none for a run in the provider's own Pod.
	// +optional
	Pod *PodReference `json:"pod,omitempty"`

	// Confinement of the run by the kernel of its machine, once it executes its content.
	// +optional
	Confinement *RunConfinement `json:"confinement,omitempty"`

	// Versions of ansible-core, ansible-runner and Python that the run uses, once they have started.
	// +optional
	Versions string `json:"versions,omitempty"`

	// CurrentTask is the task in progress.
	// +optional
	CurrentTask string `json:"currentTask,omitempty"`

	// Tasks that have begun, in all plays. Gathering facts is none.
	// +optional
	Tasks int64 `json:"tasks,omitempty"`

	// Progress of the run while it goes on, as in "task 14 of ~40, 2 of 5 hosts left behind": about how many tasks
	// there are is known from the history, by the last run of the same mode and state that succeeded. Hosts that are
	// left behind have failed, or could not be reached.
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

// A RunConfinement says what a kernel did to confine a run.
type RunConfinement struct {
	// Landlock is the version of its ABI that kept the run from files that are not its own; 0 if nothing did.
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

	// Rescued is true for a failure after which a rescue of its block went on, and then something else failed.
	// +optional
	Rescued bool `json:"rescued,omitempty"`
}

// An Apply summarises the last run that was not a check.
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

	// Attempts that were made with these inputs since the last success, this run
	// included. Runs that the end of the provider interrupted, or that failed because
	// of the provider or its machine, do not count.
	// +optional
	Attempts int64 `json:"attempts,omitempty"`

	// Untouched is true when nothing was changed since the last apply that
	// succeeded: neither this run nor any run between the two started its content.
	// +optional
	Untouched bool `json:"untouched,omitempty"`

	// NextRetryTime is the earliest time of the next attempt.
	// +optional
	NextRetryTime *metav1.Time `json:"nextRetryTime,omitempty"`
}

// Content is a set of collections and roles.
type Content struct {
	// Digest of what was required.
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

	// Resolved is when the requirements were last found to resolve to these versions.
	// +optional
	Resolved *metav1.Time `json:"resolved,omitempty"`
}

// A ContentItem is an installed collection, role or project.
type ContentItem struct {
	// Name of the collection or role, or the URL of the project's repository.
	Name string `json:"name"`

	// Version that is installed. That of a project is a commit, or the SHA-256 of
	// its archive.
	// +optional
	Version string `json:"version,omitempty"`

	// Revision of the content, a hash of its files. Only content that is
	// not pinned has one, such as a branch of a git repository: it may change
	// while its version stays the same.
	// +optional
	Revision string `json:"revision,omitempty"`

	// Source is the Galaxy server that a collection came from.
	// +optional
	Source string `json:"source,omitempty"`
}

// Drift is what a check run would change.
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

	// Diff of what would be changed, where Ansible gives one.
	// +optional
	Diff string `json:"diff,omitempty"`
}
