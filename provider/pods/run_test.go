package pods

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clientset "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/rights"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
)

// A mistake of the provider should end the run that meets it, and no others. Its Job goes, so
// that it does not run beside the next one.
func TestPanic(t *testing.T) {
	r := onCluster(t)
	r = onCluster(t, jobOf(t, r))

	ready := make(chan struct{})
	close(ready)

	x := r.Executor
	x.scopes = &scopes{config: x.config, all: map[string]*scope{"": {ready: ready}}, followers: map[runKey]chan struct{}{}}
	x.config.Own = func(context.Context) (Own, error) { panic("hunter2") }

	got := x.Execute(t.Context(), r.job, executor.Watch{})
	if got.Run.Phase != common.PhaseInterrupted || got.Run.Reason != executor.ReasonInternal || !got.Blameless || strings.Contains(got.Run.Message, "hunter2") {
		t.Errorf("Execute(...): %+v", got)
	}

	if err := x.config.Client.Get(t.Context(), client.ObjectKey{Namespace: r.ref.Namespace, Name: r.ref.Name}, &batchv1.Job{}); err == nil {
		t.Error("The Job should be deleted.")
	}
}

// A run may be canceled when the API server has made its Job and its Secret, and the answer did not
// come. Then a play may begin, so that the run has ended when its Job is gone.
func TestCanceledUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onCluster(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()

		cluster, _ := r.config.Client.(client.WithWatch)
		away := 2
		ready := make(chan struct{})
		close(ready)

		x := r.Executor
		x.config.Context = t.Context()
		x.config.Own = func(context.Context) (Own, error) { return Own{Image: image}, nil }
		x.config.Client = interceptor.NewClient(cluster, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if _, last := o.(*corev1.Secret); last {
					cancel()

					return errors.Join(c.Create(context.WithoutCancel(ctx), o, opts...), ctx.Err())
				}

				return c.Create(ctx, o, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				if away--; away >= 0 {
					return errors.New("the API server is away")
				}

				return c.Delete(ctx, o, opts...)
			},
		})
		indexed := interceptor.NewClient(cluster, interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, _ ...client.ListOption) error {
				return c.List(ctx, l)
			},
		})
		x.scopes = &scopes{config: x.config, all: map[string]*scope{"": {Cache: &asCache{reader: indexed}, ready: ready}}, followers: map[runKey]chan struct{}{}}

		got := x.Execute(ctx, r.job, executor.Watch{})
		if got.Run.Phase != common.PhaseCanceled || got.Untouched {
			t.Errorf("Execute(...): %+v", got)
		}

		if err := cluster.Get(t.Context(), client.ObjectKey{Namespace: r.ref.Namespace, Name: r.ref.Name}, &batchv1.Job{}); err == nil || away >= 0 {
			t.Error("The Job should be gone before the run has ended.")
		}
	})
}

// asCache reads what is on a cluster.
type asCache struct {
	informertest.FakeInformers

	reader client.Reader
}

func (c *asCache) List(ctx context.Context, l client.ObjectList, opts ...client.ListOption) error {
	return c.reader.List(ctx, l, opts...)
}

func (c *asCache) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return c.reader.Get(ctx, key, o, opts...)
}

// Caches do not agree with each other: one may show that the Job has failed before the other one
// shows that its Pod had started. The report in the log counts all the same.
func TestEndedUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := jobOf(t, onCluster(t), failed("BackoffLimitExceeded"))
		p := podOf(j, "p", time.Second)
		p.UID = "p"
		p.Status = aPod(corev1.PodFailed, container(containerRun, terminated(1, "Error", ""))).Status

		r := onCluster(t, j, p)
		r.key, r.stop = sealed.NewKey(), func() {}
		r.scope = &scope{Cache: &asCache{reader: r.config.Client}}
		r.config.Context = t.Context()
		r.logs = clientset.NewClientset()

		if r.ended(t.Context()) || r.following == nil {
			t.Fatal("A run should not end before the log of its Pod was read.")
		}

		<-r.logged

		if !r.ended(t.Context()) || r.report.Run.Reason != executor.ReasonInternal {
			t.Errorf("A run whose Pod has left no report ends without one: %+v", r.report.Run)
		}

		r.stop()
	})
}

