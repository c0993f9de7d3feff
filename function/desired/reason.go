package desired

import (
	"cmp"
	"slices"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/observed"
)

// reasonOf returns the state of a rendered AnsibleRun, and messages about it. Messages have no times or counters, so
// that they change only with the state.
func reasonOf(was observed.Resource, rendered map[string]any) (Reason, []string) {
	observed := was.Object
	// Creation, update and run of an AnsibleRun share one message: each change of a condition makes core compose the XR
	// once more.
	const running = "is running"

	switch {
	case observed == nil:
		return Running, []string{running}
	case manifest.IsDeleted(observed):
		if c := ansiblerun.Condition(observed, common.TypeDeletable); held(c) {
			return Reason(c.Reason), []string{c.Message}
		}

		return Deleting, []string{ansiblerun.Deleting(observed)}
	case !ansiblerun.IsApplied(observed, was.Applied, rendered):
		return Running, []string{running}
	case ansiblerun.IsReady(observed):
		return Ready, nil
	}

	ready := ansiblerun.Condition(observed, ansiblerun.ConditionReady)
	synced := ansiblerun.Condition(observed, ansiblerun.ConditionSynced)
	run, _ := manifest.Nested(observed, "status", "atProvider", "lastRun").(map[string]any)
	phase := common.RunPhase(manifest.Text(run, "phase"))

	switch {
	case held(ready):
		return Reason(ready.Reason), []string{ready.Message}
	case common.Failed(ready): // This includes failed runs that are retried.
		return RunFailed, []string{cmp.Or(ready.Message, "failed")}
	case phase.Finished() && phase != common.PhaseSucceeded &&
		!common.FailedBefore(ready, common.RunMode(manifest.Text(run, "mode"))) &&
		(synced.Status == ansiblerun.ConditionFalse || ready.Status == ansiblerun.ConditionFalse):
		return RunFailed, []string{cmp.Or(ansiblerun.OneLine(manifest.Text(run, "message")), "failed")}
	case synced.Reason == xpv2.ReasonReconcilePaused:
		return Paused, []string{"is paused"}
	case synced.Status == ansiblerun.ConditionFalse:
		return ReconcileError, []string{synced.Message}
	}

	return Running, []string{running}
}

// held is true for a condition of an AnsibleRun that waits for an approval or a window, or was rejected.
func held(c xpv2.Condition) bool {
	return c.Status == ansiblerun.ConditionFalse &&
		slices.Contains([]Reason{AwaitingApproval, Rejected, WaitingForWindow}, Reason(c.Reason))
}
