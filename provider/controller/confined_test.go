package controller

import (
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// TestShowConfined has the condition while the last run in the provider was not confined, and no longer.
func TestShowConfined(t *testing.T) {
	run := object()

	for _, tc := range []struct {
		reason string
		last   *common.Run
		// want is a part of the message; empty where there is no condition.
		want string
	}{
		{"Nothing is known before the first run.", nil, ""},
		{"A run that Landlock confines needs none.", &common.Run{Confinement: &common.RunConfinement{Landlock: 1}}, ""},
		{"One that it does not confine says so.", &common.Run{Confinement: &common.RunConfinement{Seccomp: true}}, "system calls are filtered"},
		{"It stays while the next run has not begun.", &common.Run{}, "system calls are filtered"},
		{"It says what seccomp does, too.", &common.Run{Confinement: &common.RunConfinement{}}, "system calls are not filtered"},
		{"A Pod keeps a run from others.", &common.Run{Confinement: &common.RunConfinement{}, Pod: &common.PodReference{}}, ""},
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
