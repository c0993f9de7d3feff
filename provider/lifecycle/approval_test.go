package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// TestShowApproved: what needs no approval has no condition about it.
func TestShowApproved(t *testing.T) {
	var none xpv2.ConditionedStatus

	if c, shown := ShowApproved(Situation{}, none.GetCondition(common.TypeApproved)); shown {
		t.Errorf("want no condition, got %v", c)
	}
}

// TestFollows has two decisions of which it is unknown which was first.
func TestFollows(t *testing.T) {
	rejection, approval := Verdict{Time: t0, Version: "x"}, Verdict{Time: t0, Version: "9", Approve: true}

	if !rejection.follows(approval) || approval.follows(rejection) {
		t.Error("A rejection should count.")
	}
}

// TestDecideOutdated: what awaits approval is checked again when labels or annotations have changed.
func TestDecideOutdated(t *testing.T) {
	const least = 10 * time.Second

	guarded := func(now string) option {
		return func(s *Situation) {
			s.Approvals.Required, s.Approvals.Metadata, s.Least = true, now, least
			s.Recorded.LastRun.MetadataDigest = "a"
		}
	}
	absent := func(s *Situation) { s.Deleted, s.Recorded.LastRun.State = true, common.StateAbsent }

	for name, tc := range map[string]struct {
		reason string
		s      Situation
		want   string
	}{
		"Current":           {"What has not changed should await its approval.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), guarded("a")), "until 10m0s"},
		"Changed":           {"What has changed should be checked.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), guarded("b")), "check Changed"},
		"Unchecked":         {"So should what a check could not tell.", given(applied(digestA), lastChecked(digestA, common.PhaseFailed, 0), guarded("b")), "check Changed"},
		"Clean":             {"Where nothing awaits approval, labels and annotations should start nothing.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 0), guarded("b")), "until 10m0s"},
		"AllTheTime":        {"What changes all the time should not be checked all the time.", given(lastChecked(digestA, common.PhaseSucceeded, 1), guarded("b"), later(time.Second)), "until 10s"},
		"Deleted":           {"Of a deletion the same is true.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), guarded("b"), absent), "check absent Deleted"},
		"DeletedAllTheTime": {"Nor should it be checked all the time.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), guarded("b"), absent, later(time.Second)), "until 10s"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tell(Decide(tc.s))); diff != "" {
				t.Errorf("\n%s\nDecide(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
