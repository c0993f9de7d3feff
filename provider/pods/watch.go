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

// observe the Pod until it is gone, or the run is left: ask for it unless it was just made, watch it, and again.
func (r *run) observe(made *corev1.Pod) {
	for p := made; r.lasting.Err() == nil; p = nil {
		if p == nil {
			s := r.ask()
			if r.tell(s); s.pod == nil && s.err == nil {
				return
			}

			p = s.pod
		}

		pause := lookEvery

		if p != nil {
			gone, err := r.watchPod(p)

			switch {
			case gone:
				r.tell(sight{})
				return
			case err != nil:
				r.tell(sight{err: err})
			default:
				pause = time.Second
			}
		}

		select {
		case <-time.After(pause):
		case <-r.lasting.Done():
		}
	}
}

// tell the run how the Pod is.
func (r *run) tell(s sight) {
	select {
	case r.sights <- s:
	case <-r.lasting.Done():
	}
}

// ask the API server for the Pod.
func (r *run) ask() sight {
	ctx, cancel := context.WithTimeout(r.lasting, requestTimeout)
	defer cancel()

	p := &corev1.Pod{}
	if err := r.config.Client.Get(ctx, r.ref, p); err != nil {
		return sight{err: errors.Wrap(client.IgnoreNotFound(err), "cannot get the Pod of the run")}
	}

	return sight{pod: p}
}

// watchPod for some time. It is true once the Pod is gone.
func (r *run) watchPod(p *corev1.Pod) (gone bool, err error) {
	ctx, cancel := context.WithTimeout(r.lasting, watchFor)
	defer cancel()

	w, err := r.config.Client.Watch(ctx, &corev1.PodList{}, &client.ListOptions{
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

		if r.tell(sight{pod: is}); e.Type == watch.Deleted {
			return is.UID == p.UID, nil
		}
	}

	return false, nil
}
