package pods

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// podPage is how many Pods of a run are read from the API server at a time, and askers for how many runs that is done
// at a time. A run has one Pod, but whoever may make Pods may have made very many, and such that take 12 MiB each.
const (
	podPage = 2
	askers  = 8
)

// maxKept is the length of the longest value that the cache keeps of the metadata of a Job or a Pod, in bytes. Those of
// the provider are shorter.
const maxKept = 512

// fieldRun indexes Pods by the run that they belong to.
const fieldRun = "run"

// scopes watch the Jobs and Pods of runs: all of the cluster where the provider may, and
// otherwise those of each namespace that has had runs.
type scopes struct {
	config Config

	mu  sync.Mutex
	all map[string]*scope
	// followers are told of changes.
	followers map[runKey]chan struct{}
}

// A runKey identifies a run. The id alone is what the status of an object says, which may be the
// id of another object's run.
type runKey struct{ object, run string }

// keyOf the run that a Job or a Pod belongs to.
func keyOf(o client.Object) runKey {
	return runKey{o.GetLabels()[labelObject], o.GetLabels()[labelRun]}
}

// A scope is a namespace whose Jobs and Pods are watched, or the cluster.
type scope struct {
	cache.Cache

	// blind is true while the cache may be old, since the API server refuses to tell of Jobs or Pods.
	blind atomic.Bool

	ready chan struct{}
	err   error
}

// failed is told why a watch ended.
func (s *scope) failed(ctx context.Context, r *toolscache.Reflector, err error) {
	if kerrors.IsForbidden(err) {
		s.blind.Store(true)
	}

	toolscache.DefaultWatchErrorHandler(ctx, r, err)
}

// of returns the scope for a namespace, and starts it if need be. The error is a rights.Error
// where rights are missing.
func (s *scopes) of(ctx context.Context, namespace string) (*scope, error) {
	s.mu.Lock()

	sc, known := s.all[""]
	if !known {
		sc, known = s.all[namespace]
	}

	if !known {
		sc = &scope{ready: make(chan struct{})}
		s.all[namespace] = sc
	}
	s.mu.Unlock()

	if !known {
		// Others wait for it, too, when who asks first is canceled.
		go s.startFor(sc, namespace)
	}

	select {
	case <-sc.ready:
		return sc, sc.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// startFor starts a scope for who waits for it. The next who asks tries again if that fails.
func (s *scopes) startFor(sc *scope, namespace string) {
	ctx, cancel := context.WithTimeout(s.config.Context, 2*requestTimeout)
	defer cancel()

	sc.err = s.start(ctx, sc, namespace)
	if sc.err != nil {
		s.mu.Lock()
		delete(s.all, namespace)
		s.mu.Unlock()
	}

	close(sc.ready)
}

// start the watches of a scope. They end with the provider.
func (s *scopes) start(ctx context.Context, sc *scope, namespace string) error {
	if err := checkRights(ctx, s.config.Client, namespace); err != nil {
		return err
	}

	has, err := labels.NewRequirement(labelRun, selection.Exists, nil)
	if err != nil {
		return errors.Wrap(err, "cannot select the Jobs of runs")
	}

	sc.Cache, err = cache.New(s.config.REST, cache.Options{
		Scheme:               s.config.Client.Scheme(),
		Mapper:               s.config.Client.RESTMapper(),
		DefaultNamespaces:    map[string]cache.Config{namespace: {}},
		DefaultLabelSelector: labels.NewSelector().Add(*has),
		DefaultTransform:     strip,

		DefaultWatchErrorHandler: sc.failed,
	})
	if err != nil {
		return errors.Wrap(err, "cannot watch Jobs and Pods")
	}

	err = sc.IndexField(ctx, &corev1.Pod{}, fieldRun,
		func(o client.Object) []string { return []string{o.GetLabels()[labelRun]} })
	if err != nil {
		return errors.Wrap(err, "cannot index Pods")
	}

	for _, o := range []client.Object{&batchv1.Job{}, &corev1.Pod{}} {
		i, err := sc.GetInformer(ctx, o, cache.BlockUntilSynced(false))
		if err != nil {
			return errors.Wrap(err, "cannot watch Jobs and Pods")
		}

		if _, err := i.AddEventHandler(s.tell()); err != nil {
			return errors.Wrap(err, "cannot watch Jobs and Pods")
		}
	}

	watching, stop := context.WithCancel(s.config.Context)

	go func() { _ = sc.Start(watching) }() // It fails only when it is started twice.

	if !sc.WaitForCacheSync(ctx) {
		stop()

		return errors.New("cannot list Jobs and Pods")
	}

	context.AfterFunc(s.config.Context, stop)

	return nil
}

// tell followers of changes.
func (s *scopes) tell() toolscache.ResourceEventHandler {
	tell := func(v any) {
		if gone, ok := v.(toolscache.DeletedFinalStateUnknown); ok {
			v = gone.Obj
		}

		if o, ok := v.(client.Object); ok {
			s.changed(keyOf(o))
		}
	}

	return toolscache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: func(_, v any) { tell(v) }, DeleteFunc: tell}
}

func (s *scopes) changed(run runKey) {
	s.mu.Lock()
	defer s.mu.Unlock()

	select {
	case s.followers[run] <- struct{}{}:
	default: // There is no follower, or it knows already.
	}
}

// follow the changes of a run until release is called.
func (s *scopes) follow(run runKey) (changes <-chan struct{}, release func()) {
	c := make(chan struct{}, 1)

	s.mu.Lock()
	defer s.mu.Unlock()

	s.followers[run] = c

	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()

		if s.followers[run] == c { // Not the next one's, which may have begun to follow before this one has ended.
			delete(s.followers, run)
		}
	}
}

