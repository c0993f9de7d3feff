package lifecycle

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

func TestRecordDependents(t *testing.T) {
	secrets, known := common.DependentKind{Kind: "Secret"}, common.DependentKind{Kind: "ConfigMap", Digest: "d"}
	configMaps := common.DependentKind{Kind: "ConfigMap"}

	many := make([]common.DependentKind, common.MaxDependents)
	kinds := func(k ...common.DependentKind) []common.DependentKind { return k }

	for name, tc := range map[string]struct {
		reason string
		was    []common.DependentKind
		state  common.RunState
		report runs.Report
		want   []common.DependentKind
	}{
		"Ended":    {"What there is at the end of a run is what is watched.", kinds(known), common.StatePresent, runs.Report{Dependents: kinds(secrets), Kinds: kinds(configMaps)}, kinds(secrets)},
		"None":     {"There may be nothing left.", kinds(known), common.StatePresent, runs.Report{Dependents: []common.DependentKind{}}, []common.DependentKind{}},
		"Progress": {"What a run has made so far is known, beside what was known.", kinds(known), common.StatePresent, runs.Report{Kinds: kinds(configMaps, secrets)}, kinds(known, secrets)},
		"State":    {"Only at the end its state is known.", nil, common.StatePresent, runs.Report{Kinds: kinds(known)}, kinds(configMaps)},
		"Many":     {"There are no more than the status takes.", many, common.StatePresent, runs.Report{Kinds: kinds(secrets)}, many},
		"Unknown":  {"A run that says nothing changes nothing.", kinds(known), common.StatePresent, runs.Report{}, kinds(known)},
		"Absent":   {"What a run with state absent leaves is not watched.", kinds(known), common.StateAbsent, runs.Report{Kinds: kinds(secrets)}, kinds(known)},
	} {
		t.Run(name, func(t *testing.T) {
			o := &common.AnsibleRunObservation{Dependents: tc.was}
			tc.report.Run = common.Run{State: tc.state, Phase: common.PhaseRunning, Mode: common.ModeApply}
			Record(o, tc.report)

			if diff := cmp.Diff(tc.want, o.Dependents); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
