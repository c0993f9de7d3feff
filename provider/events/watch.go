package events

import "time"

// A Watch follows a run while it goes on. Each function may be nil; the run
// waits for it.
type Watch struct {
	// Progress is called when a play or a task starts, and at the end.
	Progress func(Summary)
	// Task is called when a task has ended on a host.
	Task func(TaskResult)
	// Display is called with what a terminal would show, redacted: one or more lines. Connection
	// details that the content publishes later are not known yet.
	Display func(text string)
	// Tail is called once, before the run begins, with what reads the end of what a terminal would have
	// shown so far: redacted, with all secrets that are known by then, and at most MaxTail long.
	Tail func(read func() string)
}

// A TaskOutcome says how a task ended on a host.
type TaskOutcome string

// Outcomes of tasks.
const (
	// OutcomeOK tasks changed nothing.
	OutcomeOK TaskOutcome = "ok"
	// OutcomeChanged tasks changed something; in check mode, they would.
	OutcomeChanged TaskOutcome = "changed"
	// OutcomeFailed tasks failed. They may still be rescued.
	OutcomeFailed TaskOutcome = "failed"
	// OutcomeIgnored tasks failed, and that is ignored.
	OutcomeIgnored TaskOutcome = "ignored"
	// OutcomeSkipped tasks were skipped.
	OutcomeSkipped TaskOutcome = "skipped"
	// OutcomeUnreachable tasks could not reach their host.
	OutcomeUnreachable TaskOutcome = "unreachable"
)

// Known is true for one of the outcomes above.
func (o TaskOutcome) Known() bool {
	switch o {
	case OutcomeOK, OutcomeChanged, OutcomeFailed, OutcomeIgnored, OutcomeSkipped, OutcomeUnreachable:
		return true
	}

	return false
}

// A TaskResult is how a task ended on a host, redacted.
type TaskResult struct {
	// Play, Task and Host, each at most MaxName long.
	Play, Task, Host string
	// Outcome of the task.
	Outcome TaskOutcome
	// Duration of the task on the host.
	Duration time.Duration
	// Message of a task that failed or could not reach its host, at most
	// MaxMessage long; empty for others.
	Message string
}
