package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// An Observer reports the starts and ends of runs: in the log, in Kubernetes events, and in metrics.
type Observer struct {
	log      logging.Logger
	recorder event.Recorder
	metrics  *metrics
}

// NewObserver returns an Observer. The recorder must not block, since the run waits for it.
func NewObserver(log logging.Logger, recorder event.Recorder, r prometheus.Registerer) *Observer {
	return &Observer{log, recorder, newMetrics(r)}
}

// Started reports that a run begins. It is called once.
func (o *Observer) Started(run runs.Run) {
	o.logOf(run).Info("Run begins", "policy", run.Policy, "mode", run.Mode, "state", run.State, "trigger", run.Trigger,
		"attempt", run.Attempt)
	o.metrics.started(run)

	// Starts of periodic runs and of retries are no news.
	if run.Class() == runs.Urgent {
		what := kind(common.Run{Mode: run.Mode, State: run.State})
		o.recorder.Event(reference(run), normal(ReasonRunStarted, "%s run has begun: %s", what, run.Trigger))
	}
}

// Ended reports the end of a run and its duration. It is called once.
func (o *Observer) Ended(run runs.Run, r runs.Report, took time.Duration) {
	kv := []any{
		"phase", r.Run.Phase, "reason", r.Run.Reason, "message", r.Run.Message, "duration",
		took.Round(time.Millisecond).String(),
	}

	if h := r.Run.Hosts; h != nil {
		kv = append(kv, "recap", recap(*h))
	}

	o.logOf(run).Info("Run ended", kv...)

	run.Before.Run = r.Before // The status of a followed run no longer shows the run before it.

	for _, news := range announce(run, r, took) {
		o.recorder.Event(reference(run), news)
	}

	o.metrics.ended(run, r, took)
}

func (o *Observer) logOf(run runs.Run) logging.Logger {
	return o.log.WithValues("run", run.ID, "group", run.Kind.Group, "namespace", run.Object.Namespace, "name",
		run.Object.Name)
}

// reference to the object of a run. The recorder puts events of cluster scoped objects into the namespace default.
func reference(run runs.Run) *corev1.ObjectReference {
	version, kind := run.Kind.ToAPIVersionAndKind()

	return &corev1.ObjectReference{
		APIVersion: version, Kind: kind, Namespace: run.Object.Namespace, Name: run.Object.Name, UID: run.Object.UID,
	}
}
