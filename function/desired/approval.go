package desired

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// unapproved is AwaitingApproval or Rejected if a condition of an AnsibleRun has that reason, and
// empty otherwise.
func unapproved(observed map[string]any, t xpv2.ConditionType) Reason {
	switch r := falseReason(observed, t); r {
	case common.ReasonAwaitingApproval, common.ReasonRejected:
		return Reason(r)
	}

	return ""
}

// waitsForWindow is true if a condition of an AnsibleRun says so.
func waitsForWindow(observed map[string]any, t xpv2.ConditionType) bool {
	return falseReason(observed, t) == common.ReasonWaitingForWindow
}

// falseReason is the reason of a condition of an AnsibleRun that is false now; empty if it is not.
func falseReason(observed map[string]any, t xpv2.ConditionType) xpv2.ConditionReason {
	c := manifest.Condition(observed, string(t))
	if c == nil || !manifest.IsCurrent(observed, c) || manifest.Text(c, "status") != ansiblerun.ConditionFalse {
		return ""
	}

	return xpv2.ConditionReason(manifest.Text(c, "reason"))
}

// windowMessages say until when a run waits.
func windowMessages(observed map[string]any, t xpv2.ConditionType) []string {
	_, message := ansiblerun.Condition(observed, string(t))

	return []string{oneLine(message)}
}

// approvalMessages returns the message of the condition Approved: what awaits an approval, or what was rejected.
func approvalMessages(observed map[string]any) []string {
	_, message := ansiblerun.Condition(observed, string(common.TypeApproved))

	return []string{oneLine(message)}
}