// The result of a Pod that has succeeded is in its log. While its node cannot be reached the run has not ended, so that
// nothing is repeated, and it can be canceled.
func TestUnreadLog(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		phase  corev1.PodPhase
		code   int32
		want   bool
	}{
		"Succeeded": {"What has succeeded is waited for.", corev1.PodSucceeded, 0, false},
		"Failed":    {"What has failed may have no last report, and is repeated anyway.", corev1.PodFailed, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := jobOf(t, onCluster(t))
				p := podOf(j, "p", time.Second)
				p.UID = "p"
				p.Status = aPod(tc.phase, container(containerRun, terminated(tc.code, "", ""))).Status

				r := onCluster(t, j, p)
				cluster, _ := r.config.Client.(client.WithWatch)
				reads := interceptor.NewClient(cluster, interceptor.Funcs{
					List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, _ ...client.ListOption) error {
						return c.List(ctx, l)
					},
					Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
						return errors.Join(c.Delete(ctx, o, opts...), c.Delete(ctx, p.DeepCopy()))
					},
				})
				r.key, r.stop = sealed.NewKey(), func() {}
				r.scope = &scope{Cache: &asCache{reader: reads}}
				r.config.Context = t.Context()
				r.config.Client = reads
				r.report.Run.Phase = common.PhaseRunning

				logs, err := kubernetes.NewForConfig(&rest.Config{Transport: unreachable{}})
				if err != nil {
					t.Fatal(err)
				}

				r.logs, r.now = logs, time.Now

				provider, stop := context.WithCancel(t.Context())
				defer stop()

				r.watch = executor.Watch{Progress: func(executor.Report) {}, Wanted: context.Background(), Provider: provider}

				ctx, cancel := context.WithCancel(provider)
				defer cancel()

				done := make(chan executor.Report, 1)
				go func() { done <- r.follow(ctx, make(chan struct{})) }()

				time.Sleep(time.Hour)
				synctest.Wait()

				select {
				case got := <-done:
					if !tc.want {
						t.Fatalf("%s\nended: %+v", tc.reason, got.Run)
					}
				default:
					if tc.want {
						t.Fatal(tc.reason)
					}

					if m := r.report.Run.Message; !strings.Contains(m, "the node is away") {
						t.Errorf("The status should say why nothing is known of the result, not %q", m)
					}
				}

				cancel()
				time.Sleep(time.Minute)
				synctest.Wait()

				if !tc.want {
					if got := <-done; got.Run.Phase != common.PhaseCanceled || got.Untouched {
						t.Errorf("A run whose result is not waited for any more should be canceled: %+v", got.Run)
					}
				}

				r.stop()
			})
		})
	}
}

// unreachable is the way to a node that is away.
type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("the node is away")
}

