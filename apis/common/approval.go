package common

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
)

// KindApproval is the kind of an Approval in both groups.
const KindApproval = "Approval"

// An ApprovalRequirement says whether what a run would change waits for an Approval.
// +kubebuilder:validation:Enum=Required;NotRequired
type ApprovalRequirement string

// Requirements of an approval.
const (
	// ApprovalRequired runs apply only what was approved.
	ApprovalRequired ApprovalRequirement = "Required"
	// ApprovalNotRequired runs need no approval, unless their configuration requires one.
	ApprovalNotRequired ApprovalRequirement = "NotRequired"
)

// An ApprovalDecision is what was decided.
// +kubebuilder:validation:Enum=Approve;Reject
type ApprovalDecision string

// Decisions.
const (
	// DecisionApprove lets what was checked be applied.
	DecisionApprove ApprovalDecision = "Approve"
	// DecisionReject says that what was checked is not to be applied.
	DecisionReject ApprovalDecision = "Reject"
)

// An ApprovalSpec says what was decided about one check of one AnsibleRun.
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="an Approval is not changed: make another one"
type ApprovalSpec struct {
	// RunRef names the AnsibleRun: that of the same API group, in the namespace of the Approval.
	RunRef RunReference `json:"runRef"`

	// Digest is status.atProvider.approval.digest of the AnsibleRun. It stands for the inputs, the
	// content and what the check has predicted.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{32}$`
	Digest string `json:"digest"`

	// Decision is Approve or Reject.
	Decision ApprovalDecision `json:"decision"`

	// Reason of the decision, in words.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// By is the name of the user that decides. Without an admission policy that compares it, it is
	// whatever the user wrote.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	By string `json:"by"`
}

// A RunReference names an AnsibleRun.
type RunReference struct {
	// Name of the AnsibleRun.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// +kubebuilder:object:generate=false

// An Approval is an Approval of either group.
type Approval interface {
	resource.Object

	// Decided is what the Approval says.
	Decided() *ApprovalSpec
}

// An ApprovalState says how far an approval has come.
// +kubebuilder:validation:Enum=Awaiting;Approved;Rejected;Applied
type ApprovalState string

// States of an approval.
const (
	// ApprovalAwaiting means that nothing was decided.
	ApprovalAwaiting ApprovalState = "Awaiting"
	// ApprovalApproved means that what was checked is being applied, or is about to be.
	ApprovalApproved ApprovalState = "Approved"
	// ApprovalRejected means that nothing is applied.
	ApprovalRejected ApprovalState = "Rejected"
	// ApprovalApplied means that what was checked was applied. The approval is used up.
	ApprovalApplied ApprovalState = "Applied"
)

// An ApprovalObservation is what is known of the approval of a check.
type ApprovalObservation struct {
	// Digest that an Approval has to name.
	Digest string `json:"digest"`

	// State of the approval.
	State ApprovalState `json:"state"`

	// CheckID is the id of the first check that predicted this.
	CheckID string `json:"checkID"`

	// Unchecked says why the content could not be checked, by the reason of the run.
	// +optional
	Unchecked string `json:"unchecked,omitempty"`

	// Time at which the check ended.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// Approval is the name of the Approval that decided.
	// +optional
	Approval string `json:"approval,omitempty"`

	// By is the user that decided.
	// +optional
	By string `json:"by,omitempty"`

	// Reason of the decision.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// TypeApproved says whether what a run would change was approved. Only objects have it if
// their changes have to be.
const TypeApproved xpv2.ConditionType = "Approved"

// Reasons of TypeApproved. The first two are also those of the conditions Ready and Deletable.
const (
	// ReasonAwaitingApproval means that nothing was decided yet.
	ReasonAwaitingApproval xpv2.ConditionReason = "AwaitingApproval"
	// ReasonRejected means that it was rejected.
	ReasonRejected xpv2.ConditionReason = "Rejected"
	// ReasonApproved means that it was approved.
	ReasonApproved xpv2.ConditionReason = "Approved"
	// ReasonNothingToApprove means that there is nothing to be approved.
	ReasonNothingToApprove xpv2.ConditionReason = "NothingToApprove"
)

// Unapproved indicates that what a run would change is not approved, in a condition of the given
// type.
func Unapproved(t xpv2.ConditionType, r xpv2.ConditionReason, message string) xpv2.Condition {
	return condition(t, corev1.ConditionFalse, r, message)
}

// Approved indicates that nothing waits for an approval.
func Approved(r xpv2.ConditionReason, message string) xpv2.Condition {
	return condition(TypeApproved, corev1.ConditionTrue, r, message)
}
