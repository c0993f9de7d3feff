package pods

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

const image = "provider:1"

// A cluster with the Pod of one run. Tests control its node.
type cluster struct {
	t *testing.T
	x *Backend
	// kube is the API server for other clients.
	kube client.WithWatch
	job  runs.Run

	// refuse returns the error of a request of the provider; nil for a request that succeeds. It may create the object
	// itself.
	refuse func(verb string, o client.Object) error
	// hangs is true while the watch sends no events, and denies while the provider has no rights.
	hangs, denies bool
	// reviewed is the last right that was reviewed.
	reviewed *authorizationv1.ResourceAttributes

	mu sync.Mutex
	// asked has the requests of the provider.
	asked []string
	// events are the events of the watch; nil before it begins. lost is the Pod at its deletion, which a watch that begins
	// at an earlier resource version sends; nil if it was not deleted.
	events *watch.RaceFreeFakeWatcher
	lost   *corev1.Pod
	// log is the log of the Pod, perhaps several times. away is true if its node cannot be reached.
	log     string
	endless bool
	away    bool
	// last report of the run.
	last runs.Report
}

// newCluster returns a cluster with some objects, and a run with the payload of fill.
func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()

	c := &cluster{t: t, kube: fake.NewClientBuilder().WithObjects(objects...).Build()}
	c.job = runs.Run{Spec: fill(t).Spec, Request: "token", Kind: schema.GroupVersionKind{Group: "ansible.m.crossplane.io", Version: "v1alpha1", Kind: "AnsibleRun"}}
	c.job.Inputs.Credentials = nil // They take several Secrets.

	config := Config{
		REST: &rest.Config{Transport: c}, Client: interceptor.NewClient(c.kube, interceptor.Funcs{
			Create: c.create, Delete: c.remove, Get: c.get, List: c.list, Patch: c.patch, Watch: c.watch,
		}),
		Own: func(context.Context) (Own, error) { return Own{Image: image}, nil },
		Key: []byte("key of the provider"), Log: logging.NewNopLogger(), Leads: func() bool { return true },
		Over: func(context.Context, ObjectReference) (bool, error) { return true, nil },
	}

	x, err := New(config)
	needs.OK(t, err)

	c.x = x

	return c
}

// onCluster returns a run on a cluster that is neither begun nor followed.
func onCluster(t *testing.T, objects ...client.Object) *run {
	t.Helper()

	c := newCluster(t, objects...)

	r := c.x.newRun(t.Context(), c.job, runs.Watch{Provider: t.Context(), Wanted: t.Context(), Progress: func(runs.Report) {}})
	r.sealKey = sealed.NewKey()

	return r
}

// podOf returns the Pod that the provider makes for a run.
func podOf(t *testing.T, r *run, change ...func(*corev1.Pod)) *corev1.Pod {
	t.Helper()

	p, err := r.newPod(r.todo, Own{Image: image}, 1)
	needs.OK(t, err)

	p.UID = "pod"
	for _, fn := range change {
		fn(p)
	}

	return p
}

// ask records a request, and returns its error.
func (c *cluster) ask(ctx context.Context, verb string, o client.Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.asked = append(c.asked, verb+" "+strings.TrimPrefix(fmt.Sprintf("%T", o), "*v1."))

	if c.refuse != nil {
		if err := c.refuse(verb, o); err != nil {
			return err
		}
	}

	return ctx.Err()
}

func (c *cluster) get(ctx context.Context, k client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := c.ask(ctx, "get", o); err != nil {
		return err
	}

	return k.Get(ctx, key, o, opts...)
}

func (c *cluster) list(ctx context.Context, k client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
	if events, ok := l.(*corev1.EventList); ok {
		events.Items = []corev1.Event{
			{Type: corev1.EventTypeWarning, Reason: "FailedMount", Message: "no such ConfigMap"},
			{Type: corev1.EventTypeNormal, Reason: "CreatedWorkload", Message: "Created Workload: ns/pod-x"},
		}

		return c.ask(ctx, "list", &corev1.Event{})
	}

	return k.List(ctx, l, opts...)
}

