package telemetry

import (
	"context"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
)

// A Witness of runs. It must not hold them up.
type Witness interface {
	// Began is called when a run begins, once.
	Began(j executor.Job)
	// Task is called when a task of a run has ended on a host.
	Task(j executor.Job, t events.TaskResult)
	// Ended is called when a run has ended, once, with how long it took.
	Ended(j executor.Job, r executor.Report, took time.Duration)
}

// Witnesses of the same runs.
type Witnesses []Witness

// Began is called when a run begins.
func (ws Witnesses) Began(j executor.Job) {
	for _, w := range ws {
		w.Began(j)
	}
}

// Task is called when a task of a run has ended on a host.
func (ws Witnesses) Task(j executor.Job, t events.TaskResult) {
	for _, w := range ws {
		w.Task(j, t)
	}
}

// Ended is called when a run has ended.
func (ws Witnesses) Ended(j executor.Job, r executor.Report, took time.Duration) {
	for _, w := range ws {
		w.Ended(j, r, took)
	}
}

// Witnessed carries jobs out in front of a witness.
func Witnessed(x pool.Executor, w Witness) pool.Executor {
	return witnessed{Executor: x, witness: w}
}

type witnessed struct {
	pool.Executor

	witness Witness
}

// Execute a job.
func (x witnessed) Execute(ctx context.Context, j executor.Job, watch executor.Watch) executor.Report {
	began := time.Now()

	x.witness.Began(j)

	r := x.Executor.Execute(ctx, j, executor.Watch{Progress: watch.Progress, Task: func(t events.TaskResult) {
		x.witness.Task(j, t)

		if watch.Task != nil {
			watch.Task(t)
		}
	}})

	x.witness.Ended(j, r, time.Since(began))

	return r
}