// Kubernetes may make more than one Pod for a Job. One of them is let run.
func TestOpen(t *testing.T) {
	gated := func(p *corev1.Pod) {
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "other"}, {Name: gate}}
	}

	for name, tc := range map[string]struct {
		reason   string
		pods     []string
		attached bool
		// stale is true if the cache shows only the Pod b.
		stale bool
		job   func(*batchv1.Job)
		want  string
	}{
		"None":      {reason: "There is nothing to open.", pods: nil, want: ""},
		"One":       {reason: "The Pod may run.", pods: []string{"a gated"}, want: "a"},
		"Two":       {reason: "The one that was made first may run.", pods: []string{"a gated", "b gated"}, want: "a"},
		"Open":      {reason: "One may run already.", pods: []string{"a gated", "b open"}, want: ""},
		"Suspended": {reason: "The Pods of a suspended Job go.", pods: []string{"a gated"}, job: suspended, want: ""},
		"Attached":  {reason: "A former provider had opened none.", pods: []string{"a gated", "b gated"}, attached: true, want: "a"},
		"Stale":     {reason: "A former provider had opened one, which the cache does not show.", pods: []string{"a open", "b gated"}, attached: true, stale: true, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			change := tc.job
			if change == nil {
				change = func(*batchv1.Job) {}
			}

			j := jobOf(t, onCluster(t), change)
			objects := []client.Object{j}

			for i, text := range tc.pods {
				name, state, _ := strings.Cut(text, " ")
				p := podOf(j, name, time.Minute-time.Duration(i)*time.Second)
				p.UID, p.Status.Phase = types.UID(name), corev1.PodPending

				if state == "gated" {
					gated(p)
				}

				objects = append(objects, p)
			}

			r := onCluster(t, objects...)
			r.key = sealed.NewKey()

			if tc.attached {
				r.since = r.now()
			}

			v, err := r.view(t.Context(), r.config.Client, client.MatchingLabels{labelRun: r.job.ID})
			if err != nil {
				t.Fatal(err)
			}

			if tc.stale {
				v.pod = podOf(j, "b", 0)
				gated(v.pod)
			}

			for range 2 {
				if err := r.open(t.Context(), v); err != nil {
					t.Errorf("%s\nopen(...): %v", tc.reason, err)
				}
			}

			l := &corev1.PodList{}
			if err := r.config.Client.List(t.Context(), l); err != nil {
				t.Fatal(err)
			}

			var opened string

			for _, p := range l.Items {
				if len(p.Spec.SchedulingGates) == 1 {
					opened += p.Name
				}
			}

			if opened != tc.want {
				t.Errorf("%s\nopened %q, want %q", tc.reason, opened, tc.want)
			}
		})
	}
}

// A Job may be suspended and resumed while the watch is away, or scaled to no Pods and back. Its next Pod is let run, as if
// the provider had seen that. No other Pod is, whatever became of the one that was let run.
func TestStartsOver(t *testing.T) {
	made := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))

	for name, tc := range map[string]struct {
		reason string
		// resumed is true for a Job that was suspended, and resumed after the Pod that was let run was made.
		resumed bool
		job     func(*batchv1.Job)
		// hidden is true if the cache does not show that Pod any more, and the API server does.
		hidden bool
		want   bool
	}{
		"Missed":   {reason: "The Job has made another Pod.", resumed: true, want: true},
		"Scaled":   {reason: "A Job that was scaled has, too, and nothing shows why.", want: true},
		"Finished": {reason: "The Job has failed meanwhile.", resumed: true, job: failed("BackoffLimitExceeded"), want: false},
		"Stale":    {reason: "The API server still shows the Pod that was let run.", resumed: true, hidden: true, want: false},
	} {
		t.Run(name, func(t *testing.T) {
			j := jobOf(t, onCluster(t), func(j *batchv1.Job) {
				if tc.job != nil {
					tc.job(j)
				}

				if tc.resumed {
					j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{
						Type: batchv1.JobSuspended, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(made.Add(time.Minute)),
					})
				}
			})
			next := podOf(j, "next", 0)
			next.UID, next.Spec.SchedulingGates = "next", []corev1.PodSchedulingGate{{Name: gate}}

			cached := onCluster(t, j, next)
			r := cached

			if tc.hidden {
				was := podOf(j, "was", time.Hour)
				was.UID, was.Status = "was", aPod(corev1.PodRunning, container(containerRun, running())).Status
				r = onCluster(t, j, next, was)
			}

			r.key, r.meant, r.begun = sealed.NewKey(), "was", true
			r.report.Run.Phase = common.PhaseRunning
			r.scope = &scope{Cache: &asCache{reader: byRun{cached.config.Client}}}

			if r.look(t.Context(), false) {
				t.Fatal("The run should go on.")
			}

			if err := r.config.Client.Get(t.Context(), client.ObjectKeyFromObject(next), next); err != nil {
				t.Fatal(err)
			}

			if got := !isGated(next); got != tc.want {
				t.Errorf("%s\nThe next Pod may run: want %t, got %t", tc.reason, tc.want, got)
			}

			if again := !r.begun && r.touched && r.report.Run.Phase == common.PhaseQueued; again != tc.want {
				t.Errorf("%s\nThe run begins again: want %t, got %+v", tc.reason, tc.want, r.report)
			}
		})
	}
}