// followed is true for a run that is followed.
func (s *scopes) followed(run runKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.followers[run] != nil
}

// live view of the run, from the API server.
func (r *run) live(ctx context.Context) (view, error) {
	v, err := r.view(ctx, asker{r.config.Client, r.asking}, client.MatchingLabels{labelRun: r.job.ID},
		client.Limit(podPage))
	if r.hidden = kerrors.IsForbidden(err); err == nil {
		r.lostSince = time.Time{}
	}

	return v, err
}

// An asker lists when it has a place.
type asker struct {
	client.Reader

	places *semaphore.Weighted
}

// List objects.
func (a asker) List(ctx context.Context, l client.ObjectList, opts ...client.ListOption) error {
	if err := a.places.Acquire(ctx, 1); err != nil {
		return err
	}
	defer a.places.Release(1)

	return a.Reader.List(ctx, l, opts...)
}

// known view of the run: from the cache, unless that may be old, or the run is to end. A cache that lags behind never
// shows that a Pod had started which is gone meanwhile.
func (r *run) known(ctx context.Context, ending bool) (view, error) {
	unsure := ending && r.canceled.IsZero() && r.mayHaveBegun()

	if r.hidden = false; !r.scope.blind.Load() && !unsure {
		return r.view(ctx, r.scope, client.MatchingFields{fieldRun: r.job.ID})
	}

	v, err := r.live(ctx)
	if err == nil {
		r.scope.blind.Store(false)
	}

	return v, err
}

