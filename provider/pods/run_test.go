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
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestRun follows a run from its Pod to its result, and cleans up after it. It counts what it asks the API server for.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		e := c.execute(nil)

		if r := c.reported(); r.Run.Phase != common.PhaseQueued || r.Run.Message != "waiting for the Pod" {
			t.Errorf("A run whose Pod has not started waits: %+v", r.Run)
		}

		c.writes(common.PhaseRunning, common.PhaseSucceeded)
		c.node(container(containerRun, running()))

		got := <-e.ended
		if got.Run.Phase != common.PhaseSucceeded {
			t.Fatalf("Execute(...): %+v", got.Run)
		}

		c.forget()

		if c.secret() != nil || c.pod() == nil {
			t.Error("The Secret should be gone, and the Pod be kept.")
		}

		c.node(container(containerRun, terminated(0, "Completed", "")))

		time.Sleep(time.Minute)

		want := []string{"create Pod", "create Secret", "delete Pod", "delete Secret", "watch Pod"}
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(c.requests()))); diff != "" {
			t.Errorf("requests: -want, +got:\n%s", diff)
		}
	})
}

// forget the run, and clean up after it.
func (c *cluster) forget() {
	c.t.Helper()
	c.x.Recorded(c.job.Object.UID, c.job.ID)
	synctest.Wait()
}

// TestLatePost has a request to make the Pod arrive when the Pod was deleted. The Secret may still be there.
func TestLatePost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		e := c.execute(nil)
		was := c.pod()

		if _, err := ReadPayload(c.mounted(was.UID)); err != nil {
			t.Fatalf("The Pod should read its inputs: %v", err)
		}

		c.node()
		c.gone()
		<-e.ended

		late := podOf(t, onCluster(t))
		late.UID = "late"

		needs.OK(t, c.kube.Create(t.Context(), late))

		if _, err := ReadPayload(c.mounted(late.UID)); err == nil {
			t.Error("Another Pod of the same name should play nothing.")
		}

		if err := c.x.sweepPod(t.Context(), late); err != nil || c.pod() != nil {
			t.Errorf("It should be swept up: %v", err)
		}
	})
}

// TestBegin has requests fail with which a run begins.
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
		// begins is true if the Pod has its inputs in the end, and says is what the run says meanwhile.
		begins bool
		says   string
		// left is true if there is a Pod in the end.
		left bool
	}{
		"Quota":       {"A run that a quota refuses waits, with its words.", fails("Pod", 3, quota, false), true, "exceeded quota: pods", true},
		"Away":        {"A request that fails is sent again.", fails("Pod", 1, away, false), true, "connection reset", true},
		"Unanswered":  {"A Pod that was made without an answer is the run's.", fails("Pod", 1, away, true), true, "connection reset", true},
		"Taken":       {"A Pod of that name that is there at first is of others.", func(c *cluster) { fails("", 0, nil, false)(c); neighbours(c) }, false, "", true},
		"TakenLater":  {"So is one with the label of another object.", func(c *cluster) { fails("Pod", 1, away, false)(c); neighbours(c) }, false, "connection reset", true},
		"Secret":      {"A Secret that was made without an answer is the run's.", fails("Secret", 1, away, true), true, "", true},
		"NoSecret":    {"A run whose inputs are refused does not begin, and its Pod goes.", fails("Secret", 1, kerrors.NewBadRequest("no"), false), false, "", false},
		"OtherSecret": {"Nor does one whose Secret is there already.", func(c *cluster) { c.plant() }, false, "", false},
		"Follows":     {"A provider that does not lead any more gives no inputs.", func(c *cluster) { c.x.config.Leads = func() bool { return false } }, false, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				tc.change(c)
				e := c.execute(nil)

				if got := c.reported().Run.Message; tc.says != "" && !strings.Contains(got, tc.says) {
					t.Errorf("%s\nThe run should say what it waits for, not %q", tc.reason, got)
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

// plant a Secret where that of the run is to be.
func (c *cluster) plant() {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: c.job.Pod().Name}, Data: map[string][]byte{"payload.000": []byte("x")}}
	needs.OK(c.t, c.kube.Create(c.t.Context(), s))
}

// TestQuotaPace counts the requests of a run that a quota refuses for long, and cancels it.
func TestQuotaPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.refuse = func(string, client.Object) error {
			return kerrors.NewForbidden(corev1.Resource("pods"), "x", errors.New("exceeded quota: pods"))
		}
		e := c.execute(nil)

		time.Sleep(10 * time.Minute)

		before := len(c.requests())

		time.Sleep(10 * time.Minute)

		if got := len(c.requests()) - before; got < 5 || got > 15 {
			t.Errorf("The API server was asked %d times in ten minutes", got)
		}

		if c.reported().Plan != c.job.Plan() {
			t.Error("What waits for long is decided about anew.")
		}

		e.revoke()

		if got := <-e.ended; got.Run.Phase != common.PhaseCanceled || got.Run.Reason != runs.ReasonNotStarted || !got.Untouched {
			t.Errorf("Execute(...): %+v", got.Run)
		}
	})
}

