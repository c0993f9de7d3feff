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

// AnnotationKeepOutput keeps the end of what the last run of an AnsibleRun
// displayed in a ConfigMap when it is "true", or for a time after the run when it is a
// duration, such as "24h".
const AnnotationKeepOutput = GroupCluster + "/keepOutput"

// AnnotationWatch has the time, in RFC 3339, until which the output of an AnsibleRun is watched.
// Until then the provider keeps the end of what a run in progress displays, as it does for
// AnnotationKeepOutput of runs that have ended.
const AnnotationWatch = GroupCluster + "/watch"

// MaxWatch is how far ahead of the present AnnotationWatch may be. A later time is ignored, so that
// nothing is watched for ever.
const MaxWatch = 5 * time.Minute

// OperationRequest is how a value of crossplane.io/reconcile-requested-at starts
// that asks for the one run of the Operation that applied it. Another value follows,
// which no other request has.
const OperationRequest = "operation/"

// PreviewRequest is how a value of crossplane.io/reconcile-requested-at starts that asks for a preview:
// a check of which only status.atProvider.preview tells.
const PreviewRequest = "check/"

// AnnotationCancel has the id of a run that is to be ended. It is not tried again before the inputs
// change, or a run is asked for.
const AnnotationCancel = GroupCluster + "/cancel"

// AnnotationAdopt is "true" on an AnsibleRun that has never run, with a target that is as its spec says. Its first
// apply is recorded, and not run.
const AnnotationAdopt = GroupCluster + "/adopt"

// A RunPolicy says when the content of an AnsibleRun is run while the object is
// there.
// +kubebuilder:validation:Enum=ObserveAndDelete;CheckWhenObserve;RunOnChange
type RunPolicy string

// Run policies.
const (
	// ObserveAndDelete applies the content when it was never applied, when the
	// inputs changed, and again every poll interval. It is the default.
	ObserveAndDelete RunPolicy = "ObserveAndDelete"
	// CheckWhenObserve checks the content when the inputs changed and every
	// poll interval, and applies it when the check predicts changes.
	CheckWhenObserve RunPolicy = "CheckWhenObserve"
	// RunOnChange applies the content when it was never applied and when the
	// inputs changed, not at a mere poll.
	RunOnChange RunPolicy = "RunOnChange"
)

// Reasons a run is not ready, beside those of crossplane-runtime.
const (
	// ReasonRunning means that the inputs are being applied.
	ReasonRunning xpv2.ConditionReason = "Running"
	// ReasonRunFailed means that the last apply failed.
	ReasonRunFailed xpv2.ConditionReason = "RunFailed"
	// ReasonRetriesExhausted means that the last apply failed, and was tried as
	// often as spec.forProvider.retryLimit allows.
	ReasonRetriesExhausted xpv2.ConditionReason = "RetriesExhausted"
	// ReasonInputsChanged means that the inputs differ from those applied.
	ReasonInputsChanged xpv2.ConditionReason = "InputsChanged"
	// ReasonNotApplied means that the inputs were never applied, and will not be.
	ReasonNotApplied xpv2.ConditionReason = "NotApplied"
)

// NotReady indicates that a run is not ready, for one of these reasons.
func NotReady(reason xpv2.ConditionReason) xpv2.Condition {
	return condition(xpv2.TypeReady, corev1.ConditionFalse, reason, "")
}

// Failed is true for a condition that says that the last apply failed.
func Failed(c xpv2.Condition) bool {
	return c.Reason == ReasonRunFailed || c.Reason == ReasonRetriesExhausted
}

// NotApplied indicates that the inputs were never applied and will not be, and
// says why.
func NotApplied(why string) xpv2.Condition {
	return NotReady(ReasonNotApplied).WithMessage("nothing is applied: " + why)
}

// TypeCheckable says whether check runs of an AnsibleRun can tell anything.
const TypeCheckable xpv2.ConditionType = "Checkable"