// TestNotSeenYet looks at a run whose Pod the cache shows as it was before it was let run. That is so after each start, and
// costs no requests.
func TestNotSeenYet(t *testing.T) {
	j := jobOf(t, onCluster(t))
	p := podOf(j, "p", 0)
	p.UID, p.Spec.SchedulingGates = "p", []corev1.PodSchedulingGate{{Name: gate}}

	r := onCluster(t, j, p)
	cluster, _ := r.config.Client.(client.WithWatch)
	requests := 0
	r.config.Client = interceptor.NewClient(cluster, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			requests++
			return errors.New("asked")
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			requests++
			return errors.New("asked")
		},
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			requests++
			return nil
		},
	})
	r.scope = &scope{Cache: &asCache{reader: byRun{cluster}}}
	r.key = sealed.NewKey()

	for range 3 {
		r.look(t.Context(), false)
	}

	if requests != 1 {
		t.Errorf("requests: want 1, which opens the gate, got %d", requests)
	}
}

// A provider may find a run that has ended, of an object that does not want it any more. The run has
// a result, which is in the log of its Pod.
func TestCanceledEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		state  corev1.ContainerState
		want   bool
	}{
		"Ended":   {"There is nothing to cancel.", terminated(0, "Completed", ""), false},
		"Running": {"What runs is canceled.", running(), true},
		"Waiting": {"What has not begun is canceled.", waiting("ContainerCreating", ""), true},
	} {
		t.Run(name, func(t *testing.T) {
			j := jobOf(t, onCluster(t))
			p := podOf(j, "p", time.Second)
			p.UID, p.Status = "p", aPod(corev1.PodRunning, container(containerRun, tc.state)).Status

			r := onCluster(t, j, p)
			r.key, r.stop = sealed.NewKey(), func() {}
			reads := interceptor.NewClient(r.config.Client.(client.WithWatch), interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, _ ...client.ListOption) error {
					return c.List(ctx, l)
				},
			})
			r.scope = &scope{Cache: &asCache{reader: reads}}
			r.config.Context = t.Context()
			r.logs = clientset.NewClientset()

			r.look(t.Context(), true)
			defer r.stop()

			err := r.config.Client.Get(t.Context(), client.ObjectKeyFromObject(j), j)
			if deleted := err != nil; deleted != tc.want {
				t.Errorf("%s\ndeleted: %t", tc.reason, deleted)
			}
		})
	}
}

// A status may name the run of another object. Who follows that is still told of its changes.
func TestAttackFollowers(t *testing.T) {
	s := onCluster(t).scopes

	victim, release := s.follow(runKey{"u", "id"})
	defer release()

	_, thief := s.follow(runKey{"thief", "id"})
	thief()

	// Nor does it matter when the one that has followed the run before ends.
	_, before := s.follow(runKey{"again", "id"})

	again, release := s.follow(runKey{"again", "id"})
	defer release()

	before()

	s.changed(runKey{"u", "id"})
	s.changed(runKey{"again", "id"})

	for _, c := range []<-chan struct{}{victim, again} {
		select {
		case <-c:
		default:
			t.Error("The run should be told of its changes.")
		}
	}
}

