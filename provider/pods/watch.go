package pods

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// watchFor is the duration of a watch of a Pod before the Pod is read again: a watch may hang, and goes on when rights
// are taken away.
const watchFor = time.Minute

// tell passes news to the goroutine of the run, unless the run has ended.
func (r *run) tell(news func()) {
	select {
	case r.news <- news:
	case <-r.lasting.Done():
	}
}

// observe gets and watches the Pod in a loop, until the Pod is gone or the run is left. A Pod that was just created is
// not read first.
func (r *run) observe(made *corev1.Pod) {
	for p := made; r.lasting.Err() == nil; p = nil {
		gone, err := r.watchPod(p)
		pause := time.Second

		if gone || err != nil {
			r.tell(func() { r.sees(nil, err) })

			pause = lookEvery
		}

		if gone {
			return
		}

		select {
		case <-time.After(pause):
		case <-r.lasting.Done():
		}
	}
}

// watchPod watches the Pod for watchFor. It returns true once the Pod is gone.
func (r *run) watchPod(p *corev1.Pod) (gone bool, err error) {
	ctx, cancel := context.WithTimeout(r.lasting, watchFor)
	defer cancel()

	if p == nil {
		p = &corev1.Pod{}

		err := r.config.Client.Get(ctx, r.ref, p)
		if kerrors.IsNotFound(err) {
			return true, nil
		}

		if err != nil {
			return false, errors.Wrap(err, "cannot get the Pod of the run")
		}

		r.tell(func() { r.sees(p, nil) })
	}

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
			continue // The last event of a failed watch is a Status.
		}

		// A Pod without a node is deleted without a deletion timestamp.
		if e.Type == watch.Deleted && is.Spec.NodeName == "" {
			is.DeletionTimestamp = new(metav1.Now())
		}

		if r.tell(func() { r.sees(is, nil) }); e.Type == watch.Deleted {
			return is.UID == p.UID, nil
		}
	}

	return false, nil
}
