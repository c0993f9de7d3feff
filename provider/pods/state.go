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

// What a Pod shows of its run. None of these functions has effects.

// isOver is true for a Pod of which nothing works any more.
func isOver(p *corev1.Pod) bool { return stopped(p) || neverStarts(p) }

// maxMessage is the length of what Kubernetes says that is shown in a status, in bytes.
const maxMessage = 1 << 10

// runContainer in the Pod; nil while the node has not reported it.
func runContainer(p *corev1.Pod) *corev1.ContainerStatus {
	i := slices.IndexFunc(p.Status.ContainerStatuses,
		func(c corev1.ContainerStatus) bool { return c.Name == containerRun })
	if i < 0 {
		return nil
	}

	return &p.Status.ContainerStatuses[i]
}

// started is true once the container of the run has started. Then it has a log.
func started(p *corev1.Pod) bool {
	c := runContainer(p)

	return c != nil && (c.State.Running != nil || c.State.Terminated != nil && hasStarted(c.State.Terminated))
}

// hasStarted is false for a container that its runtime could not start. The kubelet says of it
// that it started at the Unix epoch.
func hasStarted(t *corev1.ContainerStateTerminated) bool {
	return !t.StartedAt.IsZero() && t.StartedAt.Unix() > 0
}

// stopped is true once nothing of the run works any more. Another container may go on.
func stopped(p *corev1.Pod) bool {
	c := runContainer(p)
	ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed

	return c != nil && c.State.Terminated != nil || ended && !orphaned(p)
}

// orphaned is true for a Pod that the cluster calls failed since its node is gone. What it had begun may go on there.
func orphaned(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == "DeletionByPodGC"
	})
}

// neverStarts is true for a Pod that is deleted before it has a node: only a finalizer keeps it.
func neverStarts(p *corev1.Pod) bool { return p.DeletionTimestamp != nil && p.Spec.NodeName == "" }

// finishedAt is when the container of the run has ended, or now if its node has not said so.
func finishedAt(p *corev1.Pod) time.Time {
	if c := runContainer(p); c != nil && c.State.Terminated != nil && hasStarted(c.State.Terminated) {
		return c.State.Terminated.FinishedAt.Time
	}

	return time.Now()
}

// succeeded is true if the container of the run has succeeded: its last report is in the log.
func succeeded(p *corev1.Pod) bool {
	c := runContainer(p)

	return c != nil && c.State.Terminated != nil && c.State.Terminated.ExitCode == 0
}

// installing is true while the content of the run is installed.
func installing(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.InitContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == containerInstall && c.State.Running != nil
	})
}

// waitsFor says what a run that has not started waits for, with what events say, if they do. Stuck is true when that
// does not pass without a change of the configuration, as far as one can tell.
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

// ending says what keeps a run in progress from its end, or its end from being seen; empty if nothing does.
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

// isSilent is true for a run in progress on a node of which nothing is known. Of its Pod the
// cluster changes the condition Ready, and nothing else of what the node has said last.
func isSilent(p *corev1.Pod) bool {
	c := runContainer(p)
	if c == nil || c.State.Running == nil {
		return false
	}

	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse && c.Reason == ""
	})
}

// An end says how a run without a known last report ended.
type end struct {
	phase   common.RunPhase
	reason  string
	message string
	// blameless is true when neither content nor inputs made the run end.
	blameless bool
}

// interrupted is the end of a run that something else has ended.
func interrupted(message string) end {
	return end{common.PhaseInterrupted, runs.ReasonPodEnded, message, true}
}

// endOf a run that is over and has sent no last report, by how its Pod was seen last. Limit says how long the run may
// take.
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
