package lifecycle

import (
	"testing"
	"time"

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
