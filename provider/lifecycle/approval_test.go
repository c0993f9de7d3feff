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

// TestFollows orders decisions as the API server has taken them.
func TestFollows(t *testing.T) {
	cases := map[string]struct {
		reason   string
		v, other Verdict
	}{
		"Later":   {reason: "A later time counts.", v: Verdict{Time: t0.Add(time.Second), Version: "1", Approve: true}, other: Verdict{Time: t0, Version: "2"}},
		"Version": {reason: "In the same second the version counts.", v: Verdict{Time: t0, Version: "10", Approve: true}, other: Verdict{Time: t0, Version: "9"}},
		"Unknown": {reason: "If nobody can tell, a rejection counts.", v: Verdict{Time: t0, Version: "x"}, other: Verdict{Time: t0, Version: "9", Approve: true}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if !tc.v.follows(tc.other) || tc.other.follows(tc.v) {
				t.Errorf("%s\nfollows(...): got %t, and %t the other way round", tc.reason, tc.v.follows(tc.other), tc.other.follows(tc.v))
			}
		})
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
	checks := func(state common.RunState, t common.RunTrigger) *Start {
		return &Start{Mode: common.ModeCheck, State: state, Trigger: t, Attempt: 1}
	}

	cases := map[string]struct {
		reason string
		s      Situation
		want   Decision
	}{
		"Current": {
			reason: "What has not changed should await its approval.",
			s:      given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), guarded("a")),
			want:   Decision{Exists: true, Until: t0.Add(10 * time.Minute)},
		},
		"Changed": {
			reason: "What has changed should be checked.",
			s:      given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), guarded("b")),
			want:   Decision{Exists: true, Start: checks(common.StatePresent, common.TriggerChanged)},
		},
		"Unchecked": {
			reason: "So should what a check could not tell.",
			s:      given(applied(digestA), lastChecked(digestA, common.PhaseFailed, 0), guarded("b")),
			want:   Decision{Exists: true, Start: checks(common.StatePresent, common.TriggerChanged)},
		},
		"Clean": {
			reason: "Where nothing awaits approval, labels and annotations should start nothing.",
			s:      given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 0), guarded("b")),
			want:   Decision{Exists: true, Until: t0.Add(10 * time.Minute)},
		},
		"AllTheTime": {
			reason: "What changes all the time should not be checked all the time.",
			s:      given(lastChecked(digestA, common.PhaseSucceeded, 1), guarded("b"), later(time.Second)),
			want:   Decision{Exists: true, Until: t0.Add(least)},
		},
		"Deleted": {
			reason: "Of a deletion the same is true.",
			s:      given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), guarded("b"), absent),
			want:   Decision{Exists: true, Start: checks(common.StateAbsent, common.TriggerDeleted)},
		},
		"DeletedAllTheTime": {
			reason: "Nor should it be checked all the time.",
			s:      given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), guarded("b"), absent, later(time.Second)),
			want:   Decision{Exists: true, Until: t0.Add(least)},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Decide(tc.s)); diff != "" {
				t.Errorf("\n%s\nDecide(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
