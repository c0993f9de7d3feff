package lifecycle

import (
	corev1 "k8s.io/api/core/v1"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// Rebase returns the observation with comparable digests, so that an upgrade of the provider does not start runs.
// Digests with a lost key or of another schema cannot be compared: then an object with an applied generation counts as
// applied, and a failed object keeps its attempts.
func Rebase(s Situation, ready xpv2.Condition) common.AnsibleRunObservation {
	o := s.Recorded
	if ready.ObservedGeneration != s.Generation {
		return o
	}

	applied := ready.Status == corev1.ConditionTrue
	if applied && o.AppliedDigest != "" && !inputs.Comparable(o.AppliedDigest, s.Digest) {
		o.AppliedDigest = s.Digest
	}

	a := o.LastApply
	if a == nil || a.State != common.StatePresent || inputs.Comparable(a.InputsDigest, s.Digest) {
		return o
	}

	if applied || common.Failed(ready) {
		a = a.DeepCopy()
		a.InputsDigest = s.Digest
		o.LastApply = a
	}

	return o
}