// A run that cannot be followed yet may be in progress. It has not ended before it was found, also
// if it is canceled. The provider may end.
func TestAttach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onCluster(t)
		r.config.Context = t.Context()
		r.scopes.config, r.scopes.all = r.config, map[string]*scope{}

		ctx, end := context.WithCancel(t.Context())
		attached := make(chan error, 1)
		last := *r
		last.watch.Provider = ctx

		go func() { attached <- r.attach() }()

		time.Sleep(10 * time.Minute)

		select {
		case err := <-attached:
			t.Fatalf("attach(): %v", err)
		default:
		}

		left := make(chan error, 1)

		go func() { left <- last.attach() }()

		synctest.Wait()
		end()

		if err := <-left; err == nil || !last.isLeft() {
			t.Errorf("attach() when the provider ends: %v", err)
		}

		// Now it can be found.
		ready := make(chan struct{})
		close(ready)
		r.scopes.mu.Lock()
		r.scopes.all[""] = &scope{ready: ready}
		r.scopes.mu.Unlock()

		if err := <-attached; err != nil {
			t.Errorf("attach(): %v", err)
		}
	})
}

// What a check has read of its object, it has read when it began, whatever its Pod says.
func TestAdoptMetadata(t *testing.T) {
	r := onCluster(t)
	r.job.Mode, r.job.Inputs.Approval = common.ModeCheck, true

	begun, want := Payload{Spec: r.job.Spec}, r.job.Object.Digest(r.job.DigestKey)
	r.job.Object.Annotations = map[string]string{"example.org/text": "changed since"}

	r.adopt(begun)

	forged := r.report
	forged.Run.MetadataDigest = "forged"
	r.adoptReport(forged)

	if got := r.report.Run.MetadataDigest; got != want {
		t.Errorf("adopt(...): want the digest of what the run was begun with, %q, got %q", want, got)
	}
}

// An API server that has just started denies everything for a moment.
func TestRightsAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		denied int
		want   bool
	}{
		"Moment": {"That is not said.", 1, false},
		"Always": {"Rights that are missing are named.", 1000, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := onCluster(t)
				asked := 0
				r.config.Context = t.Context()
				r.config.Client = interceptor.NewClient(r.config.Client.(client.WithWatch), interceptor.Funcs{
					Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
						if _, ok := o.(*authorizationv1.SelfSubjectAccessReview); !ok {
							return nil
						}

						// No watches can be started here.
						if asked++; asked > tc.denied*len(needed()) {
							return errors.New("no more about rights")
						}

						return nil
					},
				})
				r.scopes.config, r.scopes.all = r.config, map[string]*scope{}

				err := r.begin(t.Context())
				if err == nil || errors.As(err, new(*rights.Error)) != tc.want {
					t.Errorf("%s\nbegin(...): %v", tc.reason, err)
				}
			})
		})
	}
}

