package pods

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/rights"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestRun follows a run from its Pod to its result, and cleans up after it. It counts the requests to the API server.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		e := c.execute(nil)

		if r := c.reported(); r.Run.Phase != common.PhaseQueued || r.Run.Message != "waiting for the Pod" {
			t.Errorf("A run should wait for the start of its Pod: %+v", r.Run)
		}

		c.writes(common.PhaseRunning, common.PhaseSucceeded)
		c.node(container(containerRun, running()))

		got := <-e.ended
		if got.Run.Phase != common.PhaseSucceeded {
			t.Fatalf("Execute(...): %+v", got.Run)
		}

		c.x.Recorded(c.job.Object.UID, c.job.ID)

		if c.secret() != nil || c.pod() == nil {
			t.Error("The Secret should be deleted, and the Pod should be kept.")
		}

		c.node(container(containerRun, terminated(0, "Completed", "")))

		time.Sleep(time.Minute)

		want := []string{"create Pod", "create Secret", "delete Pod", "delete Secret", "watch Pod"}
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(c.requests()))); diff != "" {
			t.Errorf("requests: -want, +got:\n%s", diff)
		}
	})
}

// TestBegin has failures of the requests with which a run begins.
func TestBegin(t *testing.T) {
	quota := kerrors.NewForbidden(corev1.Resource("pods"), "x", errors.New("exceeded quota: pods"))
	away := errors.New("connection reset")
	fails := func(what string, times int, err error, made bool) func(*cluster) {
		return func(c *cluster) {
			c.refuse = func(verb string, o client.Object) error {
				if kind, _ := o.(*corev1.Pod); verb != "create" || (kind != nil) != (what == "Pod") || times == 0 {
					return nil
				}

				times--

				if made {
					if err := c.kube.Create(c.t.Context(), o.DeepCopyObject().(client.Object)); err != nil {
						c.t.Error(err)
					}
				}

				return err
			}
		}
	}
	neighbours := func(c *cluster) {
		p := podOf(c.t, onCluster(c.t), func(p *corev1.Pod) { p.Labels[labelObject] = "neighbour" })
		needs.OK(c.t, c.kube.Create(c.t.Context(), p))
	}

	for name, tc := range map[string]struct {
		reason string
		change func(*cluster)
		// begins is true if the Pod has its inputs in the end, and says is the message of the run meanwhile.
		begins bool
		says   string
		// left is true if there is a Pod in the end.
		left bool
	}{
		"Quota":       {"A run that a quota refuses waits, and shows the error.", fails("Pod", 3, quota, false), true, "exceeded quota: pods", true},
		"Away":        {"A request that failed is sent again.", fails("Pod", 1, away, false), true, "connection reset", true},
		"Unanswered":  {"A Pod that a request without an answer has created belongs to the run.", fails("Pod", 1, away, true), true, "connection reset", true},
		"Taken":       {"A Pod of that name that existed before does not belong to the run.", func(c *cluster) { fails("", 0, nil, false)(c); neighbours(c) }, false, "", true},
		"TakenLater":  {"A Pod with the label of another object does not belong to the run.", func(c *cluster) { fails("Pod", 1, away, false)(c); neighbours(c) }, false, "connection reset", true},
		"Secret":      {"A Secret that a request without an answer has created belongs to the run.", fails("Secret", 1, away, true), true, "", true},
		"NoSecret":    {"If the API server refuses the inputs, the run does not begin, and its Pod is deleted.", fails("Secret", 1, kerrors.NewBadRequest("no"), false), false, "", false},
		"OtherSecret": {"If its Secret already exists, the run does not begin.", func(c *cluster) { c.plant() }, false, "", false},
		"Follows":     {"A provider that does not lead any more does not create the inputs.", func(c *cluster) { c.x.config.Leads = func() bool { return false } }, false, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				tc.change(c)
				e := c.execute(nil)

				if got := c.reported().Run.Message; tc.says != "" && !strings.Contains(got, tc.says) {
					t.Errorf("%s\nThe run should show why it waits, not %q", tc.reason, got)
				}

				time.Sleep(time.Minute)
				synctest.Wait()

				p := c.pod()
				if (p != nil) != tc.left {
					t.Errorf("%s\nThere should be a Pod: %t", tc.reason, tc.left)
				}

				if tc.begins {
					e.goesOn(t, tc.reason)

					if _, err := ReadPayload(c.mounted(p.UID)); err != nil {
						t.Errorf("%s\nIt should have its inputs: %v", tc.reason, err)
					}

					e.leave()
					<-e.ended

					return
				}

				if got := <-e.ended; got.Run.Phase != common.PhaseFailed || !got.Untouched || !got.Blameless {
					t.Errorf("%s\nExecute(...): %+v", tc.reason, got)
				}
			})
		})
	}
}

