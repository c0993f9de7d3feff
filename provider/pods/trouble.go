package pods

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// eventsAfter is how old a Pod is when its events are read, which cost the API server a look at all those of the
	// namespace, and eventsEvery how often that is.
	eventsAfter = 10 * time.Second
	eventsEvery = time.Minute
	// maxEvents is how many events are read: others may have written very many.
	maxEvents = 10
)

// trouble is why the cluster does not start the Pod, which only events say: a volume that is not there, or a queue that
// holds the Pod.
func (r *run) trouble(ctx context.Context) string {
	now := time.Now()
	if now.Sub(r.pod.CreationTimestamp.Time) < eventsAfter || now.Sub(r.askedEvents) < eventsEvery {
		return r.events
	}

	r.askedEvents, r.events = now, ""

	l := &corev1.EventList{}

	// What is not known now is asked for later.
	_ = r.config.Client.List(ctx, l, client.Limit(maxEvents), client.InNamespace(r.pod.Namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("involvedObject.uid", string(r.pod.UID))})

	var last metav1.Time

	held := len(r.pod.Spec.SchedulingGates) > 0

	for _, e := range l.Items {
		if (held || e.Type == corev1.EventTypeWarning) && !e.LastTimestamp.Before(&last) {
			last, r.events = e.LastTimestamp, e.Reason+": "+e.Message
		}
	}

	return r.events
}
