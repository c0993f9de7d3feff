package lifecycle

import (
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
)

// TestShowApproved has an object that needs no approval, and so no condition.
func TestShowApproved(t *testing.T) {
	var none xpv2.ConditionedStatus

	if c, shown := ShowApproved(Situation{}, none.GetCondition(common.TypeApproved)); shown {
		t.Errorf("want no condition, got %v", c)
	}
}

// TestFollows has two decisions in an unknown order.
func TestFollows(t *testing.T) {
	rejection, approval := &v1alpha1.Approval{}, &v1alpha1.Approval{Spec: common.ApprovalSpec{Decision: common.DecisionApprove}}
	rejection.SetResourceVersion("x")
	approval.SetResourceVersion("9")

	if !follows(rejection, approval) || follows(approval, rejection) {
		t.Error("A rejection should count.")
	}
}

func TestSeal(t *testing.T) {
	if got := seal([]byte("key"), []byte("text")); got != "003593dde6d175e41655a7c5ecba9c19" {
		t.Errorf("An approval from before an upgrade should stay valid, got %s", got)
	}
}

// guarded makes an object require approvals. now is the digest of its labels and annotations. It differs from "a" if
// they have changed since the last check.
func guarded(now string) option {
	return func(s *Situation) {
		s.Approvals.Required, s.Approvals.Metadata, s.Least = true, now, 10*time.Second
		s.Recorded.LastRun.MetadataDigest = "a"
	}
}

// checkedDeletion is a deleted object with a check of its deletion as the last run.
func checkedDeletion(s *Situation) { s.Deleted, s.Recorded.LastRun.State = true, common.StateAbsent }
