package telemetry

import (
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

// A Log writes about runs.
type Log struct {
	log logging.Logger
}

// NewLog returns an observer that writes to a log.
func NewLog(log logging.Logger) *Log {
	return &Log{log: log}
}

// Started logs that a run starts.
func (l *Log) Started(j executor.Job) {
	l.of(j).Info("Run begins", "policy", j.Policy, "mode", j.Mode, "state", j.State, "trigger", j.Trigger,
		"attempt", j.Attempt)
}

// TaskEnded logs how a task ended on a host, with --debug only.
func (l *Log) TaskEnded(j executor.Job, t events.TaskResult) {
	kv := []any{"play", t.Play, "task", t.Task, "host", t.Host, "result", t.Outcome, "duration", t.Duration.String()}

	if t.Message != "" {
		kv = append(kv, "message", t.Message)
	}

	l.of(j).Debug("Task ended", kv...)
}

// Ended logs how a run ended.
func (l *Log) Ended(j executor.Job, r executor.Report, took time.Duration) {
	kv := []any{
		"phase", r.Run.Phase, "reason", r.Run.Reason, "message", r.Run.Message, "duration",
		took.Round(time.Millisecond).String(),
	}

	if h := r.Run.Hosts; h != nil {
		kv = append(kv, "recap", recap(*h))
	}

	l.of(j).Info("Run ended", kv...)
}

func (l *Log) of(j executor.Job) logging.Logger {
	return l.log.WithValues("run", j.ID, "group", j.Kind.Group, "namespace", j.Object.Namespace, "name", j.Object.Name)
}