// plant creates a Secret with the name of that of the run.
func (c *cluster) plant() {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: c.job.Pod().Name}, Data: map[string][]byte{"payload.000": []byte("x")}}
	needs.OK(c.t, c.kube.Create(c.t.Context(), s))
}

// TestAttach has a provider that follows a run of its predecessor. It never creates the inputs of a Pod.
func TestAttach(t *testing.T) {
	forge := func(change func(*corev1.Secret)) func(*cluster) {
		return func(c *cluster) {
			s := c.secret()
			needs.OK(c.t, c.kube.Delete(c.t.Context(), s.DeepCopy()))

			if change != nil {
				s.ResourceVersion = ""
				change(s)

				needs.OK(c.t, c.kube.Create(c.t.Context(), s))
			}
		}
	}
	starts := func(c *cluster) { c.node(container(containerRun, running())) }

	for name, tc := range map[string]struct {
		reason string
		change func(*cluster)
		// follows is true if the run goes on, and deletes if its Pod is deleted.
		follows, deletes bool
		// untouched is true if the run has certainly not begun.
		untouched bool
	}{
		"Waits":     {"A Pod with its inputs is followed.", func(*cluster) {}, true, false, false},
		"Runs":      {"A Pod that runs is followed.", starts, true, false, false},
		"NoSecret":  {"A Pod without inputs has not begun, and is deleted.", forge(nil), false, true, true},
		"Removed":   {"A Pod without its former inputs may have begun, and is deleted.", func(c *cluster) { starts(c); forge(nil)(c) }, false, true, false},
		"Unproved":  {"A Secret without a proof does not count.", forge(func(s *corev1.Secret) { s.Annotations[annotationProof] = "" }), false, true, true},
		"Forged":    {"A forged payload does not count.", forge(func(s *corev1.Secret) { s.Data["payload.000"] = []byte("x") }), false, true, true},
		"NoPod":     {"Without a Pod, the run has ended; its Pod may have been deleted by force.", func(c *cluster) { c.gone() }, false, false, false},
		"Neighbour": {"A status that names the Pod of another object has no effect.", func(c *cluster) { c.job.Object.UID = "thief" }, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				e := c.execute(nil)
				e.leave()
				<-e.ended
				tc.change(c)

				asked := len(c.requests("create Secret", "create Pod"))
				e = c.execute(c.inProgress())

				if got := len(c.requests("delete Pod")) > 0; got != tc.deletes {
					t.Errorf("%s\nThe Pod should be deleted: %t", tc.reason, tc.deletes)
				}

				if tc.follows {
					e.goesOn(t, tc.reason)
					c.writes(common.PhaseSucceeded)
					starts(c)

					if got := <-e.ended; got.Run.Phase != common.PhaseSucceeded || got.Request != "token" {
						t.Errorf("%s\nExecute(...): %+v", tc.reason, got)
					}
				} else {
					if p := c.pod(); p != nil && tc.deletes {
						c.gone(container(containerRun, terminated(143, "Error", "")))
					}

					got := <-e.ended
					if got.Run.Phase != common.PhaseInterrupted || got.Untouched != tc.untouched || !got.Blameless {
						t.Errorf("%s\nExecute(...): untouched=%t, %+v", tc.reason, got.Untouched, got.Run)
					}

					if unseen := !tc.deletes; unseen == got.NotBefore.IsZero() {
						t.Errorf("%s\nThe next run should wait for a Pod that was not seen to stop, not before %s", tc.reason, got.NotBefore)
					}
				}

				if got := len(c.requests("create Secret", "create Pod")); got != asked {
					t.Errorf("%s\nNo object should be created for a run of the predecessor", tc.reason)
				}
			})
		})
	}
}