// A run that waits can be revoked: nothing of it has begun, unless its Pod begins in the same moment.
func TestRevoke(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		// refused is true if a quota refuses the Job.
		refused bool
		// pod is the state of the container of the Pod, and began that when it is told to end; nil for no Pod.
		pod, began *corev1.ContainerState
		// restarted is true for a provider that ends meanwhile, and suspended is how long after it was made the Job was
		// resumed; zero if it never was suspended.
		restarted bool
		suspended time.Duration
		// want is the reason of its end; empty for a run that is not decided about anew, and goes on.
		want string
	}{
		"Refused":   {reason: "There is no Job.", refused: true, want: executor.ReasonNotStarted},
		"NoPod":     {reason: "There is no Pod.", want: executor.ReasonNotStarted},
		"Waits":     {reason: "The Pod waits.", pod: new(waiting("ContainerCreating", "")), want: executor.ReasonNotStarted},
		"Began":     {reason: "It begins in that moment.", pod: new(waiting("ContainerCreating", "")), began: new(running()), want: runner.ReasonCanceled},
		"Begun":     {reason: "It has begun.", pod: new(running())},
		"Restarted": {reason: "The next provider knows as much.", pod: new(waiting("ContainerCreating", "")), restarted: true, want: executor.ReasonNotStarted},
		"Suspended": {reason: "It may have begun before.", pod: new(waiting("ContainerCreating", "")), restarted: true, suspended: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, j := waitingOn(t, tc.refused, tc.pod, tc.began, tc.suspended)

				last := atomic.Pointer[executor.Report]{}
				last.Store(&executor.Report{})

				wanted, revoke := context.WithCancel(t.Context())
				ended := make(chan executor.Report, 2)
				begin := func(begun *common.Run) context.CancelFunc {
					provider, leave := context.WithCancel(t.Context())
					j.Begun = begun

					go func() {
						ended <- x.Execute(t.Context(), j, executor.Watch{Provider: provider, Wanted: wanted, Progress: func(r executor.Report) { last.Store(&r) }})
					}()

					return leave
				}

				leave := begin(nil)

				time.Sleep(idleAfter - time.Second)
				synctest.Wait()

				if last.Load().Plan != "" {
					t.Error("At first nothing is decided anew.")
				}

				if tc.restarted {
					leave()

					r := <-ended
					last.Store(&executor.Report{})
					leave = begin(&r.Run)
				}

				time.Sleep(idleAfter + lookEvery)
				synctest.Wait()

				if got := last.Load().Plan == j.Plan(); got != (tc.want != "") {
					t.Errorf("%s\nIt is decided about anew: %t, %+v", tc.reason, got, last.Load())
				}

				revoke()
				time.Sleep(time.Minute)
				leave()

				got := <-ended
				if got.Run.Reason != tc.want || got.Run.Phase.Finished() != (tc.want != "") {
					t.Errorf("%s\nExecute(...): %+v", tc.reason, got)
				}

				if tc.want != "" && got.Untouched != (tc.want == executor.ReasonNotStarted) {
					t.Errorf("%s\nExecute(...) says that nothing has begun: %t", tc.reason, got.Untouched)
				}
			})
		})
	}
}

// waitingOn returns an executor on a cluster whose Pods wait, and a job for it.
func waitingOn(t *testing.T, refused bool, state, began *corev1.ContainerState, resumed time.Duration) (*Executor, executor.Job) {
	t.Helper()

	r := onCluster(t)
	x := r.Executor
	cluster, _ := x.config.Client.(client.WithWatch)
	x.now, x.logs = time.Now, clientset.NewClientset()
	x.config.Context = t.Context()
	x.config.Own = func(context.Context) (Own, error) { return Own{Image: image}, nil }
	x.config.Client = interceptor.NewClient(cluster, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			j, isJob := o.(*batchv1.Job)
			if isJob && refused {
				return kerrors.NewForbidden(batchv1.Resource("jobs"), j.Name, errors.New("exceeded quota: jobs"))
			}

			if isJob {
				j.UID, j.CreationTimestamp = "job", metav1.Now()
				if resumed > 0 {
					j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(time.Now().Add(resumed))}}
				}
			}

			err := c.Create(ctx, o, opts...)
			if isJob && state != nil && err == nil {
				p := podOf(j, "p", 0)
				p.UID, p.Spec.SchedulingGates = "p", j.Spec.Template.Spec.SchedulingGates
				p.Status = aPod(corev1.PodPending, container(containerRun, *state)).Status
				err = c.Create(ctx, p)
			}

			return err
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			p := &corev1.Pod{}
			if c.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: "p"}, p) == nil && began == nil {
				_ = c.Delete(ctx, p)
			}

			if began != nil {
				p.Status = aPod(corev1.PodRunning, container(containerRun, *began)).Status
				_ = c.Status().Update(ctx, p)
				time.AfterFunc(20*time.Second, func() { _ = c.Delete(context.WithoutCancel(ctx), p) })
			}

			return c.Delete(ctx, o, opts...)
		},
	})

	ready := make(chan struct{})
	close(ready)

	x.scopes = &scopes{config: x.config, all: map[string]*scope{"": {Cache: &asCache{reader: byRun{cluster}}, ready: ready}}, followers: map[runKey]chan struct{}{}}

	return x, r.job
}

