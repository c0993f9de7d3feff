package telemetry

import (
	"context"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/provider/event"
	"github.com/crossplane-ansible/crossplane-ansible/provider/job"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
)

// A Witness of runs. It must not hold them up.
type Witness interface {
	// Began is called when a run begins, once.
	Began(j job.Job)
	// Task is called when a task of a run has ended on a host.
	Task(j job.Job, t event.TaskResult)
	// Ended is called when a run has ended, once, with how long it took.
	Ended(j job.Job, r job.Report, took time.Duration)
}

// Witnesses of the same runs.
type Witnesses []Witness

// Began is called when a run begins.
func (ws Witnesses) Began(j job.Job) {
	for _, w := range ws {
		w.Began(j)
	}
}

// Task is called when a task of a run has ended on a host.
func (ws Witnesses) Task(j job.Job, t event.TaskResult) {
	for _, w := range ws {
		w.Task(j, t)
	}
}

// Ended is called when a run has ended.
func (ws Witnesses) Ended(j job.Job, r job.Report, took time.Duration) {
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
func (x witnessed) Execute(ctx context.Context, j job.Job, watch job.Watch) job.Report {
	began := time.Now()

	x.witness.Began(j)

	r := x.Executor.Execute(ctx, j, job.Watch{Progress: watch.Progress, Task: func(t event.TaskResult) {
		x.witness.Task(j, t)

		if watch.Task != nil {
			watch.Task(t)
		}
	}})

	x.witness.Ended(j, r, time.Since(began))

	return r
}