// TestAttach has a provider follow a run that its predecessor has begun. It never gives a Pod its inputs.
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
		// follows is true if the run goes on, and deletes if its Pod is told to end.
		follows, deletes bool
		// untouched is true for a run that has certainly not begun.
		untouched bool
	}{
		"Waits":     {"A Pod with its inputs is followed.", func(*cluster) {}, true, false, false},
		"Runs":      {"So is one that runs.", starts, true, false, false},
		"NoSecret":  {"A Pod without inputs has not begun, and is deleted.", forge(nil), false, true, true},
		"Removed":   {"One whose inputs were removed may have.", func(c *cluster) { starts(c); forge(nil)(c) }, false, true, false},
		"Unproved":  {"A Secret without a proof gives nothing.", forge(func(s *corev1.Secret) { s.Annotations[annotationProof] = "" }), false, true, true},
		"Forged":    {"A payload that others have made is none.", forge(func(s *corev1.Secret) { s.Data["payload.000"] = []byte("x") }), false, true, true},
		"NoPod":     {"Where there is no Pod, the run has ended, and it may have been deleted by force.", func(c *cluster) { c.gone() }, false, false, false},
		"Neighbour": {"A status that names the Pod of a neighbour leads nowhere.", func(c *cluster) { c.job.Object.UID = "thief" }, false, false, false},
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
						t.Errorf("%s\nThe next run waits for a Pod that was not seen to stop, not before %s", tc.reason, got.NotBefore)
					}
				}

				if got := len(c.requests("create Secret", "create Pod")); got != asked {
					t.Errorf("%s\nNothing should be made for a run that was begun", tc.reason)
				}
			})
		})
	}
}