// gatedPod is one that a Job has made just now.
func gatedPod(j *batchv1.Job, name string) *corev1.Pod {
	p := podOf(j, name, 0)
	p.UID, p.Spec.SchedulingGates, p.Status.Phase = types.UID(name), []corev1.PodSchedulingGate{{Name: gate}}, corev1.PodPending

	return p
}

// TestStartsOverLate lets the next Pod of a Job run, whatever was seen of the one before, and in whatever order.
func TestStartsOverLate(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		// suspended is true if the Job was seen suspended, with its Pod stopped. Its next Pod is seen right after that.
		suspended bool
		// late is true if a report of the Pod before comes after that was seen to be gone.
		late bool
	}{
		"Suspended": {"The Job was resumed, and the Pod gone, by the next look.", true, false},
		"Late":      {"A report of the Pod before comes late.", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			var suspend []func(*batchv1.Job)
			if tc.suspended {
				suspend = append(suspend, suspended)
			}

			j := jobOf(t, onCluster(t), suspend...)
			was := podOf(j, "was", time.Hour)
			was.UID, was.Status = "was", aPod(corev1.PodRunning, container(containerRun, running())).Status

			r := onCluster(t, j, was)
			r.scope = &scope{Cache: &asCache{reader: byRun{r.config.Client}}}
			r.key, r.stop, r.report.Run.Phase = sealed.NewKey(), func() {}, common.PhaseRunning
			r.config.Context, r.logs = t.Context(), clientset.NewClientset()

			defer func() { r.stop() }()

			r.look(t.Context(), false)

			if !r.begun {
				t.Fatal("The run should have begun.")
			}

			if tc.suspended {
				was.Status = aPod(corev1.PodFailed, container(containerRun, terminated(1, "Error", ""))).Status
				if err := r.config.Client.Status().Update(t.Context(), was); err != nil {
					t.Fatal(err)
				}

				r.look(t.Context(), false)
			}

			if err := r.config.Client.Delete(t.Context(), was); err != nil {
				t.Fatal(err)
			}

			if tc.late {
				r.look(t.Context(), false)
				r.take(heard{Frame: sealed.Frame{Report: executor.Report{Run: common.Run{Phase: common.PhaseRunning}}}})
			}

			j.Spec.Suspend = nil
			if err := r.config.Client.Update(t.Context(), j); err != nil {
				t.Fatal(err)
			}

			next := gatedPod(j, "next")
			if err := r.config.Client.Create(t.Context(), next); err != nil {
				t.Fatal(err)
			}

			for range 3 {
				r.look(t.Context(), false)
			}

			if err := r.config.Client.Get(t.Context(), client.ObjectKeyFromObject(next), next); err != nil || isGated(next) {
				t.Errorf("%s\nThe next Pod should be let run: %s %q, %v", tc.reason, r.report.Run.Phase, r.report.Run.Message, err)
			}
		})
	}
}

