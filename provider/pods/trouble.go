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
	// eventsAfter is the minimum age of a Pod for reading its events, and eventsEvery the interval: for a list, the API
	// server reads all events of the namespace.
	eventsAfter = 10 * time.Second
	eventsEvery = time.Minute
	// maxEvents is the largest number of events that are read, since other clients may have written very many.
	maxEvents = 10
)

// trouble returns the reason why the cluster does not start the Pod, if only events have it: for example a missing
// volume, or a queue that holds the Pod.
func (r *run) trouble(ctx context.Context) string {
	now := time.Now()
	if now.Sub(r.pod.CreationTimestamp.Time) < eventsAfter || now.Sub(r.askedEvents) < eventsEvery {
		return r.events
	}

	r.askedEvents, r.events = now, ""

	l := &corev1.EventList{}

	// After an error, the next list may succeed.
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