// watch returns a watch of the Pod. Its first event is the present state.
func (c *cluster) watch(ctx context.Context, k client.WithWatch, _ client.ObjectList, _ ...client.ListOption) (watch.Interface, error) {
	if err := c.ask(ctx, "watch", &corev1.Pod{}); err != nil {
		return nil, err
	}

	w, p := watch.NewRaceFreeFake(), &corev1.Pod{}
	context.AfterFunc(ctx, w.Stop)

	c.mu.Lock()
	c.events = w
	lost := c.lost
	c.mu.Unlock()

	if k.Get(ctx, client.ObjectKey{Namespace: c.job.Pod().Namespace, Name: c.job.Pod().Name}, p) == nil {
		c.saw(p, false)
	} else if lost != nil {
		c.saw(lost, true)
	}

	return w, nil
}

func (c *cluster) patch(ctx context.Context, k client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if err := c.ask(ctx, "patch", o); err != nil {
		return err
	}

	return k.Patch(ctx, o, p, opts...)
}

func (c *cluster) create(ctx context.Context, k client.WithWatch, o client.Object, opts ...client.CreateOption) error {
	switch o := o.(type) {
	case *authorizationv1.SelfSubjectAccessReview:
		o.Status.Allowed, c.reviewed = !c.denies, o.Spec.ResourceAttributes
		return nil
	case *authenticationv1.SelfSubjectReview:
		o.Status.UserInfo.Username = "system:serviceaccount:crossplane-system:provider-ansible"
		return nil
	case *corev1.Pod:
		o.UID, o.CreationTimestamp, o.Status.Phase = types.UID("pod of "+time.Now().String()), metav1.Now(), corev1.PodPending
	}

	if err := c.ask(ctx, "create", o); err != nil {
		return err
	}

	return k.Create(ctx, o, opts...)
}

// remove deletes an object like an API server: a Pod with a node gets a deletion timestamp, and is removed when its
// node says so.
func (c *cluster) remove(ctx context.Context, k client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
	if err := c.ask(ctx, "delete", o); err != nil {
		return err
	}

	if _, ok := o.(*corev1.Pod); !ok {
		return k.Delete(ctx, o, opts...)
	}

	p := &corev1.Pod{}
	if err := k.Get(ctx, client.ObjectKeyFromObject(o), p); err != nil {
		return err
	}

	d := (&client.DeleteOptions{}).ApplyOptions(opts)
	if as := d.Preconditions; *as.UID != p.UID || as.ResourceVersion != nil && *as.ResourceVersion != p.ResourceVersion {
		return kerrors.NewConflict(corev1.Resource("pods"), p.Name, errors.New("precondition"))
	}

	if p.Spec.NodeName != "" {
		p.DeletionTimestamp = new(metav1.Now())
		c.saw(p, false)

		return nil
	}

	err := k.Delete(ctx, p)
	if len(p.Finalizers) > 0 {
		p.DeletionTimestamp = new(metav1.Now())
	}

	c.saw(p, len(p.Finalizers) == 0)

	return err
}

// saw sends an event of the watch to the provider.
func (c *cluster) saw(p *corev1.Pod, gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if gone && !c.hangs {
		c.lost = p.DeepCopy()
	}

	switch {
	case c.hangs || c.events == nil || c.events.IsStopped():
	case gone:
		c.events.Delete(p.DeepCopy())
	default:
		c.events.Modify(p.DeepCopy())
	}
}

// found reads the object with the name of the run's Pod; false if there is none.
func (c *cluster) found(o client.Object) bool {
	c.t.Helper()
	synctest.Wait()

	err := c.kube.Get(c.t.Context(), client.ObjectKey{Namespace: c.job.Pod().Namespace, Name: c.job.Pod().Name}, o)
	needs.OK(c.t, client.IgnoreNotFound(err))

	return err == nil
}

// pod returns the Pod of the run; nil if there is none.
func (c *cluster) pod() *corev1.Pod {
	c.t.Helper()

	if p := (&corev1.Pod{}); c.found(p) {
		return p
	}

	return nil
}

// secret returns the first Secret of the run; nil if there is none.
func (c *cluster) secret() *corev1.Secret {
	c.t.Helper()

	if s := (&corev1.Secret{}); c.found(s) {
		return s
	}

	return nil
}

