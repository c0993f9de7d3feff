package pods

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// watchFor is how long a Pod is watched until the API server is asked for it again, whatever the watch shows: nothing
// ends it when rights are taken away, and it may hang.
const watchFor = time.Minute

// A sight is how a Pod was seen; nil if there is none. The error says why it could not be seen.
type sight struct {
	pod *corev1.Pod
	err error
}

// observe a Pod until it is gone, or the context is done: ask for it unless it was just made, watch it, and again.
func (x *Backend) observe(ctx context.Context, key client.ObjectKey, made *corev1.Pod, see func(sight)) {
	for p := made; ctx.Err() == nil; p = nil {
		if p == nil {
			s := x.ask(ctx, key)
			if see(s); s.pod == nil && s.err == nil {
				return
			}

			p = s.pod
		}

		pause := lookEvery

		if p != nil {
			gone, err := x.watch(ctx, p, see)

			switch {
			case gone:
				see(sight{})
				return
			case err != nil:
				see(sight{err: err})
			default:
				pause = time.Second
			}
		}

		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// ask the API server for a Pod.
func (x *Backend) ask(ctx context.Context, key client.ObjectKey) sight {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()

	p := &corev1.Pod{}
	if err := x.config.Client.Get(ctx, key, p); err != nil {
		return sight{err: errors.Wrap(client.IgnoreNotFound(err), "cannot get the Pod of the run")}
	}

	return sight{pod: p}
}

// watch a Pod for some time. It is true once the Pod is gone.
func (x *Backend) watch(ctx context.Context, p *corev1.Pod, see func(sight)) (gone bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, watchFor)
	defer cancel()

	w, err := x.config.Client.Watch(ctx, &corev1.PodList{}, &client.ListOptions{
		Namespace: p.Namespace, FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, p.Name),
		Raw: &metav1.ListOptions{ResourceVersion: p.ResourceVersion},
	})
	if err != nil {
		return false, errors.Wrap(err, "cannot watch the Pod of the run")
	}
	defer w.Stop()

	for e := range w.ResultChan() {
		is, ok := e.Object.(*corev1.Pod)
		if !ok {
			continue // It ends with a Status.
		}

		// What has no node is deleted without being told to end.
		if e.Type == watch.Deleted && is.Spec.NodeName == "" {
			is.DeletionTimestamp = new(metav1.Now())
		}

		if see(sight{pod: is}); e.Type == watch.Deleted {
			return is.UID == p.UID, nil
		}
	}

	return false, nil
}
