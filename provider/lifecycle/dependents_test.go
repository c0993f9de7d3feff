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
		"Ended":    {"The dependents at the end of a run are watched.", kinds(known), common.StatePresent, runs.Report{Dependents: kinds(secrets), Kinds: kinds(configMaps)}, kinds(secrets)},
		"None":     {"A run may leave no dependents.", kinds(known), common.StatePresent, runs.Report{Dependents: []common.DependentKind{}}, []common.DependentKind{}},
		"Progress": {"Kinds of a run in progress are added.", kinds(known), common.StatePresent, runs.Report{Kinds: kinds(configMaps, secrets)}, kinds(known, secrets)},
		"State":    {"The state of kinds of a run in progress is not known.", nil, common.StatePresent, runs.Report{Kinds: kinds(known)}, kinds(configMaps)},
		"Many":     {"The number of dependents is limited.", many, common.StatePresent, runs.Report{Kinds: kinds(secrets)}, many},
		"Unknown":  {"A report without dependents does not change them.", kinds(known), common.StatePresent, runs.Report{}, kinds(known)},
		"Absent":   {"Dependents of a run with state absent are not recorded.", kinds(known), common.StateAbsent, runs.Report{Kinds: kinds(secrets)}, kinds(known)},
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