// TestEnds ends a run in some ways while its Pod is on its node and may have begun.
func TestEnds(t *testing.T) {
	waits, working := container(containerRun, waiting("ContainerCreating", "")), container(containerRun, running())
	stops := func(change ...func(*corev1.Pod)) func(*cluster, *execution) {
		return func(c *cluster, _ *execution) { c.gone(change...) }
	}
	cancels := func(e *execution) { e.cancel() }
	revokes := func(e *execution) { e.revoke() }

	for name, tc := range map[string]struct {
		reason string
		state  func(*corev1.Pod)
		tell   func(*execution)
		then   func(*cluster, *execution)

		phase           common.RunPhase
		why             string
		untouched, rest bool
	}{
		"Revoked":        {"A run that waits is given up.", waits, revokes, stops(deleted, container(containerRun, notStarted("ContainerStatusUnknown", ""))), common.PhaseCanceled, runs.ReasonNotStarted, true, false},
		"RevokedBegins":  {"It may begin in that moment.", waits, revokes, stops(deleted, container(containerRun, terminated(143, "Error", ""))), common.PhaseCanceled, runner.ReasonCanceled, false, false},
		"Canceled":       {"A run that has not begun has changed nothing.", waits, cancels, stops(deleted, container(containerRun, notStarted("ContainerStatusUnknown", ""))), common.PhaseCanceled, runner.ReasonCanceled, true, false},
		"CanceledRuns":   {"One that has begun may have.", working, cancels, stops(deleted, container(containerRun, terminated(143, "Error", ""))), common.PhaseCanceled, runner.ReasonCanceled, false, false},
		"CanceledUnseen": {"So may one whose end was not seen.", waits, cancels, stops(deleted), common.PhaseCanceled, runner.ReasonCanceled, false, true},
		"Forced":         {"A Pod that is deleted by force may work on.", working, nil, stops(), common.PhaseInterrupted, runs.ReasonPodEnded, false, true},
		"Evicted":        {"A Pod that is told to end says how it has.", working, nil, stops(deleted, condition(corev1.DisruptionTarget, corev1.ConditionTrue, "EvictionByEvictionAPI", "x"), container(containerRun, terminated(143, "Error", ""))), common.PhaseInterrupted, runs.ReasonPodEnded, false, false},
		"Failed":         {"A Pod may fail that has waited.", waits, nil, func(c *cluster, _ *execution) { c.node(status("OutOfcpu", "x"), failed) }, common.PhaseInterrupted, runs.ReasonPodEnded, true, false},
		"Ended":          {"A container may end without a report.", working, nil, func(c *cluster, _ *execution) { c.node(container(containerRun, terminated(1, "Error", ""))) }, common.PhaseFailed, runs.ReasonInternal, false, false},
		"NoImage":        {"What cannot start for long is given up.", container(containerRun, waiting("ErrImagePull", "")), func(*execution) { time.Sleep(2 * stuckFor) }, stops(deleted, container(containerRun, notStarted("ContainerStatusUnknown", ""))), common.PhaseFailed, runs.ReasonPodNotStarted, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				e := c.execute(nil)
				c.node(tc.state)

				time.Sleep(2 * idleAfter)

				if tc.tell != nil {
					tc.tell(e)
					e.goesOn(t, "A Pod that is told to end has not ended.")
				}

				tc.then(c, e)

				got := <-e.ended
				if got.Run.Phase != tc.phase || got.Run.Reason != tc.why || got.Untouched != tc.untouched || got.NotBefore.IsZero() == tc.rest || got.Plan != "" {
					t.Errorf("%s\nExecute(...): untouched=%t, not before %s, %+v", tc.reason, got.Untouched, got.NotBefore, got.Run)
				}
			})
		})
	}
}

func failed(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }

// TestUnscheduled gives up a run while its Pod has no node: it goes as it was seen, or gets a node in that moment.
func TestUnscheduled(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		scheduled bool
		finalizer string
		want      string
	}{
		"Goes":      {"It has not begun.", false, "", runs.ReasonNotStarted},
		"Held":      {"Nor has one that Kueue keeps by its finalizer.", false, "kueue.x-k8s.io/managed", runs.ReasonNotStarted},
		"Scheduled": {"It begins in that moment, which the watch does not show yet: its play is canceled.", true, "", runner.ReasonCanceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				c.refuse = func(verb string, o client.Object) error {
					if p, ok := o.(*corev1.Pod); ok && verb == "create" && tc.finalizer != "" {
						p.Finalizers, p.Spec.SchedulingGates = []string{tc.finalizer}, []corev1.PodSchedulingGate{{Name: "kueue.x-k8s.io/admission"}}
					}

					return nil
				}
				e := c.execute(nil)

				time.Sleep(2 * idleAfter)

				if got := c.reported(); got.Run.Phase != common.PhaseQueued || tc.finalizer != "" &&
					got.Run.Message != "the Pod is held by the scheduling gate kueue.x-k8s.io/admission: CreatedWorkload: Created Workload: ns/pod-x" {
					t.Errorf("What holds the Pod should be said: %+v", got.Run)
				}

				if tc.scheduled {
					c.hangs = true
					c.node(container(containerRun, running()))
					c.hangs = false
				}

				e.revoke()

				if tc.scheduled {
					e.goesOn(t, "A Pod that is told to end has not ended.")
					c.gone(container(containerRun, terminated(143, "Error", "")))
				}

				if got := <-e.ended; got.Run.Reason != tc.want || got.Untouched == tc.scheduled {
					t.Errorf("%s\nExecute(...): untouched=%t, %+v", tc.reason, got.Untouched, got.Run)
				}
			})
		})
	}
}

