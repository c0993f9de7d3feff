package common

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
)

// Groups of the API.
const (
	// GroupCluster is the group of the cluster scoped kinds.
	GroupCluster = "ansible.crossplane.io"
	// GroupNamespaced is the group of the namespaced kinds.
	GroupNamespaced = "ansible.m.crossplane.io"
	// Version of both groups.
	Version = "v1alpha1"
	// KindAnsibleRun is the kind of an AnsibleRun in both groups.
	KindAnsibleRun = "AnsibleRun"
)

// AnnotationRunPolicy selects the RunPolicy of an AnsibleRun.
const AnnotationRunPolicy = GroupCluster + "/runPolicy"

// AnnotationKeepOutput keeps the end of the output of an AnsibleRun's last run in a ConfigMap: without a limit when it
// is "true", or for a time after the run when it is a duration, such as "24h".
const AnnotationKeepOutput = GroupCluster + "/keepOutput"

// AnnotationWatch has the time, in RFC 3339, until which the output of an AnsibleRun is watched. Until then the
// provider keeps the end of the output of a run in progress, as AnnotationKeepOutput does for runs that have ended.
const AnnotationWatch = GroupCluster + "/watch"

// MaxWatch is how far ahead of the present AnnotationWatch may be. A later time is ignored, so that no output is
// watched without an end.
const MaxWatch = 5 * time.Minute

// OperationRequest is the prefix of a value of crossplane.io/reconcile-requested-at that asks for the one run of the
// Operation that applied it. A value that is unique to the request follows.
const OperationRequest = "operation/"

// PreviewRequest is the prefix of a value of crossplane.io/reconcile-requested-at that asks for a preview: a check with
// a result that is shown in status.atProvider.preview only.
const PreviewRequest = "check/"

// AnnotationCancel has the id of a run to cancel. The run is not retried before the inputs change or another run is
// requested.
const AnnotationCancel = GroupCluster + "/cancel"

// AnnotationAdopt is "true" on an AnsibleRun that has never run and has a target that is already as its spec says. The
// first apply is then recorded without running.
const AnnotationAdopt = GroupCluster + "/adopt"

// A RunPolicy says when the content of an AnsibleRun runs while the object exists.
// +kubebuilder:validation:Enum=ObserveAndDelete;CheckWhenObserve;RunOnChange
type RunPolicy string

// Run policies.
const (
	// ObserveAndDelete applies the content when it was never applied, when the inputs have changed, and again after every
	// poll interval. It is the default.
	ObserveAndDelete RunPolicy = "ObserveAndDelete"
	// CheckWhenObserve checks the content when the inputs have changed and after every poll interval, and applies it when
	// the check predicts changes.
	CheckWhenObserve RunPolicy = "CheckWhenObserve"
	// RunOnChange applies the content when it was never applied and when the inputs have changed, but not after a poll
	// interval.
	RunOnChange RunPolicy = "RunOnChange"
)

// Reasons of a Ready condition that is false, beside those of crossplane-runtime.
const (
	// ReasonRunning means that the inputs are being applied.
	ReasonRunning xpv2.ConditionReason = "Running"
	// ReasonRunFailed means that the last apply failed.
	ReasonRunFailed xpv2.ConditionReason = "RunFailed"
	// ReasonRetriesExhausted means that the last apply failed, and that all attempts that spec.forProvider.retryLimit
	// allows were made.
	ReasonRetriesExhausted xpv2.ConditionReason = "RetriesExhausted"
	// ReasonInputsChanged means that the inputs differ from those of the last successful apply.
	ReasonInputsChanged xpv2.ConditionReason = "InputsChanged"
	// ReasonNotApplied means that the inputs were never applied, and will not be.
	ReasonNotApplied xpv2.ConditionReason = "NotApplied"
)

// NotReady indicates that an AnsibleRun is not ready, for one of these reasons.
func NotReady(reason xpv2.ConditionReason) xpv2.Condition {
	return condition(xpv2.TypeReady, corev1.ConditionFalse, reason, "")
}

// Failed is true for a condition which says that the last apply failed.
func Failed(c xpv2.Condition) bool {
	return c.Reason == ReasonRunFailed || c.Reason == ReasonRetriesExhausted
}

// FailedBefore is true for a condition of inputs that are not those of the last run, if that was an apply: its failure
// is none of theirs.
func FailedBefore(ready xpv2.Condition, last RunMode) bool {
	return ready.Reason == ReasonInputsChanged && last == ModeApply
}

