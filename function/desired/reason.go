package desired

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/observed"
)

const (
	// maxFailures is how many failures of a run are shown.
	maxFailures = 3
	// paused is the reason of the condition Synced of an AnsibleRun that is paused.
	paused = string(xpv2.ReasonReconcilePaused)
)

// reasonOf returns in which state a rendered AnsibleRun is, and messages about that. The
// messages have no times and no counters, so that they change only when something happens.
// While a failed run is tried again, the failure that was reported before is reported.
func reasonOf(was observed.Resource, rendered map[string]any, reported []string) (Reason, []string) {
	observed := was.Object
	// To create an AnsibleRun, to change it and to run it are one thing: a condition that told them apart would change
	// with each of them, and every change of an XR has it composed once more.
	running := []string{"is running"}

	switch {
	case observed == nil:
		return Running, running
	case manifest.IsDeleted(observed):
		if reason, messages := held(observed, common.TypeDeletable); reason != "" {
			return reason, messages
		}

		return Deleting, []string{ansiblerun.Deleting(observed)}
	case !ansiblerun.IsApplied(observed, was.Applied, rendered):
		return Running, running
	case ansiblerun.IsReady(observed):
		return Ready, nil
	}

	if reason, messages := held(observed, xpv2.TypeReady); reason != "" {
		return reason, messages
	}

	run, _ := manifest.Nested(observed, "status", "atProvider", "lastRun").(map[string]any)
	phase := common.RunPhase(manifest.Text(run, "phase"))

	synced, message := ansiblerun.Condition(observed, ansiblerun.ConditionSynced)
	ready, _ := ansiblerun.Condition(observed, ansiblerun.ConditionReady)

	switch {
	case phase.Finished() && phase != common.PhaseSucceeded &&
		(synced == ansiblerun.ConditionFalse || ready == ansiblerun.ConditionFalse):
		now := failures(phase, run)
		if slices.EqualFunc(now, reported, func(a, b string) bool { return common.Gist(a) == common.Gist(b) }) {
			now = reported // Random paths and times are no news.
		}

		return RunFailed, now
	case manifest.Text(manifest.Condition(observed, ansiblerun.ConditionSynced), "reason") == paused:
		return Paused, []string{"is paused"}
	case synced == ansiblerun.ConditionFalse:
		return ReconcileError, []string{oneLine(message)}
	case phase != "" && !phase.Finished() && manifest.Text(run, "trigger") == string(common.TriggerRetry):
		if len(reported) > 0 {
			return RunFailed, reported
		}

		return RunFailed, []string{"failed, and is running again"}
	}

	return Running, running
}

// held says for which decision or window an AnsibleRun waits, if one of its conditions does; the reason is empty if
// not.
func held(observed map[string]any, t xpv2.ConditionType) (Reason, []string) {
	status, message := ansiblerun.Condition(observed, string(t))
	reason := Reason(manifest.Text(manifest.Condition(observed, string(t)), "reason"))

	if status != ansiblerun.ConditionFalse ||
		!slices.Contains([]Reason{AwaitingApproval, Rejected, WaitingForWindow}, reason) {
		return "", nil
	}

	return reason, []string{oneLine(message)}
}

// failures returns messages about the failures of a run, in Ansible's words.
func failures(phase common.RunPhase, run map[string]any) []string {
	var r common.Run

	// A status that others have edited may lack anything.
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(run, &r)

	r.Phase, r.Message = phase, manifest.Text(run, "message")
	messages := r.WhyFailed(maxFailures)

	for i := range messages {
		messages[i] = oneLine(messages[i])
	}

	return messages
}

// oneLine joins the lines of a message.
func oneLine(message string) string {
	return strings.Join(strings.Fields(message), " ")
}
