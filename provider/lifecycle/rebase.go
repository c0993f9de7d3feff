package lifecycle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// Rebase returns the observation with digests in the current schema, so that an upgrade of
// the provider runs nothing. Digests of the same inputs in the former schema are replaced.
// Digests of a lost key or of an older schema cannot be compared: then an object whose
// generation was applied counts as applied, and a failed one keeps its attempts.
func Rebase(s Situation, ready xpv2.Condition) common.AnsibleRunObservation {
	o := withoutFormer(s)
	if ready.ObservedGeneration != s.Generation {
		return o
	}

	applied := ready.Status == corev1.ConditionTrue
	if applied && o.AppliedDigest != "" && !known(s, o.AppliedDigest) {
		o.AppliedDigest = s.Digest
	}

	a := o.LastApply
	if a == nil || a.State != common.StatePresent || known(s, a.InputsDigest) {
		return o
	}

	if applied || common.Failed(ready) {
		a = a.DeepCopy()
		a.InputsDigest = s.Digest
		o.LastApply = a
	}

	return o
}

// withoutFormer returns the observation in which the current digest replaces the former one.
func withoutFormer(s Situation) common.AnsibleRunObservation {
	o := s.Recorded
	if s.Former == "" {
		return o
	}

	if o.AppliedDigest == s.Former {
		o.AppliedDigest = s.Digest
	}

	if a := o.LastApply; a != nil && a.InputsDigest == s.Former {
		o.LastApply = a.DeepCopy()
		o.LastApply.InputsDigest = s.Digest
	}

	if r := o.LastRun; r != nil && r.InputsDigest == s.Former {
		o.LastRun = r.DeepCopy()
		o.LastRun.InputsDigest = s.Digest
	}

	return o
}

// Predates is true for an observation with a digest of another schema or key.
func Predates(o common.AnsibleRunObservation, digest string) bool {
	recorded := []string{o.AppliedDigest}
	if o.LastApply != nil {
		recorded = append(recorded, o.LastApply.InputsDigest)
	}

	if o.LastRun != nil {
		recorded = append(recorded, o.LastRun.InputsDigest)
	}

	return slices.ContainsFunc(recorded, func(d string) bool { return d != "" && !inputs.Comparable(d, digest) })
}

// known is true for a digest that says whether the inputs have changed.
func known(s Situation, digest string) bool {
	return inputs.Comparable(digest, s.Digest) || inputs.Comparable(digest, s.Former)
}