// node changes the Pod, which is on the node from now on.
func (c *cluster) node(change ...func(*corev1.Pod)) {
	c.t.Helper()

	p := c.pod()
	p.Spec.NodeName = "n"
	p.Status.ContainerStatuses, p.Status.InitContainerStatuses = nil, nil

	for _, fn := range change {
		fn(p)
	}

	status := p.Status
	needs.OK(c.t, c.kube.Update(c.t.Context(), p))

	p.Status = status
	needs.OK(c.t, c.kube.Status().Update(c.t.Context(), p))

	c.saw(p, false)
	synctest.Wait()
}

// gone removes the Pod, after a last change.
func (c *cluster) gone(change ...func(*corev1.Pod)) {
	c.t.Helper()

	p := c.pod()
	needs.OK(c.t, c.kube.Delete(c.t.Context(), p.DeepCopy()))

	if len(change) > 0 {
		p.Status.ContainerStatuses = nil
	}

	for _, fn := range change {
		fn(p)
	}

	c.saw(p, true)
	synctest.Wait()
}

// mounted returns the directory of the payload in a Pod with a UID.
func (c *cluster) mounted(uid types.UID) fs.FS {
	c.t.Helper()

	dir := fstest.MapFS{filePod: {Data: []byte(uid)}}
	for k, v := range c.secret().Data {
		dir[k] = &fstest.MapFile{Data: v}
	}

	return dir
}

// writes writes reports into the log of the Pod.
func (c *cluster) writes(phases ...common.RunPhase) {
	c.t.Helper()

	p, err := ReadPayload(c.mounted(c.pod().UID))
	needs.OK(c.t, err)

	text := &bytes.Buffer{}

	w, err := sealed.NewWriter(text, p.Key, p.Spec.ID, p.Pod)
	needs.OK(c.t, err)

	for _, phase := range phases {
		needs.OK(c.t, w.Report(runs.Report{Run: common.Run{Phase: phase}}))
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	c.log = text.String()
}

// RoundTrip returns the log of a Pod.
func (c *cluster) RoundTrip(*http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.away {
		return nil, errors.New("the node is away")
	}

	var log io.Reader = strings.NewReader(c.log)
	if c.endless {
		log = &repeated{text: c.log}
	}

	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(log)}, nil
}

// An execution is a call of Execute.
type execution struct {
	// cancel and revoke act on the run, and leave ends the provider.
	cancel, revoke, leave context.CancelFunc

	ended chan runs.Report
}

// execute starts the run, or follows the run that the predecessor has begun.
func (c *cluster) execute(begun *common.Run) *execution {
	c.t.Helper()

	j := c.job
	if j.Begun = begun; begun != nil {
		// The status has the identity of the run only.
		j.Inputs = fill(c.t).Spec.Inputs
		j.Inputs.Credentials, j.Inputs.Kubernetes = nil, nil
	}

	e := &execution{ended: make(chan runs.Report, 1)}
	ctx, cancel := context.WithCancel(c.t.Context())
	wanted, revoke := context.WithCancel(c.t.Context())
	provider, leave := context.WithCancel(c.t.Context())
	e.cancel, e.revoke, e.leave = cancel, revoke, leave

	go func() {
		e.ended <- c.x.Execute(ctx, j, runs.Watch{Wanted: wanted, Provider: provider, Progress: func(r runs.Report) {
			c.mu.Lock()
			defer c.mu.Unlock()

			c.last = r
		}})
	}()

	synctest.Wait()

	return e
}

// goesOn fails the test if a run has ended.
func (e *execution) goesOn(t *testing.T, reason string) {
	t.Helper()
	synctest.Wait()

	select {
	case r := <-e.ended:
		t.Fatalf("%s\nThe run should go on: %s %s %q", reason, r.Run.Phase, r.Run.Reason, r.Run.Message)
	default:
	}
}

// inProgress returns the run in the status.
func (c *cluster) inProgress() *common.Run {
	return &common.Run{
		ID: c.job.ID, Mode: c.job.Mode, State: c.job.State, Phase: common.PhaseRunning, StartTime: new(metav1.Now()), Pod: c.job.Pod(),
	}
}

// requests returns the requests so far that match one of some verbs and kinds; all requests without arguments.
func (c *cluster) requests(some ...string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()

	return slices.DeleteFunc(slices.Clone(c.asked), func(s string) bool { return len(some) > 0 && !slices.Contains(some, s) })
}

// reported returns the last report.
func (c *cluster) reported() runs.Report {
	synctest.Wait()

	c.mu.Lock()
	defer c.mu.Unlock()

	return c.last
}