// NotApplied indicates that the inputs were never applied and will not be, and says why.
func NotApplied(why string) xpv2.Condition {
	return NotReady(ReasonNotApplied).WithMessage("nothing is applied: " + why)
}

// TypeCheckable says whether check runs of an AnsibleRun give a result.
const TypeCheckable xpv2.ConditionType = "Checkable"

// Reasons of TypeCheckable.
const (
	// ReasonNotCheckable means that a check run skipped every task.
	ReasonNotCheckable xpv2.ConditionReason = "NotCheckable"
	// ReasonChecked means that a check run did not skip every task.
	ReasonChecked xpv2.ConditionReason = "Checked"
)

// NotCheckable indicates that a check run skipped every task, so that it cannot tell whether there is anything to
// apply.
func NotCheckable() xpv2.Condition {
	return condition(TypeCheckable, corev1.ConditionFalse, ReasonNotCheckable,
		"no task of the content supports check mode, so that nothing is ever applied: use run policy "+
			string(ObserveAndDelete)+" or "+string(RunOnChange))
}

// Checkable indicates that check runs can tell whether there is anything to apply.
func Checkable() xpv2.Condition {
	return condition(TypeCheckable, corev1.ConditionTrue, ReasonChecked, "")
}

// TypeContentUpToDate says whether content that is not pinned was resolved again when that was due. An object gets the
// condition once that has failed.
const TypeContentUpToDate xpv2.ConditionType = "ContentUpToDate"

// Reasons of TypeContentUpToDate.
const (
	// ReasonSourceUnavailable means that ansible-galaxy could not install the content.
	ReasonSourceUnavailable xpv2.ConditionReason = "SourceUnavailable"
	// ReasonCannotInstall means that the provider could not install the content, for example because its disk is full.
	ReasonCannotInstall xpv2.ConditionReason = "CannotInstall"
	// ReasonResolved means that the content was resolved again.
	ReasonResolved xpv2.ConditionReason = "Resolved"
)

// SourceUnavailable indicates that content could not be resolved again because of its source.
func SourceUnavailable(message string) xpv2.Condition {
	return condition(TypeContentUpToDate, corev1.ConditionFalse, ReasonSourceUnavailable, message)
}

// CannotInstall indicates that content could not be resolved again because of the provider.
func CannotInstall(message string) xpv2.Condition {
	return condition(TypeContentUpToDate, corev1.ConditionFalse, ReasonCannotInstall, message)
}

// ContentUpToDate indicates that content was resolved again.
func ContentUpToDate() xpv2.Condition {
	return condition(TypeContentUpToDate, corev1.ConditionTrue, ReasonResolved, "")
}

// TypeOutputsWithheld says that outputs are missing from the status because they contain secrets. Other objects do not
// have the condition.
const TypeOutputsWithheld xpv2.ConditionType = "OutputsWithheld"

// ReasonContainsSecret means that outputs are withheld since they contain secrets. It also replaces the reason of a
// condition that content has reported, if that reason contains a secret.
const ReasonContainsSecret xpv2.ConditionReason = "ContainsSecret"

const (
	// maxNamed is how many withheld values a condition names.
	maxNamed = 5
	// maxName is how many bytes of a name a condition shows.
	maxName = 253
)

// OutputsWithheld indicates that outputs, or fields of the status that content has reported, are withheld, and says how
// to avoid that.
func OutputsWithheld(outputs, reported Withheld) xpv2.Condition {
	var all []string

	for _, l := range []struct {
		what string
		of   Withheld
	}{{"output", outputs}, {"field of the status", reported}} {
		for _, name := range slices.Sorted(maps.Keys(l.of)) {
			all = append(all, fmt.Sprintf("%s %q: %s", l.what, clip.Text(name, maxName), l.of[name]))
		}
	}

	if more := len(all) - maxNamed; more > 0 {
		all = append(all[:maxNamed], fmt.Sprintf("and %d more", more))
	}

	return condition(TypeOutputsWithheld, corev1.ConditionTrue, ReasonContainsSecret, strings.Join(all, "; ")+
		": publish what is secret as a connection detail only; keep a value that is not secret in a ConfigMap, or publish "+
		"it as a connection detail with a name such as host, too")
}

// TypeConfined says that the last run in the provider was not confined by Landlock. Other objects do not have the
// condition.
const TypeConfined xpv2.ConditionType = "Confined"

// ReasonNoLandlock means that the kernel has no working Landlock, or that the provider does not use it.
const ReasonNoLandlock xpv2.ConditionReason = "NoLandlock"

