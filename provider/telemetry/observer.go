package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

// An Observer is told of runs. It writes to the log, records Kubernetes events of their objects, and counts.
type Observer struct {
	log      logging.Logger
	recorder event.Recorder
	metrics  *metrics
}

// NewObserver returns an observer with a recorder that does not block: a run waits for it.
func NewObserver(log logging.Logger, recorder event.Recorder, r prometheus.Registerer) *Observer {
	return &Observer{log, recorder, newMetrics(r)}
}

// started is called once, when a run starts.
func (o *Observer) started(j executor.Job) {
	o.logOf(j).Info("Run begins", "policy", j.Policy, "mode", j.Mode, "state", j.State, "trigger", j.Trigger,
		"attempt", j.Attempt)
	o.metrics.started(j)
}

// taskEnded is called when a task of a run has ended on a host. An object has few events: it has none.
func (o *Observer) taskEnded(j executor.Job, t events.TaskResult) {
	kv := []any{"play", t.Play, "task", t.Task, "host", t.Host, "result", t.Outcome, "duration", t.Duration.String()}

	if t.Message != "" {
		kv = append(kv, "message", t.Message)
	}

	o.logOf(j).Debug("Task ended", kv...)
	o.metrics.tasks.WithLabelValues(string(t.Outcome)).Inc()
}

// Ended is called once, when a run has ended, with how long it took.
func (o *Observer) Ended(j executor.Job, r executor.Report, took time.Duration) {
	kv := []any{
		"phase", r.Run.Phase, "reason", r.Run.Reason, "message", r.Run.Message, "duration",
		took.Round(time.Millisecond).String(),
	}

	if h := r.Run.Hosts; h != nil {
		kv = append(kv, "recap", recap(*h))
	}

	o.logOf(j).Info("Run ended", kv...)

	for _, news := range announce(j, r, took) {
		o.recorder.Event(reference(j), news)
	}

	o.metrics.ended(j, r, took)
}

func (o *Observer) logOf(j executor.Job) logging.Logger {
	return o.log.WithValues("run", j.ID, "group", j.Kind.Group, "namespace", j.Object.Namespace, "name", j.Object.Name)
}

// reference to the object of a job. Events of cluster scoped objects are in the
// namespace default, which the recorder sees to.
func reference(j executor.Job) *corev1.ObjectReference {
	version, kind := j.Kind.ToAPIVersionAndKind()

	return &corev1.ObjectReference{
		APIVersion: version, Kind: kind, Namespace: j.Object.Namespace, Name: j.Object.Name, UID: j.Object.UID,
	}
}

// Observed returns an executor that tells an observer of the jobs that x executes.
func Observed(x executor.Executor, o *Observer) executor.Executor {
	return observed{Executor: x, observer: o}
}

type observed struct {
	executor.Executor

	observer *Observer
}

// Execute a job.
func (x observed) Execute(ctx context.Context, j executor.Job, w executor.Watch) executor.Report {
	start := time.Now()

	if j.Begun != nil && j.Begun.StartTime != nil {
		start = j.Begun.StartTime.Time
	} else {
		x.observer.started(j)
	}

	w.Task = func(t events.TaskResult) { x.observer.taskEnded(j, t) }

	r := x.Executor.Execute(ctx, j, w)

	// The next provider tells of a run that was left to it.
	if r.Run.Phase.Finished() {
		x.observer.Ended(j, r, time.Since(start))
	}

	return r
}