// TestWithoutInputs attaches to a run whose inputs are gone, and whose Pod is not seen to start. Its gate and its
// Job say whether it may have begun.
func TestWithoutInputs(t *testing.T) {
	since := func(status corev1.ConditionStatus) func(*batchv1.Job) {
		return func(j *batchv1.Job) {
			j.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: status, LastTransitionTime: metav1.Now()}}
		}
	}

	for name, tc := range map[string]struct {
		reason       string
		job          []func(*batchv1.Job)
		opened, gone bool
		want         string
	}{
		"Gated":     {reason: "Nobody has let it run.", want: executor.ReasonNotStarted},
		"Opened":    {reason: "It may start in that moment.", opened: true, want: executor.ReasonProviderEnded},
		"Gone":      {reason: "It may have been deleted in the middle of its play.", gone: true, want: executor.ReasonProviderEnded},
		"Suspended": {reason: "So may the Pod of a Job that was suspended.", job: []func(*batchv1.Job){suspended, since(corev1.ConditionTrue)}, gone: true, want: executor.ReasonProviderEnded},
		"Resumed":   {reason: "It may be the next Pod of a Job.", job: []func(*batchv1.Job){since(corev1.ConditionFalse)}, want: executor.ReasonProviderEnded},
	} {
		t.Run(name, func(t *testing.T) {
			j := jobOf(t, onCluster(t), tc.job...)

			p := gatedPod(j, "p")
			if tc.opened {
				p.Spec.SchedulingGates = nil
			}

			r := onCluster(t, j, p)
			r.scope = &scope{Cache: &asCache{reader: byRun{onCluster(t, j.DeepCopy(), p.DeepCopy()).config.Client}}}
			r.key, r.since, r.report.Run.Phase = nil, time.Now(), common.PhaseQueued

			if tc.gone {
				if err := r.config.Client.Delete(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}

			r.look(t.Context(), false)

			if err := r.config.Client.Delete(t.Context(), p); client.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}

			r.scope = &scope{Cache: &asCache{reader: byRun{r.config.Client}}}

			untouched := tc.want == executor.ReasonNotStarted
			if n := &r.report.Run; !r.look(t.Context(), false) || n.Phase != common.PhaseInterrupted || n.Reason != tc.want || r.report.Untouched != untouched {
				t.Errorf("%s\n%+v", tc.reason, r.report)
			}
		})
	}
}

// TestDetached has somebody remove the labels by which a Job knows its Pod. Kubernetes takes the Job off its owners then,
// and makes another Pod. The first one runs on.
func TestDetached(t *testing.T) {
	j := jobOf(t, onCluster(t))
	was := podOf(j, "was", time.Hour)
	was.UID, was.Status = "was", aPod(corev1.PodRunning, container(containerRun, running())).Status
	was.OwnerReferences = nil
	next := gatedPod(j, "next")

	r := onCluster(t, j, was, next)
	r.scope = &scope{Cache: &asCache{reader: byRun{r.config.Client}}}
	r.key, r.stop, r.report.Run.Phase = sealed.NewKey(), func() {}, common.PhaseRunning
	r.config.Context, r.logs = t.Context(), clientset.NewClientset()
	r.meant, r.begun = "was", true

	defer func() { r.stop() }()

	r.look(t.Context(), false)

	if err := r.config.Client.Get(t.Context(), client.ObjectKeyFromObject(next), next); err != nil || !isGated(next) {
		t.Errorf("No Pod should run beside one that runs: %v", err)
	}
}

// TestUnreadSidecar cannot read the log of a run that has succeeded, beside which another container goes on.
func TestUnreadSidecar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := jobOf(t, onCluster(t))
		p := podOf(j, "p", time.Second)
		p.UID = "p"
		p.Status = aPod(corev1.PodRunning, container(containerRun, terminated(0, "Completed", "")), container("proxy", running())).Status

		r := onCluster(t, j, p)
		r.key, r.stop = sealed.NewKey(), func() {}
		r.scope = &scope{Cache: &asCache{reader: byRun{r.config.Client}}}
		r.config.Context, r.now = t.Context(), time.Now
		r.report.Run.Phase = common.PhaseRunning

		logs, err := kubernetes.NewForConfig(&rest.Config{Transport: unreachable{}})
		if err != nil {
			t.Fatal(err)
		}

		r.logs = logs

		provider, stop := context.WithCancel(t.Context())
		defer stop()

		r.watch = executor.Watch{Progress: func(executor.Report) {}, Wanted: context.Background(), Provider: provider}
		done := make(chan executor.Report, 1)

		go func() { done <- r.follow(provider, make(chan struct{})) }()

		time.Sleep(10 * time.Minute)
		stop()

		if got := <-done; got.Run.Phase.Finished() {
			t.Errorf("What has succeeded is waited for, and not repeated: %s %s %q", got.Run.Phase, got.Run.Reason, got.Run.Message)
		}

		r.stop()
	})
}
