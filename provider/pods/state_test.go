package pods

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

func aPod(phase corev1.PodPhase, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{Phase: phase}}
	for _, fn := range change {
		fn(p)
	}

	return p
}

// TestNext says what is next for runs whose end does not tell. What is next for others, TestBegin, TestAttach and TestEnds show.
func TestNext(t *testing.T) {
	waits := aPod(corev1.PodPending)
	orphan := aPod(corev1.PodFailed, container(containerRun, running()), condition(corev1.DisruptionTarget, corev1.ConditionTrue, "DeletionByPodGC", ""))

	for name, tc := range map[string]struct {
		reason string
		known  known
		want   action
	}{
		"Orphaned": {"A Pod whose node is gone may work on, whatever its log.", known{keyed: true, pod: orphan, given: true, gave: true, begun: true, read: true}, follow},
		"New":      {"Without a Pod a revoked run is given up, idle or not.", known{keyed: true, revoked: true}, conclude},
		"Given":    {"With its inputs it goes on.", known{keyed: true, pod: waits, given: true, gave: true, revoked: true}, await},
		"Idle":     {"Unless it is idle.", known{keyed: true, pod: waits, given: true, gave: true, revoked: true, idle: true}, remove},
	} {
		t.Run(name, func(t *testing.T) {
			if got := next(tc.known); got != tc.want {
				t.Errorf("%s\nnext(...): want %d, got %d", tc.reason, tc.want, got)
			}
		})
	}
}

func deleted(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }

func container(name string, s corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: name, State: s})
	}
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
}

func terminated(code int32, reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message, StartedAt: metav1.Now()}}
}

// notStarted is what the kubelet shows of a container that its runtime could not start.
func notStarted(reason, message string) corev1.ContainerState {
	s := terminated(128, reason, message)
	s.Terminated.StartedAt = metav1.Unix(0, 0)

	return s
}

func status(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Reason, p.Status.Message = reason, message }
}

func condition(t corev1.PodConditionType, s corev1.ConditionStatus, reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: t, Status: s, Reason: reason, Message: message})
	}
}

func TestWaiting(t *testing.T) {
	gated := func(p *corev1.Pod) {
		p.Spec.NodeName, p.Spec.SchedulingGates = "", []corev1.PodSchedulingGate{{Name: "kueue.x-k8s.io/admission"}}
	}

	for name, tc := range map[string]struct {
		pod     *corev1.Pod
		trouble string
		want    string
		stuck   bool
	}{
		"New":           {aPod(corev1.PodPending, func(p *corev1.Pod) { p.Spec.NodeName = "" }), "", "waiting for the Pod", false},
		"Gated":         {aPod(corev1.PodPending, gated), "CreatedWorkload: x", "the Pod is held by the scheduling gate kueue.x-k8s.io/admission: CreatedWorkload: x", false},
		"Unschedulable": {aPod(corev1.PodPending, condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable", "0/1 nodes are available")), "", "the Pod waits for a node: 0/1 nodes are available", false},
		"Starts":        {aPod(corev1.PodPending, container(containerRun, waiting("ContainerCreating", ""))), "", "the Pod starts on node n", false},
		"Mount":         {aPod(corev1.PodPending), "FailedMount: no such ConfigMap", "the Pod starts on node n: FailedMount: no such ConfigMap", false},
		"NoImage":       {aPod(corev1.PodPending, container(containerRun, waiting("ImagePullBackOff", "no such image"))), "", "the container run waits: ImagePullBackOff: no such image", true},
		"NoSecret":      {aPod(corev1.PodPending, container(containerRun, waiting("CreateContainerConfigError", ""))), "", "the container run waits: CreateContainerConfigError", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got, stuck := waitsFor(tc.pod, tc.trouble); got != tc.want || stuck != tc.stuck {
				t.Errorf("waitsFor(...): want %q, %v, got %q, %v", tc.want, tc.stuck, got, stuck)
			}
		})
	}
}

func TestSilence(t *testing.T) {
	ready := func(status corev1.ConditionStatus, reason string) func(*corev1.Pod) {
		return condition(corev1.PodReady, status, reason, "")
	}
	run := container(containerRun, running())
	for name, tc := range map[string]struct {
		reason string
		pod    *corev1.Pod
		silent bool
	}{
		"Running":    {"The node answers.", aPod(corev1.PodRunning, run, ready(corev1.ConditionTrue, "")), false},
		"NodeGone":   {"Nothing is known of the node.", aPod(corev1.PodRunning, run, ready(corev1.ConditionFalse, "")), true},
		"Evicted":    {"The Pod is to end, which the node does not learn.", aPod(corev1.PodRunning, deleted, run, ready(corev1.ConditionFalse, "")), true},
		"ProbeFails": {"A container that a template has added is not ready, says the node.", aPod(corev1.PodRunning, run, ready(corev1.ConditionFalse, "ContainersNotReady")), false},
		"Ended": {
			"The node has said that the run has ended.",
			aPod(corev1.PodRunning, container(containerRun, terminated(0, "", "")), ready(corev1.ConditionFalse, "")),
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ending(tc.pod); strings.Contains(got, "the node n of the Pod does not answer") != tc.silent {
				t.Errorf("\n%s\nending(): got %q", tc.reason, got)
			}
		})
	}
}

func TestEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want end
	}{
		"Deleted": {
			aPod(corev1.PodFailed, deleted, container(containerRun, terminated(1, "Error", ""))),
			end{common.PhaseInterrupted, runs.ReasonPodEnded, "its Pod was deleted", true},
		},
		"DeletedByForce": {
			aPod(corev1.PodRunning, container(containerRun, running())),
			end{common.PhaseInterrupted, runs.ReasonPodEnded, "its Pod was deleted", true},
		},
		"Evicted": {
			aPod(corev1.PodFailed, status("Evicted", "The node was low on resource: memory."), container(containerRun, terminated(137, "Error", ""))),
			end{common.PhaseInterrupted, runs.ReasonPodEnded, "its Pod ended: Evicted: The node was low on resource: memory.", true},
		},
		"Deadline": {
			aPod(corev1.PodFailed, status("DeadlineExceeded", "x")),
			end{common.PhaseTimedOut, runner.ReasonTimedOut, "the Pod took longer than the run, with a timeout of 1m0s, and the installation of its content may take", false},
		},
		"OutOfMemory": {
			aPod(corev1.PodFailed, container(containerRun, terminated(137, "OOMKilled", ""))),
			end{common.PhaseFailed, runner.ReasonOutOfMemory, "the container run needed more memory than its limit; raise spec.execution.resources", false},
		},
		"Disrupted": {
			aPod(corev1.PodFailed, condition(corev1.DisruptionTarget, corev1.ConditionTrue, "PreemptionByScheduler", "preempted")),
			end{common.PhaseInterrupted, runs.ReasonPodEnded, "its Pod was disrupted: PreemptionByScheduler: preempted", true},
		},
		"NodeGone": {
			aPod(corev1.PodFailed, deleted, container(containerRun, terminated(143, "Error", ""))),
			end{common.PhaseInterrupted, runs.ReasonPodEnded, "its Pod was deleted", true},
		},
		"NotStarted": {
			aPod(corev1.PodFailed, container(containerRun, notStarted("StartError", "no such user"))),
			end{common.PhaseFailed, common.ReasonPodNotStarted, "the container run could not be started: no such user", true},
		},
		"NoPython": {
			aPod(corev1.PodFailed, container(containerRun, terminated(1, "Error", "cannot find \"ansible-runner\" in PATH\n"))),
			end{common.PhaseFailed, common.ReasonInternal, `the container run ended with exit code 1 and without a report: cannot find "ansible-runner" in PATH`, true},
		},
		"NoBinary": {
			aPod(corev1.PodFailed, func(p *corev1.Pod) {
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: containerCopy, State: terminated(2, "Error", "disk full")}}
			}),
			end{common.PhaseFailed, common.ReasonInternal, "the container provider-ansible ended with exit code 2 and without a report: disk full", true},
		},
		"Unknown": {aPod(corev1.PodFailed), end{common.PhaseInterrupted, runs.ReasonPodEnded, "its Pod ended without a report", true}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := endOf(tc.pod, "1m0s"); got != tc.want {
				t.Errorf("endOf(...): want %+v, got %+v", tc.want, got)
			}
		})
	}

	long := aPod(corev1.PodFailed, status("Evicted", strings.Repeat("x", 1<<20)))
	if got := endOf(long, ""); len(got.message) > 2*maxMessage {
		t.Errorf("A message should be cut, not have %d bytes.", len(got.message))
	}
}