// TestEnds ends runs in several ways, with Pods in different states.
func TestEnds(t *testing.T) {
	waits, working := container(containerRun, waiting("ContainerCreating", "")), container(containerRun, running())
	killed := container(containerRun, terminated(143, "Error", ""))
	unknown := container(containerRun, notStarted("ContainerStatusUnknown", ""))
	succeeded := container(containerRun, terminated(0, "Completed", ""))
	failed := func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }
	// silent is the state of a run on a node that does not report.
	silent := func(p *corev1.Pod) {
		working(p)
		condition(corev1.PodReady, corev1.ConditionFalse, "", "")(p)
	}

	cancels := func(_ *cluster, e *execution) { e.cancel() }
	revokes := func(_ *cluster, e *execution) { e.revoke() }
	leaves := func(_ *cluster, e *execution) { e.leave() }
	stops := func(change ...func(*corev1.Pod)) func(*cluster, *execution) {
		return func(c *cluster, _ *execution) { c.gone(change...) }
	}
	shows := func(change ...func(*corev1.Pod)) func(*cluster, *execution) {
		return func(c *cluster, _ *execution) { c.node(change...) }
	}

	var answers atomic.Bool

	// stuck is a cluster in which deletions fail.
	stuck := func(c *cluster) {
		c.refuse = func(verb string, _ client.Object) error {
			if verb == "delete" && !answers.Load() {
				return errors.New("a webhook does not answer")
			}

			return nil
		}
	}
	// held is a cluster with Kueue, which holds Pods with a scheduling gate and a finalizer.
	held := func(c *cluster) {
		c.refuse = func(verb string, o client.Object) error {
			if p, ok := o.(*corev1.Pod); ok && verb == "create" {
				p.Finalizers, p.Spec.SchedulingGates = []string{"kueue.x-k8s.io/managed"}, []corev1.PodSchedulingGate{{Name: "kueue.x-k8s.io/admission"}}
			}

			return nil
		}
	}
	// loses takes the rights of the provider in the namespace away. The creation of a Secret there returns an error.
	loses := func(secrets error) func(*cluster, *execution) {
		return func(c *cluster, _ *execution) {
			c.mu.Lock()
			c.refuse = func(verb string, o client.Object) error {
				if _, ok := o.(*corev1.Secret); ok && verb == "create" {
					return secrets
				}

				return kerrors.NewForbidden(corev1.Resource("pods"), "x", errors.New("no RBAC policy matched"))
			}
			c.denies = true
			c.mu.Unlock()

			time.Sleep(watchFor + lookEvery)
		}
	}
	terminating := kerrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "x", errors.New("it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}

	for name, tc := range map[string]struct {
		reason string
		// before prepares the cluster, state is the state of the Pod, and tell acts on the run. says is the message of the
		// run, and then acts on a run that goes on.
		before     func(*cluster)
		state      func(*corev1.Pod)
		tell, then func(*cluster, *execution)
		says       string

		phase common.RunPhase
		// why is the reason of the end, and message its message.
		why, message    string
		untouched, rest bool
	}{
		"Revoked": {
			reason: "A waiting run is revoked.",
			state:  waits, tell: revokes, then: stops(deleted, unknown),
			phase: common.PhaseCanceled, why: runs.ReasonNotStarted, untouched: true,
		},
		"RevokedBegins": {
			reason: "A revoked run may begin at the same time.",
			state:  waits, tell: revokes, then: stops(deleted, killed),
			phase: common.PhaseCanceled, why: runner.ReasonCanceled,
		},
		"RevokedUnscheduled": {
			reason: "A Pod without a node has not begun.",
			tell:   revokes,
			phase:  common.PhaseCanceled, why: runs.ReasonNotStarted, untouched: true,
		},
		"RevokedHeld": {
			reason: "A Pod that Kueue keeps with its finalizer has not begun.",
			before: held, says: "the Pod is held by the scheduling gate kueue.x-k8s.io/admission: CreatedWorkload: Created Workload: ns/pod-x", tell: revokes,
			phase: common.PhaseCanceled, why: runs.ReasonNotStarted, untouched: true,
		},
		"RevokedScheduled": {
			reason: "A revoked run begins, but the watch does not show that yet: its play is canceled.",
			tell: func(c *cluster, e *execution) {
				c.hangs = true
				c.node(working)
				c.hangs = false
				e.revoke()
			},
			then: stops(killed), phase: common.PhaseCanceled, why: runner.ReasonCanceled,
		},
		"Canceled": {
			reason: "A canceled run that has not begun has changed nothing.",
			state:  waits, tell: cancels, then: stops(deleted, unknown),
			phase: common.PhaseCanceled, why: runner.ReasonCanceled, untouched: true,
		},
		"CanceledRuns": {
			reason: "A canceled run that has begun may have changed something.",
			state:  working, tell: cancels, then: stops(deleted, killed),
			phase: common.PhaseCanceled, why: runner.ReasonCanceled,
		},
		"CanceledUnseen": {
			reason: "A canceled run without a known end may have changed something.",
			state:  waits, tell: cancels, then: stops(deleted),
			phase: common.PhaseCanceled, why: runner.ReasonCanceled, rest: true,
		},
		"CanceledUndeleted": {
			reason: "If the Pod cannot be deleted, the run shows the error, and goes on.",
			before: stuck, state: working, tell: cancels, says: "cannot delete the Pod of a run: a webhook does not answer",
			then: func(c *cluster, _ *execution) {
				answers.Store(true)
				time.Sleep(2 * lookEvery)
				c.gone(deleted, killed)
			},
			phase: common.PhaseCanceled, why: runner.ReasonCanceled,
		},
		"RevokedRuns": {
			reason: "A revoked run that has its inputs and does not wait goes on.",
			state:  working, tell: revokes, then: leaves,
			phase: common.PhaseQueued, untouched: true,
		},
		"Silent": {
			reason: "The run shows that its node does not report.",
			state:  silent, says: "the node n of the Pod does not answer; the run goes on", tell: leaves,
			phase: common.PhaseQueued, untouched: true,
		},
		"CanceledSilent": {
			reason: "A node that does not answer cannot end a canceled Pod.",
			state:  silent, tell: cancels, says: "the node n of the Pod does not answer; the run goes on", then: stops(deleted, killed),
			phase: common.PhaseCanceled, why: runner.ReasonCanceled,
		},
		"NotReady": {
			reason: "A container of a template that is not ready is not a silent node.",
			state: func(p *corev1.Pod) {
				working(p)
				condition(corev1.PodReady, corev1.ConditionFalse, "ContainersNotReady", "")(p)
			},
			tell: leaves, phase: common.PhaseQueued, untouched: true,
		},
		"Orphaned": {
			reason: "A Pod on a lost node may still run, although its phase is Failed.",
			state:  working,
			tell: func(c *cluster, _ *execution) {
				c.node(working, failed, condition(corev1.DisruptionTarget, corev1.ConditionTrue, "DeletionByPodGC", ""))
				time.Sleep(time.Hour)
			},
			then: leaves, phase: common.PhaseQueued, untouched: true,
		},
		"Forced": {
			reason: "A Pod that is deleted by force may still run.",
			state:  working, tell: stops(),
			phase: common.PhaseInterrupted, why: runs.ReasonPodEnded, message: "its Pod was deleted", rest: true,
		},
		"Evicted": {
			reason: "The state of an evicted Pod has the reason.",
			state:  working, tell: stops(deleted, condition(corev1.DisruptionTarget, corev1.ConditionTrue, "EvictionByEvictionAPI", "x"), killed),
			phase: common.PhaseInterrupted, why: runs.ReasonPodEnded, message: "its Pod was disrupted: EvictionByEvictionAPI: x",
		},
		"Killed": {
			reason: "A Pod with a deletion timestamp only was deleted.",
			state:  working, tell: stops(deleted, killed),
			phase: common.PhaseInterrupted, why: runs.ReasonPodEnded, message: "its Pod was deleted",
		},
		"Pressure": {
			reason: "The status of the Pod has the reason of the kubelet.",
			state:  working, tell: shows(status("Evicted", "The node was low on resource: memory."), failed, killed),
			phase: common.PhaseInterrupted, why: runs.ReasonPodEnded, message: "its Pod ended: Evicted: The node was low on resource: memory.",
		},
		"LongReason": {
			reason: "The message of the kubelet is bounded.",
			state:  working, tell: shows(status("Evicted", strings.Repeat("x", 1<<20)), failed, killed),
			phase: common.PhaseInterrupted, why: runs.ReasonPodEnded, message: "its Pod ended: Evicted: " + strings.Repeat("x", maxMessage-len("…")) + "…",
		},
		"Deadline": {
			reason: "A Pod may exceed its deadline.",
			state:  working, tell: shows(status("DeadlineExceeded", "x"), failed, killed),
			phase: common.PhaseTimedOut, why: runner.ReasonTimedOut,
			message: "the Pod took longer than the run, with a timeout of 1m0s, and the installation of its content may take",
		},
		"OutOfMemory": {
			reason: "A container may exceed its memory limit.",
			state:  working, tell: shows(container(containerRun, terminated(137, "OOMKilled", "")), failed),
			phase: common.PhaseFailed, why: runner.ReasonOutOfMemory, message: "the container run needed more memory than its limit; raise spec.execution.resources",
		},
		"NotStarted": {
			reason: "The runtime may fail to start the container.",
			state:  waits, tell: shows(container(containerRun, notStarted("StartError", "no such user")), failed),
			phase: common.PhaseFailed, why: common.ReasonPodNotStarted, message: "the container run could not be started: no such user", untouched: true,
		},
		"NoBinary": {
			reason: "The container that copies the provider may fail.",
			state:  waits,
			tell: shows(failed, func(p *corev1.Pod) {
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: containerCopy, State: terminated(2, "Error", "disk full")}}
			}),
			phase: common.PhaseFailed, why: common.ReasonInternal, untouched: true,
			message: "the container provider-ansible ended with exit code 2 and without a report: disk full",
		},
		"Unknown": {
			reason: "The state of the Pod may have no reason.",
			state:  waits, tell: shows(failed),
			phase: common.PhaseInterrupted, why: runs.ReasonPodEnded, message: "its Pod ended without a report", untouched: true,
		},
		"Failed": {
			reason: "A waiting Pod may fail.",
			state:  waits, tell: shows(status("OutOfcpu", "x"), failed),
			phase: common.PhaseInterrupted, why: runs.ReasonPodEnded, untouched: true,
		},
		"Ended": {
			reason: "A container may end without a report.",
			state:  working, tell: shows(container(containerRun, terminated(1, "Error", "cannot find \"ansible-runner\" in PATH\n"))),
			phase: common.PhaseFailed, why: common.ReasonInternal,
			message: `the container run ended with exit code 1 and without a report: cannot find "ansible-runner" in PATH`,
		},
		"NoImage": {
			reason: "A Pod that cannot start is given up after a while.",
			state:  container(containerRun, waiting("ErrImagePull", "no such image")), says: "the container run waits: ErrImagePull: no such image",
			then: func(c *cluster, _ *execution) {
				time.Sleep(2 * stuckFor)
				c.gone(deleted, unknown)
			},
			phase: common.PhaseFailed, why: common.ReasonPodNotStarted, untouched: true,
		},
		"Unschedulable": {
			reason: "The run shows why its Pod has no node.",
			state: func(p *corev1.Pod) {
				p.Spec.NodeName = ""
				condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable", "0/1 nodes are available")(p)
			},
			says: "the Pod waits for a node: 0/1 nodes are available", tell: leaves,
			phase: common.PhaseQueued, untouched: true,
		},
		"Starts": {
			reason: "The run shows why its Pod does not start on a node.",
			state:  waits, says: "the Pod starts on node n: FailedMount: no such ConfigMap", tell: leaves,
			phase: common.PhaseQueued, untouched: true,
		},
		"Unwatched": {
			reason: "The watch may send no events of a Pod that starts and ends.",
			tell: func(c *cluster, _ *execution) {
				c.writes(common.PhaseRunning, common.PhaseSucceeded)
				c.hangs = true
				c.node(succeeded)
			},
			phase: common.PhaseSucceeded,
		},
		"Hidden": {
			reason: "A Pod that another client hides from the watch goes on.",
			state:  working,
			tell: func(c *cluster, _ *execution) {
				hidden := c.pod()
				hidden.Labels = nil
				c.saw(hidden, false)
				time.Sleep(2 * watchFor)
			},
			then: leaves, phase: common.PhaseQueued, untouched: true,
		},
		"Left": {
			reason: "The end of the provider deletes nothing.",
			state:  working, tell: leaves, phase: common.PhaseQueued, untouched: true,
		},
		"Unread": {
			reason: "A run that has succeeded is not repeated, even if its log cannot be read.",
			before: func(c *cluster) { c.away = true }, state: succeeded, says: "the node is away",
			tell: func(*cluster, *execution) { time.Sleep(time.Hour) }, then: cancels,
			phase: common.PhaseCanceled, why: runner.ReasonCanceled,
		},
		"UnreadSidecar": {
			reason: "A run that has succeeded is not repeated while another container goes on.",
			before: func(c *cluster) { c.away = true }, says: "the node is away",
			state: func(p *corev1.Pod) { container("proxy", running())(p); succeeded(p) },
			tell:  func(*cluster, *execution) { time.Sleep(time.Hour) }, then: cancels,
			phase: common.PhaseCanceled, why: runner.ReasonCanceled,
		},
		"UnreadFailed": {
			reason: "A run that has failed does not wait for its last report, since it is repeated anyway.",
			before: func(c *cluster) { c.away = true }, state: container(containerRun, terminated(1, "Error", "")),
			phase: common.PhaseFailed, why: common.ReasonInternal,
		},
		"CanceledEnded": {
			reason: "A run that ended before it was canceled has the result in its log.",
			tell: func(c *cluster, e *execution) {
				e.leave()
				<-e.ended
				c.writes(common.PhaseSucceeded)
				c.node(succeeded)

				*e = *c.execute(c.inProgress())
				e.cancel()
			},
			phase: common.PhaseSucceeded,
		},
		"Quota": {
			reason: "A run that a quota refuses for a long time sends few requests, and can be revoked.",
			before: func(c *cluster) {
				c.refuse = func(string, client.Object) error {
					return kerrors.NewForbidden(corev1.Resource("pods"), "x", errors.New("exceeded quota: pods"))
				}
			},
			tell: func(c *cluster, e *execution) {
				time.Sleep(10 * time.Minute)

				before := len(c.requests())

				time.Sleep(10 * time.Minute)

				if got := len(c.requests()) - before; got < 5 || got > 15 || c.reported().Plan != c.job.Plan() {
					c.t.Errorf("The API server was asked %d times in ten minutes, and the run has the plan %q", got, c.reported().Plan)
				}

				e.revoke()
			},
			says: "exceeded quota", phase: common.PhaseCanceled, why: runs.ReasonNotStarted, untouched: true,
		},
		"NoToken": {
			reason: "No object is created for a run that gets no token.",
			before: func(c *cluster) {
				c.x.config.Cluster = &tokens{err: rights.Lacking(errors.New("there is no such account"))}
				c.job.Inputs.Kubernetes = &inputs.Kubernetes{Namespace: "ns", ServiceAccount: "deployer"}
			},
			tell: func(c *cluster, _ *execution) {
				if asked := c.requests(); len(asked) > 0 {
					c.t.Errorf("want no requests, got %v", asked)
				}
			},
			phase: common.PhaseFailed, why: common.ReasonForbidden, untouched: true, rest: true,
		},
		"Panic": {
			reason: "A panic of the provider ends only the run that causes it.",
			before: func(c *cluster) { c.x.config.Leads = func() bool { panic("hunter2") } },
			phase:  common.PhaseInterrupted, why: common.ReasonInternal,
		},
		"NoRights": {
			reason: "If its Pod may run, the run goes on, and shows the missing rights.",
			state:  working, tell: loses(nil), says: "kubectl create rolebinding", then: leaves,
			phase: common.PhaseQueued, untouched: true,
		},
		"Terminating": {
			reason: "The deletion of a namespace ends its runs.",
			state:  working, tell: loses(terminating), says: "kubectl create rolebinding",
			phase: common.PhaseInterrupted, why: runs.ReasonPodEnded, rest: true,
		},
		"NoNamespace": {
			reason: "A run in a deleted namespace ends.",
			state:  working, tell: loses(kerrors.NewNotFound(corev1.Resource("namespaces"), "ns")), says: "kubectl create rolebinding",
			phase: common.PhaseInterrupted, why: runs.ReasonPodEnded, rest: true,
		},
		"TerminatingAttach": {
			reason: "The next provider may find a run in a namespace that is being deleted.",
			state:  working,
			tell: func(c *cluster, e *execution) {
				e.leave()
				<-e.ended
				loses(terminating)(c, e)
				*e = *c.execute(c.inProgress())
			},
			phase: common.PhaseInterrupted, why: runs.ReasonPodEnded, rest: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				if tc.before != nil {
					tc.before(c)
				}

				e := c.execute(nil)
				if tc.state != nil {
					c.node(tc.state)
				}

				time.Sleep(2 * idleAfter)
				synctest.Wait()

				if tc.tell != nil {
					tc.tell(c, e)
				}

				const unknown = "does not answer; the run goes on"
				if m := c.reported().Run.Message; !strings.Contains(m, tc.says) || strings.Contains(m, unknown) != strings.Contains(tc.says, unknown) {
					t.Errorf("%s\nThe status should have the message %q, not %q", tc.reason, tc.says, m)
				}

				if tc.then != nil {
					e.goesOn(t, tc.reason)
					tc.then(c, e)
				}

				got := <-e.ended
				if got.Run.Phase != tc.phase || got.Run.Reason != tc.why || tc.message != "" && got.Run.Message != tc.message || got.Untouched != tc.untouched || got.NotBefore.IsZero() == tc.rest || got.Run.Phase.Finished() && got.Plan != "" {
					t.Errorf("%s\nExecute(...): untouched=%t, not before %s, %+v", tc.reason, got.Untouched, got.NotBefore, got.Run)
				}

				// A Pod must not run beside the next run. Pods of runs that go on or have succeeded stay.
				stays := !got.Run.Phase.Finished() || got.Run.Phase == common.PhaseSucceeded
				if deletes := len(c.requests("delete Pod")) > 0; stays && deletes || name == "Panic" && !deletes {
					t.Errorf("%s\nThe Pod was deleted: %t", tc.reason, deletes)
				}
			})
		})
	}
}

