package pods

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
