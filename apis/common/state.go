package common

import (
	corev1 "k8s.io/api/core/v1"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
)

// ProviderVariable is the variable that tells content about its AnsibleRun and the state to establish.
const ProviderVariable = "ansible_provider_meta"

// TypeStateAware says whether content acts differently when its object is deleted. Objects get the condition once their
// content does not.
const TypeStateAware xpv2.ConditionType = "StateAware"

// Reasons of TypeStateAware.
const (
	// ReasonStateIgnored means that the content does not use the state. It is also the reason of a deletion run that
	// therefore runs nothing.
	ReasonStateIgnored xpv2.ConditionReason = "StateIgnored"
	// ReasonMayUseState means that the content may use the state.
	ReasonMayUseState xpv2.ConditionReason = "MayUseState"
)

// Replaces is true when deletion runs other content than the object does.
func (o *OnDelete) Replaces() bool {
	return o != nil &&
		(o.Role != "" || o.Roles != nil || o.Playbook != "" || len(o.Playbooks) > 0 || o.PlaybookInline != "")
}

// Keeps is true when deletion runs nothing, so that everything that the object has made stays.
func (o *OnDelete) Keeps() bool { return o != nil && o.Policy == DeleteKeep }

// ForDeletion returns the parameters of the deletion run.
func (p *AnsibleRunParameters) ForDeletion() AnsibleRunParameters {
	d, o := *p.DeepCopy(), p.OnDelete.DeepCopy()
	d.Tags, d.SkipTags = nil, nil

	if o == nil {
		return d
	}

	d.Tags, d.SkipTags = o.Tags, o.SkipTags

	if o.Replaces() {
		d.Role, d.Roles, d.Playbook, d.Playbooks, d.PlaybookInline = o.Role, o.Roles, o.Playbook, o.Playbooks,
			o.PlaybookInline
	}

	return d
}

// IgnoresState says why content is known not to use the state. The state variable is nil if the object has none.
func IgnoresState(v *StateVariable) string {
	if v == nil {
		return ProviderVariable + " does not occur in the playbooks, roles and variables"
	}

	return "neither " + ProviderVariable + " nor " + v.Name + " occurs in the playbooks, roles and variables"
}

// StateIgnored indicates that content acts the same in either state, so that deletion does not run it.
func StateIgnored(v *StateVariable) xpv2.Condition {
	return condition(TypeStateAware, corev1.ConditionFalse, ReasonStateIgnored,
		IgnoresState(v)+", so that deletion runs nothing, and what was made stays: have them look at the state, "+
			"or say in spec.forProvider.onDelete what deletion does")
}

// MayUseState indicates that content may act differently when its object is deleted.
func MayUseState() xpv2.Condition {
	return condition(TypeStateAware, corev1.ConditionTrue, ReasonMayUseState, "")
}