// TestWatchHangs has the watch show nothing of a Pod that starts and ends. Others take the labels of another one.
func TestWatchHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		e := c.execute(nil)
		c.writes(common.PhaseRunning, common.PhaseSucceeded)
		c.hangs = true
		c.node(container(containerRun, terminated(0, "Completed", "")))

		time.Sleep(2 * watchFor)

		if got := <-e.ended; got.Run.Phase != common.PhaseSucceeded {
			t.Errorf("Execute(...): %+v", got.Run)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		e := c.execute(nil)
		c.node(container(containerRun, running()))

		hidden := c.pod()
		hidden.Labels = nil
		c.saw(hidden, false)

		time.Sleep(2 * watchFor)
		e.goesOn(t, "A Pod that others hide from the watch runs on.")
		e.leave()
		<-e.ended
	})
}

// TestUnread cannot read the log of a Pod that has ended. What has succeeded is not repeated.
func TestUnread(t *testing.T) {
	sidecar := container("proxy", running())

	for name, tc := range map[string]struct {
		reason string
		state  func(*corev1.Pod)
		waits  bool
	}{
		"Succeeded": {"What has succeeded is waited for.", container(containerRun, terminated(0, "Completed", "")), true},
		"Sidecar":   {"Also where another container goes on.", func(p *corev1.Pod) { sidecar(p); container(containerRun, terminated(0, "Completed", ""))(p) }, true},
		"Failed":    {"What has failed may have no last report, and is repeated anyway.", container(containerRun, terminated(1, "Error", "")), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				c.away = true
				e := c.execute(nil)
				c.node(tc.state)

				time.Sleep(time.Hour)

				if tc.waits {
					e.goesOn(t, tc.reason)

					if m := c.reported().Run.Message; !strings.Contains(m, "the node is away") {
						t.Errorf("The status should say why the result is not known, not %q", m)
					}

					e.cancel()
				}

				got := <-e.ended
				if canceled := got.Run.Phase == common.PhaseCanceled; canceled != tc.waits || got.Untouched {
					t.Errorf("%s\nExecute(...): %+v", tc.reason, got.Run)
				}
			})
		})
	}
}

// TestCanceledEnded cancels a run that has ended meanwhile: its result is in its log.
func TestCanceledEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		e := c.execute(nil)
		e.leave()
		<-e.ended
		c.writes(common.PhaseSucceeded)
		c.node(container(containerRun, terminated(0, "Completed", "")))

		e = c.execute(c.inProgress())
		e.cancel()

		if got := <-e.ended; got.Run.Phase != common.PhaseSucceeded || len(c.requests("delete Pod")) > 0 {
			t.Errorf("Execute(...): %+v", got.Run)
		}
	})
}

// TestLeft ends the provider, which deletes nothing.
func TestLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		e := c.execute(nil)
		c.node(container(containerRun, running()))
		e.leave()

		if got := <-e.ended; got.Run.Phase.Finished() || len(c.requests("delete Pod", "delete Secret")) > 0 {
			t.Errorf("Execute(...): %+v, requests %v", got.Run, c.requests())
		}
	})
}

// TestUndeleted cannot delete the Pod of a run that is canceled. It says so, and goes on.
func TestUndeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)

		var answers atomic.Bool

		c.refuse = func(verb string, _ client.Object) error {
			if verb == "delete" && !answers.Load() {
				return errors.New("a webhook does not answer")
			}

			return nil
		}
		e := c.execute(nil)
		c.node(container(containerRun, running()))
		e.cancel()
		e.goesOn(t, "It is in progress.")

		if m := c.reported().Run.Message; !strings.Contains(m, "cannot delete the Pod of a run: a webhook does not answer") {
			t.Errorf("The status should say so, not %q", m)
		}

		answers.Store(true)

		time.Sleep(2 * lookEvery)
		c.gone(deleted, container(containerRun, terminated(143, "Error", "")))

		if got := <-e.ended; got.Run.Phase != common.PhaseCanceled {
			t.Errorf("Execute(...): %+v", got.Run)
		}
	})
}

// TestPanic has a mistake of the provider end the run that meets it, and no others. Its Pod goes, so
// that it does not run beside the next one.
func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.x.config.Leads = func() bool { panic("hunter2") }

		got := <-c.execute(nil).ended
		if got.Run.Phase != common.PhaseInterrupted || got.Run.Reason != runs.ReasonInternal || !got.Blameless || strings.Contains(got.Run.Message, "hunter2") {
			t.Errorf("Execute(...): %+v", got)
		}

		if c.pod() != nil {
			t.Error("The Pod should be deleted.")
		}
	})
}