// Reasons of TypeCheckable.
const (
	// ReasonNotCheckable means that a check run skipped every task.
	ReasonNotCheckable xpv2.ConditionReason = "NotCheckable"
	// ReasonChecked means that a check run did not skip every task.
	ReasonChecked xpv2.ConditionReason = "Checked"
)

// NotCheckable indicates that a check run skipped every task, so that it cannot
// tell whether there is anything to apply.
func NotCheckable() xpv2.Condition {
	return condition(TypeCheckable, corev1.ConditionFalse, ReasonNotCheckable,
		"no task of the content supports check mode, so that nothing is ever applied: use run policy "+
			string(ObserveAndDelete)+" or "+string(RunOnChange))
}

// Checkable indicates that check runs can tell whether there is anything to
// apply.
func Checkable() xpv2.Condition {
	return condition(TypeCheckable, corev1.ConditionTrue, ReasonChecked, "")
}

// TypeContentUpToDate says whether content that is not pinned could be resolved
// again when that was due. Only objects have it if their content could not.
const TypeContentUpToDate xpv2.ConditionType = "ContentUpToDate"

// Reasons of TypeContentUpToDate.
const (
	// ReasonSourceUnavailable means that ansible-galaxy could not install the
	// content.
	ReasonSourceUnavailable xpv2.ConditionReason = "SourceUnavailable"
	// ReasonCannotInstall means that the provider could not, for want of space
	// on its disk for example.
	ReasonCannotInstall xpv2.ConditionReason = "CannotInstall"
	// ReasonResolved means that the content was resolved again.
	ReasonResolved xpv2.ConditionReason = "Resolved"
)

// SourceUnavailable indicates that content could not be resolved again, for a
// reason that has to do with where it comes from.
func SourceUnavailable(message string) xpv2.Condition {
	return condition(TypeContentUpToDate, corev1.ConditionFalse, ReasonSourceUnavailable, message)
}

// CannotInstall indicates that content could not be resolved again, for a
// reason that has to do with the provider.
func CannotInstall(message string) xpv2.Condition {
	return condition(TypeContentUpToDate, corev1.ConditionFalse, ReasonCannotInstall, message)
}

// ContentUpToDate indicates that content was resolved again.
func ContentUpToDate() xpv2.Condition {
	return condition(TypeContentUpToDate, corev1.ConditionTrue, ReasonResolved, "")
}

// TypeOutputsWithheld says that the status is without some outputs. Only objects have it of which that is true.
const TypeOutputsWithheld xpv2.ConditionType = "OutputsWithheld"

// ReasonContainsSecret means that outputs are withheld since they contain secrets. It is also the reason of a condition
// that content has reported with a reason that contains one.
const ReasonContainsSecret xpv2.ConditionReason = "ContainsSecret"

const (
	// maxNamed is how many withheld values a condition names.
	maxNamed = 5
	// maxName is how many bytes of a name a condition has.
	maxName = 253
)

// OutputsWithheld indicates that outputs, and fields of the status that content has reported, are withheld, and says
// what to do about it.
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

// TypeConfined says that the last run in the provider was not confined. Only objects have it of which that is true.
const TypeConfined xpv2.ConditionType = "Confined"

// ReasonNoLandlock means that the kernel has no Landlock that works, or that it is not used.
const ReasonNoLandlock xpv2.ConditionReason = "NoLandlock"

// NotConfined indicates that a run could read what the provider can.
func NotConfined(c RunConfinement) xpv2.Condition {
	seccomp := "system calls are not filtered (seccomp), either"
	if c.Seccomp {
		seccomp = "system calls are filtered (seccomp)"
	}

	return condition(TypeConfined, corev1.ConditionFalse, ReasonNoLandlock,
		"without Landlock the run could read what the provider can, its service account's token included; "+seccomp+
			"; in a Pod of its own (place: Pod) it could not")
}

