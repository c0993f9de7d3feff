package telemetry

import (
	"context"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

// An Observer is told of runs. The run waits for it, so it must not block.
type Observer interface {
	// Started is called once, when a run starts.
	Started(j executor.Job)
	// TaskEnded is called when a task of a run has ended on a host.
	TaskEnded(j executor.Job, t events.TaskResult)
	// Ended is called once, when a run has ended, with how long it took.
	Ended(j executor.Job, r executor.Report, took time.Duration)
}

// Observers of the same runs.
type Observers []Observer

// Started tells all observers.
func (os Observers) Started(j executor.Job) {
	for _, o := range os {
		o.Started(j)
	}
}

// TaskEnded tells all observers.
func (os Observers) TaskEnded(j executor.Job, t events.TaskResult) {
	for _, o := range os {
		o.TaskEnded(j, t)
	}
}

// Ended tells all observers.
func (os Observers) Ended(j executor.Job, r executor.Report, took time.Duration) {
	for _, o := range os {
		o.Ended(j, r, took)
	}
}

// Observed returns an executor that tells an observer of the jobs that x executes.
func Observed(x executor.Executor, o Observer) executor.Executor {
	return observed{Executor: x, observer: o}
}

type observed struct {
	executor.Executor

	observer Observer
}

// Execute a job.
func (x observed) Execute(ctx context.Context, j executor.Job, w executor.Watch) executor.Report {
	start := time.Now()

	if j.Begun != nil && j.Begun.StartTime != nil {
		start = j.Begun.StartTime.Time
	} else {
		x.observer.Started(j)
	}

	task := w.Task
	w.Task = func(t events.TaskResult) {
		x.observer.TaskEnded(j, t)

		if task != nil {
			task(t)
		}
	}

	r := x.Executor.Execute(ctx, j, w)

	// The next provider tells of a run that was left to it.
	if r.Run.Phase.Finished() {
		x.observer.Ended(j, r, time.Since(start))
	}

	return r
}
