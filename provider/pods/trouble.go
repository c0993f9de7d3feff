package pods

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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

	r.troubled, r.askedAt, r.troubleText = about.GetUID(), r.now(), ""
	l := &corev1.EventList{}

	// Whoever may write events could have written very many.
	err := r.config.Client.List(ctx, l, client.Limit(maxEvents), client.InNamespace(r.ref.Namespace), client.MatchingFieldsSelector{
		Selector: fields.SelectorFromSet(fields.Set{"involvedObject.uid": string(about.GetUID()), "type": corev1.EventTypeWarning}),
	})
	if err != nil {
		return ""
	}

	var last metav1.Time

	for _, e := range l.Items {
		if !e.LastTimestamp.Before(&last) {
			last, r.troubleText = e.LastTimestamp, e.Reason+": "+e.Message
		}
	}

	return r.troubleText
}