// NotConfined indicates that a run had read access to all files that the provider can read.
func NotConfined(c RunConfinement) xpv2.Condition {
	seccomp := "system calls are not filtered (seccomp), either"
	if c.Seccomp {
		seccomp = "system calls are filtered (seccomp)"
	}

	return condition(TypeConfined, corev1.ConditionFalse, ReasonNoLandlock,
		"without Landlock the run could read every file of the provider, the token of its ServiceAccount included; "+seccomp+
			"; in a Pod of its own (place: Pod) it could not")
}

// TypeDependentsWatched says whether the objects that content has made in the cluster are watched. An object gets the
// condition once a watch that it needs has failed.
const TypeDependentsWatched xpv2.ConditionType = "DependentsWatched"

// Reasons of TypeDependentsWatched.
const (
	// ReasonCannotWatch means that the ServiceAccount lacks the right to watch some of the objects that the content has
	// made, that the API server cannot watch them, or that there are too many kinds.
	ReasonCannotWatch xpv2.ConditionReason = "CannotWatch"
	// ReasonWatched means that the objects are watched again, or that a watch is no longer wanted.
	ReasonWatched xpv2.ConditionReason = "Watched"
)

// DependentsNotWatched indicates that objects that the content has made are not watched, and says why.
func DependentsNotWatched(err error) xpv2.Condition {
	return condition(TypeDependentsWatched, corev1.ConditionFalse, ReasonCannotWatch,
		err.Error()+"; changes of these objects are found by the next run only")
}

// DependentsWatched indicates that the objects that the content has made are watched again.
func DependentsWatched() xpv2.Condition {
	return condition(TypeDependentsWatched, corev1.ConditionTrue, ReasonWatched, "")
}

// TypeDeletable says whether the deletion of an object can proceed.
const TypeDeletable xpv2.ConditionType = "Deletable"

// ReasonInputsUnavailable means that an input of a run, such as a Secret, cannot be resolved.
const ReasonInputsUnavailable xpv2.ConditionReason = "InputsUnavailable"

// GiveUpDeletion tells users how to delete an object without a deletion run.
const GiveUpDeletion = "give the deletion run up with spec.forProvider.onDelete: {policy: Keep}"

// CannotDelete indicates that the deletion run cannot be started, and says how to proceed.
func CannotDelete(err error) xpv2.Condition {
	return condition(TypeDeletable, corev1.ConditionFalse, ReasonInputsUnavailable,
		err.Error()+": restore it, or, if that is impossible, as in a namespace that is being deleted, "+GiveUpDeletion)
}

// DeletionFailed indicates that the deletion run failed and will be retried, and says how to proceed.
func DeletionFailed(err error) xpv2.Condition {
	return condition(TypeDeletable, corev1.ConditionFalse, ReasonRunFailed,
		err.Error()+"; repair the cause, or "+GiveUpDeletion)
}

// GaveUpDeleting indicates that the deletion run failed in all attempts that it may have.
func GaveUpDeleting(err error) xpv2.Condition {
	return condition(TypeDeletable, corev1.ConditionFalse, ReasonRetriesExhausted, err.Error())
}

// Deletable indicates that the deletion run can be started.
func Deletable() xpv2.Condition {
	return condition(TypeDeletable, corev1.ConditionTrue, xpv2.ReasonDeleting, "")
}

// OwnConditions are the types of conditions that Crossplane, its runtime and the provider set or reserve, sorted.
// Content cannot report conditions of these types.
func OwnConditions() []xpv2.ConditionType {
	return []xpv2.ConditionType{
		TypeApproved, TypeCheckable, TypeConfined, TypeContentUpToDate, TypeDeletable, TypeDependentsWatched,
		xpv2.TypeHealthy, TypeOutputsWithheld, TypePermitted, xpv2.TypeReady, typeResponsive, TypeStateAware,
		xpv2.TypeSynced, xpv2.TypeUpToDate,
	}
}

// IsOwn is true for a condition of one of the OwnConditions.
func IsOwn(c xpv2.Condition) bool { return slices.Contains(OwnConditions(), c.Type) }

// typeResponsive is a condition that Crossplane sets on composite resources.
const typeResponsive xpv2.ConditionType = "Responsive"

// condition returns a condition with the present as its time of transition.
func condition(t xpv2.ConditionType, s corev1.ConditionStatus, r xpv2.ConditionReason, message string) xpv2.Condition {
	return xpv2.Condition{Type: t, Status: s, LastTransitionTime: metav1.Now(), Reason: r, Message: message}
}
