package common

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
)

// KindApproval is the kind of an Approval in both groups.
const KindApproval = "Approval"

// An ApprovalRequirement says whether the changes of a run wait for an Approval.
// +kubebuilder:validation:Enum=Required;NotRequired
type ApprovalRequirement string

// Requirements of an approval.
const (
	// ApprovalRequired runs apply only changes that were approved.
	ApprovalRequired ApprovalRequirement = "Required"
	// ApprovalNotRequired runs need no approval, unless their configuration requires one.
	ApprovalNotRequired ApprovalRequirement = "NotRequired"
)

// An ApprovalDecision is the decision of an Approval.
// +kubebuilder:validation:Enum=Approve;Reject
type ApprovalDecision string

// Decisions.
const (
	// DecisionApprove lets the checked changes be applied.
	DecisionApprove ApprovalDecision = "Approve"
	// DecisionReject forbids the checked changes.
	DecisionReject ApprovalDecision = "Reject"
)

// An ApprovalSpec is a decision about one check of one AnsibleRun.
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="an Approval is not changed: make another one"
type ApprovalSpec struct {
	// RunRef names an AnsibleRun of the same API group, in the namespace of the Approval.
	RunRef RunReference `json:"runRef"`

	// Digest is status.atProvider.approval.digest of the AnsibleRun. It identifies the inputs, the content and the changes
	// that the check has predicted.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{32}$`
	Digest string `json:"digest"`

	// Decision is Approve or Reject.
	Decision ApprovalDecision `json:"decision"`

	// Reason of the decision, in words.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// By is the name of the user that decides. Without an admission policy that compares it with the user of the request,
	// it is a claim.
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

	// Decided returns the spec with the decision.
	Decided() *ApprovalSpec
}

// An ApprovalState says how far an approval has come.
// +kubebuilder:validation:Enum=Awaiting;Approved;Rejected;Applied
type ApprovalState string

// States of an approval.
const (
	// ApprovalAwaiting means that there is no decision yet.
	ApprovalAwaiting ApprovalState = "Awaiting"
	// ApprovalApproved means that the checked changes are being applied, or are about to be.
	ApprovalApproved ApprovalState = "Approved"
	// ApprovalRejected means that the changes are not applied.
	ApprovalRejected ApprovalState = "Rejected"
	// ApprovalApplied means that the checked changes were applied. The approval is used up.
	ApprovalApplied ApprovalState = "Applied"
)

// An ApprovalObservation is the observed state of the approval of a check.
type ApprovalObservation struct {
	// Digest that an Approval has to name.
	Digest string `json:"digest"`

	// State of the approval.
	State ApprovalState `json:"state"`

	// CheckID is the id of the first check that predicted these changes.
	CheckID string `json:"checkID"`

	// Unchecked is the reason of the check run, if that could not check the content.
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

// TypeApproved says whether the changes of a run were approved. Only objects that require approvals have it.
const TypeApproved xpv2.ConditionType = "Approved"

// Reasons of TypeApproved. The first two are also those of the conditions Ready and Deletable.
const (
	// ReasonAwaitingApproval means that there is no decision yet.
	ReasonAwaitingApproval xpv2.ConditionReason = "AwaitingApproval"
	// ReasonRejected means that the changes were rejected.
	ReasonRejected xpv2.ConditionReason = "Rejected"
	// ReasonApproved means that the changes were approved.
	ReasonApproved xpv2.ConditionReason = "Approved"
	// ReasonNothingToApprove means that there are no changes to approve.
	ReasonNothingToApprove xpv2.ConditionReason = "NothingToApprove"
)

// Unapproved indicates that the changes of a run are not approved, in a condition of the given type.
func Unapproved(t xpv2.ConditionType, r xpv2.ConditionReason, message string) xpv2.Condition {
	return condition(t, corev1.ConditionFalse, r, message)
}

// Approved indicates that no change waits for an approval.
func Approved(r xpv2.ConditionReason, message string) xpv2.Condition {
	return condition(TypeApproved, corev1.ConditionTrue, r, message)
}
