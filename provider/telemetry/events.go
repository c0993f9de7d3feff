package telemetry

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"

	ansible "github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

// Events of runs, for those who look at their objects.
type Events struct {
	recorder event.Recorder
}

// NewEvents returns a witness that records what is news about a run as events
// of its object. The recorder must not block.
func NewEvents(r event.Recorder) *Events {
	return &Events{recorder: r}
}

// Began records nothing: the status shows it.
func (e *Events) Began(executor.Job) {}

// Task records nothing: events are few.
func (e *Events) Task(executor.Job, ansible.TaskResult) {}

// Ended records what is news.
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
