package telemetry

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

// Events records how runs ended as Kubernetes events of their objects.
type Events struct {
	recorder event.Recorder
}

// NewEvents returns an observer that records events with r, which must not block.
func NewEvents(r event.Recorder) *Events {
	return &Events{recorder: r}
}

// Started records nothing: the status shows it.
func (e *Events) Started(executor.Job) {}

// TaskEnded records nothing: an object has few events.
func (e *Events) TaskEnded(executor.Job, events.TaskResult) {}

// Ended records the end of a run, unless it ended like the one before.
func (e *Events) Ended(j executor.Job, r executor.Report, took time.Duration) {
	for _, news := range announce(j, r, took) {
		e.recorder.Event(reference(j), news)
	}
}

// reference to the object of a job. Events of cluster scoped objects are in the
// namespace default, which the recorder sees to.
func reference(j executor.Job) *corev1.ObjectReference {
	version, kind := j.Kind.ToAPIVersionAndKind()

	return &corev1.ObjectReference{
		APIVersion: version,
		Kind:       kind,
		Namespace:  j.Object.Namespace,
		Name:       j.Object.Name,
		UID:        j.Object.UID,
	}
}
