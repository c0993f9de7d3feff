package tree

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// Decidable is true for an AnsibleRun that a decision can be about: one that awaits approval, and one with the
// opposite decision.
func (n *Node) Decidable(d common.ApprovalDecision) bool {
	switch n.Approval.State {
	case common.ApprovalAwaiting:
		return true
	case common.ApprovalRejected:
		return d == common.DecisionApprove
	case common.ApprovalApproved:
		return d == common.DecisionReject
	case common.ApprovalApplied:
	}

	return false
}

// unapproved is true if conditions say that something awaits approval, or was rejected.
func (cs conditions) unapproved() bool {
	return cs.of(common.TypeApproved).Status == corev1.ConditionFalse
}
