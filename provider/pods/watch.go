package pods

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// maxKept is the length of the longest value that the cache keeps of the metadata of a Pod, in bytes. Those of the
// provider are shorter.
const maxKept = 512

// watches show the Pods of runs: all of the cluster where the provider may, and otherwise those of each namespace that
// has had runs.
type watches struct {
	config Config

	// starting has the namespaces with a watch that is being started.
	starting singleflight.Group

	mu  sync.Mutex
	all map[string]cache.Cache
	// followers are told what is seen of their Pods.
	followers map[runKey]*sight
}

func newWatches(c Config) *watches {
	return &watches{config: c, all: map[string]cache.Cache{}, followers: map[runKey]*sight{}}
}

// A runKey identifies a run. The id alone is what the status of an object says, which may be the
// id of another object's run.
type runKey struct{ object, run string }

// keyOf the run that a Pod belongs to.
func keyOf(p *corev1.Pod) runKey {
	return runKey{p.Labels[labelObject], p.Labels[labelRun]}
}

// A sight of a Pod is how it was seen last.
type sight struct {
	// changed has one once there is something new.
	changed chan struct{}

	mu   sync.Mutex
	pod  *corev1.Pod
	gone bool
}

// last sight of the Pod; nil before it was seen. Gone is true if the watch does not show it any more: it was deleted,
// or has lost its labels.
func (s *sight) last() (pod *corev1.Pod, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.pod, s.gone
}

// see the Pod, unless more was seen of it since it was seen as before.
func (s *sight) see(before, pod *corev1.Pod, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.pod == before {
		s.pod, s.gone = pod, gone
	}
}

// of returns the watch for a namespace, and starts it if need be. The error is a rights.Error where rights are missing.
func (w *watches) of(ctx context.Context, namespace string) (cache.Cache, error) {
	w.mu.Lock()
	c := cmp.Or(w.all[""], w.all[namespace])
	w.mu.Unlock()

	if c != nil {
		return c, nil
	}

	// Others wait for it, too, when what asks first is canceled.
	started := w.starting.DoChan(namespace, func() (any, error) { return nil, w.start(namespace) })

	select {
	case r := <-started:
		if r.Err != nil {
			return nil, r.Err
		}

		return w.of(ctx, namespace)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// start the watch of a namespace, or of the cluster. It ends with the provider.
func (w *watches) start(namespace string) error {
	ctx, cancel := context.WithTimeout(w.config.Context, 2*requestTimeout)
	defer cancel()

	if err := checkRights(ctx, w.config.Client, namespace); err != nil {
		return err
	}

	has, err := labels.NewRequirement(labelRun, selection.Exists, nil)
	if err != nil {
		return errors.Wrap(err, "cannot select the Pods of runs")
	}

	c, err := cache.New(w.config.REST, cache.Options{
		Scheme:               w.config.Client.Scheme(),
		Mapper:               w.config.Client.RESTMapper(),
		DefaultNamespaces:    map[string]cache.Config{namespace: {}},
		DefaultLabelSelector: labels.NewSelector().Add(*has),
		DefaultTransform:     strip,
	})
	if err != nil {
		return errors.Wrap(err, "cannot watch Pods")
	}

	i, err := c.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err == nil {
		_, err = i.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(v any) { w.saw(v, false) },
			UpdateFunc: func(_, v any) { w.saw(v, false) },
			DeleteFunc: func(v any) { w.saw(v, true) },
		})
	}

	if err != nil {
		return errors.Wrap(err, "cannot watch Pods")
	}

	watching, stop := context.WithCancel(w.config.Context)

	go func() { _ = c.Start(watching) }() // It fails only when it is started twice.

	if !c.WaitForCacheSync(ctx) {
		stop()

		return errors.New("cannot list Pods")
	}

	context.AfterFunc(w.config.Context, stop)

	w.mu.Lock()
	defer w.mu.Unlock()

	w.all[namespace] = c

	return nil
}

// saw a Pod, or that it is gone. Others may give Pods of their own the labels of a run, but not its name.
func (w *watches) saw(v any, gone bool) {
	if missed, ok := v.(toolscache.DeletedFinalStateUnknown); ok {
		v = missed.Obj
	}

	p, ok := v.(*corev1.Pod)
	if !ok || p.Name != podName(p.Labels[labelRun]) {
		return
	}

	w.mu.Lock()
	defer w.mu.Unlock()

	s := w.followers[keyOf(p)]
	if s == nil {
		return
	}

	s.mu.Lock()
	s.pod, s.gone = p, gone
	s.mu.Unlock()

	select {
	case s.changed <- struct{}{}:
	default: // It knows already.
	}
}

// follow the Pod of a run until release is called.
func (w *watches) follow(run runKey) (s *sight, release func()) {
	s = &sight{changed: make(chan struct{}, 1)}

	w.mu.Lock()
	defer w.mu.Unlock()

	w.followers[run] = s

	return s, func() {
		w.mu.Lock()
		defer w.mu.Unlock()

		if w.followers[run] == s { // Not the next one's, which may have begun to follow before this one has ended.
			delete(w.followers, run)
		}
	}
}

// list all watches.
func (w *watches) list() []cache.Cache {
	w.mu.Lock()
	defer w.mu.Unlock()

	return slices.Collect(maps.Values(w.all))
}

func (w *watches) followed(run runKey) bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.followers[run] != nil
}

// strip what is not read of Pods. Others may have made them, and very many with much in them.
func strip(v any) (any, error) {
	p, ok := v.(*corev1.Pod)
	if !ok {
		return v, nil
	}

	gates := p.Spec.SchedulingGates
	p.Spec = corev1.PodSpec{NodeName: p.Spec.NodeName, SchedulingGates: slices.Clone(gates[:min(1, len(gates))])}
	p.ObjectMeta = metav1.ObjectMeta{
		Namespace: p.Namespace, Name: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion,
		CreationTimestamp: p.CreationTimestamp, DeletionTimestamp: p.DeletionTimestamp,
		Labels: some(p.Labels, labelRun, labelObject),
		Annotations: some(p.Annotations, annotationKind, annotationNamespace, annotationName, annotationKeepFor,
			annotationSecrets),
	}

	return p, nil
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

// isOwn is true for what the provider has made for a run of an object. Its name says which run.
func isOwn(o client.Object, object types.UID) bool {
	return o.GetLabels()[labelObject] == string(object)
}
