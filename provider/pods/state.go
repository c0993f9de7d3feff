package pods

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// Functions on the state of a Pod, without side effects.

// isOver is true for a Pod in which the run does not execute and will not start.
func isOver(p *corev1.Pod) bool { return stopped(p) || neverStarts(p) }

// maxMessage is the largest length of a message of Kubernetes in a status, in bytes.
const maxMessage = 1 << 10

// runContainer returns the status of the container of the run; nil before the kubelet has reported it.
func runContainer(p *corev1.Pod) *corev1.ContainerStatus {
	i := slices.IndexFunc(p.Status.ContainerStatuses,
		func(c corev1.ContainerStatus) bool { return c.Name == containerRun })
	if i < 0 {
		return nil
	}

	return &p.Status.ContainerStatuses[i]
}

// started is true once the container of the run has started, so that it has a log.
func started(p *corev1.Pod) bool {
	c := runContainer(p)

	return c != nil && (c.State.Running != nil || c.State.Terminated != nil && hasStarted(c.State.Terminated))
}

// hasStarted is false for a container that its runtime could not start. The kubelet reports the Unix epoch as the start
// of such a container.
func hasStarted(t *corev1.ContainerStateTerminated) bool {
	return !t.StartedAt.IsZero() && t.StartedAt.Unix() > 0
}

// stopped is true once the container of the run has ended. Other containers may go on.
func stopped(p *corev1.Pod) bool {
	c := runContainer(p)
	ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed

	return c != nil && c.State.Terminated != nil || ended && !orphaned(p)
}

// orphaned is true for a Pod with the phase Failed because its node is gone. Its containers may still run there.
func orphaned(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == "DeletionByPodGC"
	})
}

// neverStarts is true for a Pod that was deleted before it had a node, and that only a finalizer keeps.
func neverStarts(p *corev1.Pod) bool { return p.DeletionTimestamp != nil && p.Spec.NodeName == "" }

// finishedAt returns the end of the container of the run; now if the kubelet has not reported it.
func finishedAt(p *corev1.Pod) time.Time {
	if c := runContainer(p); c != nil && c.State.Terminated != nil && hasStarted(c.State.Terminated) {
		return c.State.Terminated.FinishedAt.Time
	}

	return time.Now()
}

// succeeded is true if the container of the run has succeeded. Then its log has the last report.
func succeeded(p *corev1.Pod) bool {
	c := runContainer(p)

	return c != nil && c.State.Terminated != nil && c.State.Terminated.ExitCode == 0
}

// installing is true while the container that installs content runs.
func installing(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.InitContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == containerInstall && c.State.Running != nil
	})
}

// waitsFor returns a message why a Pod has not started. trouble is a message from events, or empty. stuck is true if
// the cause probably needs a change of the configuration.
func waitsFor(p *corev1.Pod, trouble string) (message string, stuck bool) {
	says := func(message, why string) string {
		return strings.TrimSuffix(message+": "+clip.Text(why, maxMessage), ": ")
	}

	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		w := c.State.Waiting
		if w == nil || w.Reason == "" || w.Reason == "PodInitializing" || w.Reason == "ContainerCreating" {
			continue
		}

		return says(fmt.Sprintf("the container %s waits: %s", c.Name, w.Reason), w.Message),
			slices.Contains([]string{
				"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
				"RegistryUnavailable",
				"CreateContainerConfigError", "CreateContainerError", "RunContainerError",
			}, w.Reason)
	}

	if len(p.Spec.SchedulingGates) > 0 {
		return says("the Pod is held by the scheduling gate "+p.Spec.SchedulingGates[0].Name, trouble), false
	}

	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return says("the Pod waits for a node", c.Message), false
		}
	}

	if p.Spec.NodeName != "" {
		return says("the Pod starts on node "+p.Spec.NodeName, trouble), false
	}

	return "waiting for the Pod", false
}

// ending returns a message why a run in progress does not end, or why its end is not known; empty if it runs normally.
func ending(p *corev1.Pod) string {
	switch {
	case isSilent(p):
		return fmt.Sprintf(
			"the node %s of the Pod does not answer; the run goes on or ends when it is back, and ends when it is removed "+
				"from the cluster", p.Spec.NodeName)
	case !stopped(p) && p.DeletionTimestamp != nil:
		return fmt.Sprintf("the run ends when its Pod %s has ended on node %s", p.Name, p.Spec.NodeName)
	}

	return ""
}

// isSilent is true for a run in progress on a node that does not report. The node controller then sets the condition
// Ready of the Pod to False, and leaves the rest of the last status.
func isSilent(p *corev1.Pod) bool {
	c := runContainer(p)
	if c == nil || c.State.Running == nil {
		return false
	}

	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse && c.Reason == ""
	})
}

// An end is the result of a run without a last report.
type end struct {
	phase   common.RunPhase
	reason  string
	message string
	// blameless is true if neither the content nor the inputs have caused the end.
	blameless bool
}

// interrupted returns the end of a run that was interrupted from outside.
func interrupted(message string) end {
	return end{common.PhaseInterrupted, runs.ReasonPodEnded, message, true}
}

// endOf returns the end of a run without a last report, from the last state of its Pod. limit is the timeout of the run
// for a message.
func endOf(p *corev1.Pod, limit string) end {
	s := p.Status
	all := slices.Concat(s.InitContainerStatuses, s.ContainerStatuses)

	for _, c := range all {
		if t := c.State.Terminated; t != nil && t.Reason == "OOMKilled" {
			return end{
				common.PhaseFailed, runner.ReasonOutOfMemory,
				fmt.Sprintf("the container %s needed more memory than its limit; raise spec.execution.resources", c.Name), false,
			}
		}
	}

	switch {
	case s.Reason == "DeadlineExceeded":
		return end{
			common.PhaseTimedOut, runner.ReasonTimedOut,
			"the Pod took longer than the run, with a timeout of " + limit +
				", and the installation of its content may take", false,
		}
	case s.Reason != "":
		return interrupted("its Pod ended: " + strings.TrimSuffix(s.Reason+": "+clip.Text(s.Message, maxMessage), ": "))
	}

	for _, c := range s.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return interrupted("its Pod was disrupted: " + c.Reason + ": " + clip.Text(c.Message, maxMessage))
		}
	}

	if p.DeletionTimestamp != nil || !stopped(p) {
		return interrupted("its Pod was deleted")
	}

	for _, c := range all {
		t := c.State.Terminated
		if t == nil || t.ExitCode == 0 && c.Name != containerRun {
			continue
		}

		why := clip.Text(strings.TrimSpace(t.Message), maxMessage)
		if !hasStarted(t) {
			return end{
				common.PhaseFailed, common.ReasonPodNotStarted,
				fmt.Sprintf("the container %s could not be started: %s", c.Name, why), true,
			}
		}

		message := fmt.Sprintf("the container %s ended with exit code %d and without a report", c.Name, t.ExitCode)

		return end{common.PhaseFailed, common.ReasonInternal, strings.TrimSuffix(message+": "+why, ": "), true}
	}

	return interrupted("its Pod ended without a report")
}