// view of the run, from the cache of a scope or from the API server. A Job that is not of this run,
// and a Pod that is not of its Job, are none. One that only says that it is of this run is unproved.
func (r *run) view(ctx context.Context, reader client.Reader, by ...client.ListOption) (view, error) {
	v := view{job: &batchv1.Job{}}

	err := reader.Get(ctx, types.NamespacedName{Namespace: r.ref.Namespace, Name: r.ref.Name}, v.job)
	if client.IgnoreNotFound(err) != nil {
		return view{}, errors.Wrap(err, "cannot get the Job of the run")
	}

	switch {
	case err != nil:
		v.job = nil
	case !r.owns(v.job):
		// Without the UID, and with another key, the provider cannot know its own Job.
		if v.unproved = r.uid == "" && r.names(v.job); !v.unproved {
			v.job = nil
		}
	}

	o := (&client.ListOptions{Namespace: r.ref.Namespace}).ApplyOptions(by)

	for {
		l := &corev1.PodList{}
		if err := reader.List(ctx, l, o); err != nil {
			return view{}, errors.Wrap(err, "cannot list the Pods of the run")
		}

		for i := range l.Items {
			p := &l.Items[i]
			if r.ownsPod(p, v.job) && (v.pod == nil || isRather(p, v.pod)) {
				v.pod = p.DeepCopy()
			}
		}

		// A cache shows all at once.
		if o.Continue = l.Continue; o.Limit == 0 || o.Continue == "" {
			return v, nil
		}
	}
}

// isRather is true if p is rather the Pod of a run than other: the one made last of those that may
// run, and before the gate of one was opened the one made first, whoever asks.
func isRather(p, other *corev1.Pod) bool {
	waits := isGated(p)
	if waits != isGated(other) {
		return !waits
	}

	made := p.CreationTimestamp.Compare(other.CreationTimestamp.Time)
	if made == 0 {
		made = strings.Compare(p.Name, other.Name)
	}

	return made < 0 == waits
}

// isGated is true for a Pod that waits for the provider.
func isGated(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == gate })
}

// strip what is not read of Jobs and Pods. Others may have made them, and very many with much in them.
func strip(v any) (any, error) {
	switch o := v.(type) {
	case *corev1.Pod:
		gated := isGated(o)
		o.ObjectMeta, o.Spec = kept(o.ObjectMeta), corev1.PodSpec{NodeName: o.Spec.NodeName}
		o.Annotations = nil

		if gated {
			o.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: gate}}
		}
	case *batchv1.Job:
		o.ObjectMeta, o.Spec = kept(o.ObjectMeta), batchv1.JobSpec{Suspend: o.Spec.Suspend}
		o.Status = batchv1.JobStatus{Conditions: o.Status.Conditions, StartTime: o.Status.StartTime}
	}

	return v, nil
}

// kept of metadata is what tells which object it is, and whose.
func kept(m metav1.ObjectMeta) metav1.ObjectMeta {
	all := metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp,
		Labels: some(m.Labels, labelRun, labelObject, batchv1.JobNameLabel),
		Annotations: some(m.Annotations,
			annotationProof, annotationKind, annotationNamespace, annotationName, annotationKeepFor, annotationReleased),
	}

	if c := metav1.GetControllerOfNoCopy(&m); c != nil && len(c.UID) <= maxKept {
		all.OwnerReferences = []metav1.OwnerReference{{UID: c.UID, Controller: new(true)}}
	}

	return all
}

// some entries of a map, unless they are too long.
func some(all map[string]string, keys ...string) map[string]string {
	m := map[string]string{}

	for _, k := range keys {
		if v, ok := all[k]; ok && len(v) <= maxKept {
			m[k] = v
		}
	}

	return m
}

// startCluster watches the whole cluster, where the provider has the rights for that.
func (s *scopes) startCluster(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*requestTimeout)
	defer cancel()

	sc := &scope{ready: make(chan struct{})}
	if err := s.start(ctx, sc, ""); err != nil {
		return err
	}

	close(sc.ready)

	s.mu.Lock()
	defer s.mu.Unlock()

	s.all[""] = sc

	return nil
}

// list the scopes that are ready.
func (s *scopes) list() []*scope {
	s.mu.Lock()
	defer s.mu.Unlock()

	var all []*scope

	for _, sc := range s.all {
		select {
		case <-sc.ready:
			all = append(all, sc)
		default:
		}
	}

	return all
}