// TestSweep cleans up Pods of runs that are not followed.
func TestSweep(t *testing.T) {
	ended := func(p *corev1.Pod) {
		s := terminated(0, "Completed", "")
		s.Terminated.FinishedAt = metav1.Now()
		container(containerRun, s)(p)
	}
	old := func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour)) }

	for name, tc := range map[string]struct {
		reason string
		pod    []func(*corev1.Pod)
		over   bool
		want   []string
	}{
		"Runs":    {"A Pod that its object does not show is deleted.", []func(*corev1.Pod){old}, true, []string{"delete Pod"}},
		"Ended":   {"An ended Pod is kept, and its Secret is deleted.", []func(*corev1.Pod){old, ended}, true, []string{"delete Secret"}},
		"Known":   {"A Pod that its object shows will be followed.", []func(*corev1.Pod){old}, false, nil},
		"Young":   {"A new Pod will be followed.", nil, true, nil},
		"Other":   {"A Pod with another name was created by another client.", []func(*corev1.Pod){old, func(p *corev1.Pod) { p.Name = "mine" }}, true, nil},
		"Deleted": {"A Pod with a deletion timestamp is left alone.", []func(*corev1.Pod){old, deleted, func(p *corev1.Pod) { p.Finalizers = []string{"example.org/x"} }}, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, podOf(t, onCluster(t), append([]func(*corev1.Pod){func(p *corev1.Pod) { p.CreationTimestamp = metav1.Now() }}, tc.pod...)...))
				c.x.config.Over = func(_ context.Context, ref ObjectReference) (bool, error) {
					if want := (ObjectReference{GroupKind: "AnsibleRun.ansible.m.crossplane.io", Namespace: "ns", Name: "n", UID: "u", RunID: "id"}); ref != want {
						t.Errorf("want the object %+v, got %+v", want, ref)
					}

					return tc.over, nil
				}

				for range 2 {
					needs.OK(t, c.x.sweep(t.Context()))
				}

				if diff := cmp.Diff(tc.want, c.requests()); diff != "" {
					t.Errorf("%s\nrequests: -want, +got:\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// TestAdoptMetadata has a check that is followed. Its digest of metadata is that from its start, whatever its Pod
// reports.
func TestAdoptMetadata(t *testing.T) {
	r := onCluster(t)
	r.todo.Mode, r.todo.Inputs.Approval = common.ModeCheck, true

	begun, want := Payload{Spec: r.todo.Spec}, r.todo.Object.Digest(r.todo.DigestKey)
	r.todo.Object.Annotations = map[string]string{"example.org/text": "changed since"}

	r.adopt(begun)

	forged := r.report
	forged.Run.MetadataDigest = "forged"
	r.adoptReport(forged)

	if got := r.report.Run.MetadataDigest; got != want {
		t.Errorf("adopt(...): want the digest from the start of the run, %q, got %q", want, got)
	}
}
