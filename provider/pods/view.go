package pods

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// maxMessage is the length of what Kubernetes says that is shown in a status, in bytes.
const maxMessage = 1 << 10

// A view is what the cluster shows of a run. Its functions have no effects.
type view struct {
	// job is nil when there is none.
	job *batchv1.Job
	// unproved is true for a Job that may be the run's or another one's: it is waited for, so that no
	// run begins beside it, and nothing else is done with it.
	unproved bool
	// pod of the run, see isRather; nil when there is none.
	pod *corev1.Pod
	// trouble is why the cluster makes no Pod for the Job, or does not start it; empty when that is
	// not known.
	trouble string
}

// gone is true when nothing is left of the run.
func (v view) gone() bool { return v.job == nil && v.pod == nil }

// container of the run in the Pod; nil while the node has not reported it.
func (v view) container() *corev1.ContainerStatus {
	if v.pod == nil {
		return nil
	}

	i := slices.IndexFunc(v.pod.Status.ContainerStatuses,
		func(c corev1.ContainerStatus) bool { return c.Name == containerRun })
	if i < 0 {
		return nil
	}

	return &v.pod.Status.ContainerStatuses[i]
}

// started is true once the container of the run has started. Then it has a log.
func (v view) started() bool {
	c := v.container()

	return c != nil && (c.State.Running != nil || c.State.Terminated != nil && hasStarted(c.State.Terminated))
}

// hasStarted is false for a container whose runtime could not start it. The kubelet gives it a
// time before all others.
func hasStarted(t *corev1.ContainerStateTerminated) bool {
	return !t.StartedAt.IsZero() && t.StartedAt.Unix() > 0
}

// stopped is true once nothing of the Pod runs any more.
func (v view) stopped() bool {
	if v.pod == nil {
		return true
	}

	if p := v.pod.Status.Phase; p == corev1.PodSucceeded || p == corev1.PodFailed {
		return true
	}

	c := v.container()

	return c != nil && c.State.Terminated != nil
}

// over is true once the run's Pod has stopped, and no other one follows.
func (v view) over() bool {
	if !v.stopped() {
		return false
	}

	return v.job == nil || v.job.DeletionTimestamp != nil || v.finished() || v.pod != nil && !v.suspended()
}

// finished is true for a Job that makes no Pods any more.
func (v view) finished() bool {
	return slices.ContainsFunc(v.job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue &&
			(c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed || c.Type == batchv1.JobFailureTarget)
	})
}

func (v view) suspended() bool {
	return v.job != nil && v.job.Spec.Suspend != nil && *v.job.Spec.Suspend
}

// everSuspended is true for a Job that was suspended or resumed some time after it was made: who looks at it now cannot
// tell whether its run had begun before.
func (v view) everSuspended() bool {
	return v.job != nil && slices.ContainsFunc(v.job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobSuspended && c.LastTransitionTime.Sub(v.job.CreationTimestamp.Time) > podPatience
	})
}

// startsOver is true for a Job that goes on, and makes another Pod, although the one that was let run is gone: it was
// suspended and resumed, or scaled. A Job that has failed says so before its Pod is gone. The Pod that was let run is
// shown with its gate for some time.
func (v view) startsOver(meant types.UID) bool {
	if v.job == nil || v.job.DeletionTimestamp != nil || v.finished() {
		return false
	}

	return v.pod == nil || isGated(v.pod) && v.pod.UID != meant
}

// installing is true while the content of the run is installed.
func (v view) installing() bool {
	return v.pod != nil && slices.ContainsFunc(v.pod.Status.InitContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == containerInstall && c.State.Running != nil
	})
}

// waiting says what a run that has not started waits for. Stuck is true when that does not
// pass without a change of the configuration, as far as one can tell.
func (v view) waiting() (message string, stuck bool) {
	switch {
	case v.suspended():
		return "the Job is suspended", false
	case v.pod == nil && v.trouble != "":
		return "the cluster makes no Pod: " + clip.Text(v.trouble, maxMessage), false
	case v.pod == nil:
		return "waiting for the Pod", false
	}

	for _, c := range slices.Concat(v.pod.Status.InitContainerStatuses, v.pod.Status.ContainerStatuses) {
		w := c.State.Waiting
		if w == nil || w.Reason == "" || w.Reason == "PodInitializing" || w.Reason == "ContainerCreating" {
			continue
		}

		message := strings.TrimSuffix(fmt.Sprintf("the container %s waits: %s: %s", c.Name, w.Reason,
			clip.Text(w.Message, maxMessage)), ": ")

		return message, slices.Contains([]string{
			"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
			"RegistryUnavailable",
			"CreateContainerConfigError", "CreateContainerError", "RunContainerError",
		}, w.Reason)
	}

	for _, c := range v.pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return "the Pod waits for a node: " + clip.Text(c.Message, maxMessage), false
		}
	}

	if v.pod.Spec.NodeName != "" {
		return strings.TrimSuffix(fmt.Sprintf("the Pod starts on node %s: %s", v.pod.Spec.NodeName,
			clip.Text(v.trouble, maxMessage)), ": "), false
	}

	return "waiting for the Pod", false
}

