package common

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
)

// ProviderVariable is the variable in which content finds what the provider tells it, the state among it.
const ProviderVariable = "ansible_provider_meta"

// TypeStateAware says whether content does something else when its object is deleted. Only objects have it if
// their content does not.
const TypeStateAware xpv2.ConditionType = "StateAware"

// Reasons of TypeStateAware.
const (
	// ReasonStateIgnored means that the content does not look at the state. It is also the reason of a deletion run.
	ReasonStateIgnored xpv2.ConditionReason = "StateIgnored"
	// ReasonMayUseState means that the content may look at the state.
	ReasonMayUseState xpv2.ConditionReason = "MayUseState"
)

// IgnoresState says why content is known not to look at the state, given the variable that is to have it besides; nil
// for none.
func IgnoresState(v *StateVariable) string {
	if v == nil {
		return ProviderVariable + " does not occur in the playbooks, roles and variables"
	}

	return "neither " + ProviderVariable + " nor " + v.Name + " occurs in the playbooks, roles and variables"
}

// StateIgnored indicates that content does the same whatever the state is.
func StateIgnored(v *StateVariable) xpv2.Condition {
	return xpv2.Condition{
		Type: TypeStateAware, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now(), Reason: ReasonStateIgnored,
		Message: IgnoresState(v) + ", so that deletion would apply them once more: have them look at the state, or take " +
			"Delete out of spec.managementPolicies: " + WithoutDelete,
	}
}

// MayUseState indicates that content may do something else when its object is deleted.
func MayUseState() xpv2.Condition {
	return xpv2.Condition{
		Type: TypeStateAware, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(), Reason: ReasonMayUseState,
	}
}