// TypeDependentsWatched says whether what content has made in the cluster is watched. Only objects
// have it for which that was to be, and could not.
const TypeDependentsWatched xpv2.ConditionType = "DependentsWatched"

// Reasons of TypeDependentsWatched.
const (
	// ReasonCannotWatch means that the ServiceAccount may not watch some of what the content has made, that
	// the API server cannot, or that there are too many kinds.
	ReasonCannotWatch xpv2.ConditionReason = "CannotWatch"
	// ReasonWatched means that it is watched again, or is not to be any more.
	ReasonWatched xpv2.ConditionReason = "Watched"
)

// DependentsNotWatched indicates that what content has made is not watched, and says why.
func DependentsNotWatched(err error) xpv2.Condition {
	return condition(TypeDependentsWatched, corev1.ConditionFalse, ReasonCannotWatch,
		err.Error()+"; what the content has made is looked at when it runs")
}

// DependentsWatched indicates that what content has made is watched again.
func DependentsWatched() xpv2.Condition {
	return condition(TypeDependentsWatched, corev1.ConditionTrue, ReasonWatched, "")
}

// TypeDeletable says whether an object that is being deleted can be.
const TypeDeletable xpv2.ConditionType = "Deletable"

// ReasonInputsUnavailable means that what a run depends on cannot be resolved.
const ReasonInputsUnavailable xpv2.ConditionReason = "InputsUnavailable"

// GiveUpDeletion says how an object that is being deleted goes without a run.
const GiveUpDeletion = "give the deletion run up with spec.forProvider.onDelete: {policy: Keep}"

// CannotDelete indicates that the run that removes what the object stands for
// cannot be started, and says what to do about it.
func CannotDelete(err error) xpv2.Condition {
	return condition(TypeDeletable, corev1.ConditionFalse, ReasonInputsUnavailable,
		err.Error()+": bring it back, or, where that cannot be, as in a namespace that is being deleted, "+GiveUpDeletion)
}

// DeletionFailed indicates that the run that removes what the object stands for
// failed, and is tried again, and says what to do about it.
func DeletionFailed(err error) xpv2.Condition {
	return condition(TypeDeletable, corev1.ConditionFalse, ReasonRunFailed,
		err.Error()+"; repair the cause, or "+GiveUpDeletion)
}

// GaveUpDeleting indicates that the run that removes what the object stands for
// failed as often as it may be tried, and says what to do about it.
func GaveUpDeleting(err error) xpv2.Condition {
	return condition(TypeDeletable, corev1.ConditionFalse, ReasonRetriesExhausted, err.Error())
}

// Deletable indicates that the run that removes what the object stands for can
// be started.
func Deletable() xpv2.Condition {
	return condition(TypeDeletable, corev1.ConditionTrue, xpv2.ReasonDeleting, "")
}

// OwnConditions are the types of conditions that Crossplane, its runtime and
// the provider set or reserve, sorted. Content cannot report them.
func OwnConditions() []xpv2.ConditionType {
	return []xpv2.ConditionType{
		TypeApproved, TypeCheckable, TypeConfined, TypeContentUpToDate, TypeDeletable, TypeDependentsWatched,
		xpv2.TypeHealthy, TypeOutputsWithheld, TypePermitted, xpv2.TypeReady, typeResponsive, TypeStateAware,
		xpv2.TypeSynced, xpv2.TypeUpToDate,
	}
}

// IsOwn is true for a condition of one of the OwnConditions.
func IsOwn(c xpv2.Condition) bool { return slices.Contains(OwnConditions(), c.Type) }

// typeResponsive is what Crossplane says of composite resources.
const typeResponsive xpv2.ConditionType = "Responsive"

// condition of a type that holds from now on.
func condition(t xpv2.ConditionType, s corev1.ConditionStatus, r xpv2.ConditionReason, message string) xpv2.Condition {
	return xpv2.Condition{Type: t, Status: s, LastTransitionTime: metav1.Now(), Reason: r, Message: message}
}