// ending says what keeps a run from its end, or its end from being seen; empty if nothing does.
func (v view) ending() string {
	switch {
	case v.isSilent():
		return fmt.Sprintf(
			"the node %s of the Pod does not answer; the run goes on or ends when it is back, and ends when it is removed "+
				"from the cluster", v.pod.Spec.NodeName)
	case v.pod != nil && !v.stopped() && v.pod.DeletionTimestamp != nil:
		return fmt.Sprintf("the run ends when its Pod %s has ended on node %s", v.pod.Name, v.pod.Spec.NodeName)
	case v.pod != nil && !v.stopped() && v.job == nil:
		return fmt.Sprintf("the Job of the run is gone; the run ends when its Pod %s has ended", v.pod.Name)
	case v.job != nil && v.unproved:
		name := v.job.Namespace + "/" + v.job.Name

		return fmt.Sprintf(
			"the Job %s has no proof that this provider has made it, since the provider's key was replaced, or since somebody "+
				"has changed the Job or its "+
				"Secret; nothing else runs until it has ended; to end it: kubectl delete job --namespace=%s %s", name,
			v.job.Namespace, v.job.Name)
	}

	return ""
}

// isSilent is true for a run in progress of whose node nothing is known. Of its Pod the cluster
// changes the condition Ready, and nothing else of what the node has said last.
func (v view) isSilent() bool {
	c := v.container()
	if c == nil || c.State.Running == nil {
		return false
	}

	return slices.ContainsFunc(v.pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse && c.Reason == ""
	})
}

// An end says how a run ended whose last report is not known.
type end struct {
	phase   common.RunPhase
	reason  string
	message string
	// blameless is true when neither content nor inputs made the run end.
	blameless bool
}

// end of a run that is over and has sent no last report. Limit says how long the run may take.
func (v view) end(limit string) end {
	interrupted := func(format string, args ...any) end {
		return end{common.PhaseInterrupted, executor.ReasonPodEnded, fmt.Sprintf(format, args...), true}
	}

	switch {
	case v.unproved:
		return interrupted("its Job had no proof that this provider had made it, so that its reports could not be read")
	case v.pod == nil:
		return interrupted("%s", v.whatWasDeleted())
	}

	s := v.pod.Status

	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
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
		return interrupted("its Pod ended: %s", strings.TrimSuffix(s.Reason+": "+clip.Text(s.Message, maxMessage), ": "))
	}

	if why := v.disruption(); why != "" {
		return interrupted("%s", why)
	}

	if v.pod.DeletionTimestamp != nil {
		return interrupted("%s", v.whatWasDeleted())
	}

	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
		if t := c.State.Terminated; t != nil && (t.ExitCode != 0 || c.Name == containerRun) {
			if !hasStarted(t) {
				return end{
					common.PhaseFailed, executor.ReasonPodNotStarted,
					fmt.Sprintf("the container %s could not be started: %s", c.Name,
						clip.Text(strings.TrimSpace(t.Message), maxMessage)), true,
				}
			}

			message := fmt.Sprintf("the container %s ended with exit code %d and without a report", c.Name, t.ExitCode)
			if t.Message != "" {
				message += ": " + clip.Text(strings.TrimSpace(t.Message), maxMessage)
			}

			return end{common.PhaseFailed, executor.ReasonInternal, message, true}
		}
	}

	return interrupted("its Pod ended without a report%s", v.jobSays())
}

// disruption is why Kubernetes ends the Pod; empty if it does not.
func (v view) disruption() string {
	if v.pod == nil {
		return ""
	}

	for _, c := range v.pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return fmt.Sprintf("its Pod was disrupted: %s: %s", c.Reason, clip.Text(c.Message, maxMessage))
		}
	}

	return ""
}

// whatWasDeleted says whether the Job was, or only its Pod. A Pod goes after its Job.
func (v view) whatWasDeleted() string {
	if v.job == nil || v.job.DeletionTimestamp != nil {
		return "its Job was deleted"
	}

	return "its Pod was deleted" + v.jobSays()
}

// jobSays is the message of a Job that failed, for the end of another one.
func (v view) jobSays() string {
	if v.job == nil {
		return ""
	}

	for _, c := range v.job.Status.Conditions {
		if c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue {
			return " (" + c.Reason + ": " + clip.Text(c.Message, maxMessage) + ")"
		}
	}

	return ""
}

// completed is when a Job has ended; the zero time if it has not.
func completed(j *batchv1.Job) time.Time {
	for _, c := range j.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			return c.LastTransitionTime.Time
		}
	}

	return time.Time{}
}
