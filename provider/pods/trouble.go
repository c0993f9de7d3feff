package pods

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// eventsLeast is the shortest pause of the provider between two lists of events, and eventsShare how much longer it is
	// than the first of them took.
	eventsLeast = 100 * time.Millisecond
	eventsShare = 9
)

// sparing asks for the events of a namespace. The API server has no index of them: it reads all events of a namespace
// for each list. On one that is so busy that Pods start late, as many lists as there are Pods would make everything
// later.
type sparing struct {
	asking sync.Mutex
	next   time.Time
}

// ask, unless somebody else does, or has just asked. It is false if that is so.
func (s *sparing) ask(now func() time.Time, list func() error) bool {
	if !s.asking.TryLock() {
		return false
	}
	defer s.asking.Unlock()

	begin := now()
	if begin.Before(s.next) {
		return false
	}

	_ = list() // What is not known now is asked for later.

	end := now()
	s.next = end.Add(max(eventsLeast, eventsShare*end.Sub(begin)))

	return true
}

// eventsOf a namespace. Whoever writes very many keeps only runs of the same namespace from reading theirs.
func (x *Executor) eventsOf(namespace string) *sparing {
	v, _ := x.events.LoadOrStore(namespace, &sparing{})
	s, _ := v.(*sparing)

	return s
}

// trouble is why the cluster makes no Pod, or does not start it, which only events say.
func (r *run) trouble(ctx context.Context, v view) string {
	var about client.Object

	switch {
	case v.suspended():
		return ""
	case v.pod != nil:
		about = v.pod
	case v.job != nil:
		about = v.job
	}

	if about == nil || r.now().Sub(about.GetCreationTimestamp().Time) < podPatience {
		return ""
	}

	again := lookEvery
	if r.report.Plan != "" {
		again = eventsEvery
	}

	if r.troubled == about.GetUID() && r.now().Sub(r.askedAt) < again {
		return r.troubleText
	}

	if r.troubled != about.GetUID() {
		r.troubled, r.askedAt, r.troubleText = about.GetUID(), time.Time{}, ""
	}

	l := &corev1.EventList{}

	// Whoever may write events could have written very many.
	asked := r.eventsOf(r.ref.Namespace).ask(r.now, func() error {
		return r.config.Client.List(ctx, l, client.Limit(maxEvents), client.InNamespace(r.ref.Namespace),
			client.MatchingFieldsSelector{
				Selector: fields.SelectorFromSet(fields.Set{
					"involvedObject.uid": string(about.GetUID()),
					"type":               corev1.EventTypeWarning,
				}),
			})
	})
	if !asked {
		return r.troubleText
	}

	r.askedAt, r.troubleText = r.now(), ""

	var last metav1.Time

	for _, e := range l.Items {
		if !e.LastTimestamp.Before(&last) {
			last, r.troubleText = e.LastTimestamp, e.Reason+": "+e.Message
		}
	}

	return r.troubleText
}