// TestLost takes away the rights of the provider in a namespace while a run is in progress. They go with the
// namespace, too.
func TestLost(t *testing.T) {
	terminating := kerrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "x", errors.New("it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}

	for name, tc := range map[string]struct {
		reason string
		// secrets is what making a Secret returns.
		secrets error
		attach  bool
		want    bool
	}{
		"Rights":      {"A run whose Pod may run goes on, and says which rights are missing.", nil, false, false},
		"Terminating": {"A namespace that is deleted takes its runs with it.", terminating, false, true},
		"Gone":        {"So does one that is not there any more.", kerrors.NewNotFound(corev1.Resource("namespaces"), "ns"), false, true},
		"Attach":      {"The next provider may find that.", terminating, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				e := c.execute(nil)
				c.node(container(containerRun, running()))

				c.mu.Lock()
				c.refuse = func(verb string, o client.Object) error {
					if _, ok := o.(*corev1.Secret); ok && verb == "create" {
						return tc.secrets
					}

					return kerrors.NewForbidden(corev1.Resource("pods"), "x", errors.New("no RBAC policy matched"))
				}
				c.denies = true
				c.mu.Unlock()

				if tc.attach {
					e.leave()
					<-e.ended
					e = c.execute(c.inProgress())
				}

				time.Sleep(watchFor + lookEvery)

				if m := c.reported().Run.Message; !tc.attach && !strings.Contains(m, "kubectl create rolebinding") {
					t.Errorf("The run should say which rights are missing, not %q", m)
				}

				if !tc.want {
					e.goesOn(t, tc.reason)
					e.leave()
					<-e.ended

					return
				}

				if got := <-e.ended; got.Run.Phase != common.PhaseInterrupted || got.Untouched || got.NotBefore.IsZero() {
					t.Errorf("%s\nThe next run waits until its Pod has had time to end: %+v", tc.reason, got)
				}
			})
		})
	}
}

// TestSweep looks after Pods of runs that are not followed.
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
		"Runs":    {"A Pod whose object does not know it is deleted.", []func(*corev1.Pod){old}, true, []string{"delete Pod"}},
		"Ended":   {"One that has ended is kept, and its Secret goes.", []func(*corev1.Pod){old, ended}, true, []string{"delete Secret"}},
		"Known":   {"One that its object shows is followed soon.", []func(*corev1.Pod){old}, false, nil},
		"Young":   {"So is one that was just made.", nil, true, nil},
		"Other":   {"A Pod with another name is of others.", []func(*corev1.Pod){old, func(p *corev1.Pod) { p.Name = "mine" }}, true, nil},
		"Deleted": {"One that is told to end is let end.", []func(*corev1.Pod){old, deleted, func(p *corev1.Pod) { p.Finalizers = []string{"example.org/x"} }}, true, nil},
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

// TestOwner gives each Pod an owner: drains and policies refuse Pods that nothing looks after.
func TestOwner(t *testing.T) {
	config := &metav1.OwnerReference{Kind: "ClusterProviderConfig", Name: "c", UID: "c", Controller: new(true)}
	own := metav1.OwnerReference{APIVersion: "ansible.m.crossplane.io/v1alpha1", Kind: "AnsibleRun", Name: "n", UID: "u", Controller: new(true)}

	for name, tc := range map[string]struct {
		namespace string
		want      metav1.OwnerReference
	}{
		"Same":    {"ns", own},
		"Cluster": {"", own},
		"Other":   {"team", *config},
	} {
		t.Run(name, func(t *testing.T) {
			r := onCluster(t)
			r.todo.Object.Namespace, r.todo.Inputs.Owner = tc.namespace, config

			if diff := cmp.Diff([]metav1.OwnerReference{tc.want}, podOf(t, r).OwnerReferences); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// TestAdoptMetadata: what a check has read of its object, it has read when it began, whatever its Pod says.
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
		t.Errorf("adopt(...): want the digest of what the run was begun with, %q, got %q", want, got)
	}
}
