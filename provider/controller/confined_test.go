package controller

import (
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// TestShowConfined tests that the condition is set while the last run in the provider was not confined.
func TestShowConfined(t *testing.T) {
	run := object()

	for _, tc := range []struct {
		reason string
		last   *common.Run
		// want is a part of the message; empty for no condition.
		want string
	}{
		{"Before the first run, there is no condition.", nil, ""},
		{"A run that Landlock confines has no condition.", &common.Run{Confinement: &common.RunConfinement{Landlock: 1}}, ""},
		{"A run without Landlock has the condition.", &common.Run{Confinement: &common.RunConfinement{Seccomp: true}}, "system calls are filtered"},
		{"The condition stays until the next run has begun.", &common.Run{}, "system calls are filtered"},
		{"The message includes seccomp.", &common.Run{Confinement: &common.RunConfinement{}}, "system calls are not filtered"},
		{"A Pod isolates a run by itself.", &common.Run{Confinement: &common.RunConfinement{}, Pod: &common.PodReference{}}, ""},
	} {
		run.Status.AtProvider.LastRun = tc.last
		showConfined(run)

		if got := run.GetCondition(common.TypeConfined).Message; (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, got)
		}

		if has := slices.ContainsFunc(run.Status.Conditions, func(c xpv2.Condition) bool { return c.Type == common.TypeConfined }); has != (tc.want != "") {
			t.Errorf("%s\nThe condition is there: %t", tc.reason, has)
		}
	}
}
