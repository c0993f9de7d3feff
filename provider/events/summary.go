package events

import (
	"encoding/json"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// Bounds of a Summary.
const (
	// MaxFailures is the largest number of failures that a summary lists.
	MaxFailures = 10
	// MaxChanged is the largest number of changed tasks that a summary lists.
	MaxChanged = 20
	// maxMessage is the length of a failure's message, in bytes.
	maxMessage = 1 << 10
	// maxDiff is the length of a changed task's diff, in bytes.
	maxDiff = 2 << 10
	// MaxName is the length of the name of a play, a task or a host, in bytes.
	MaxName = 253
	// ConnectionDetails is the name of the output with the data of the connection secret.
	ConnectionDetails = "connection_details"
	// MaxDetail is the length at which a connection detail is too long, in characters.
	MaxDetail = maxString
	// MaxDetails is the largest total length of all versions of the connection details that content publishes, in bytes of
	// JSON. A Secret holds 1 MiB at most.
	MaxDetails = 4 << 20
	// MaxOutputs is the largest length of the outputs, in bytes of JSON.
	MaxOutputs = 64 << 10
)

// A Summary of a stream of events. Its size is bounded.
type Summary struct {
	// Versions of Ansible's programs; empty before they have started.
	Versions string
	// Unfit says why these versions are not supported; empty if they are.
	Unfit string
	// Cold is the reason why the warm process could not fork the play; empty if it has, or without a warm process.
	Cold string
	// Started is true once a task has begun.
	Started bool
	// Play and Task in progress.
	Play, Task string
	// Tasks is the number of tasks that were started, without gathering facts.
	Tasks int64
	// Behind says how many of the hosts had left the plays when the task in progress began, because they failed or were
	// unreachable; empty for none.
	Behind string
	// Ran counts the results of tasks on hosts that were not skipped, without gathering facts and reports.
	Ran int64
	// Totals of all hosts: running counts while the play runs, then Ansible's final statistics.
	Totals common.HostTotals
	// Failures has the first MaxFailures failures of tasks and unreachable hosts. Ansible's final statistics tell which
	// failures were rescued. Failures of hosts on which all failures were rescued are removed then.
	Failures []common.Failure
	// Changed tasks, the first 20: in check mode, what would change.
	Changed []common.DriftTask
	// Finished is true after Ansible's final statistics.
	Finished bool
	// Unmatched is true once the host pattern of a play has matched no host.
	Unmatched bool
	// Processed counts the hosts in the final statistics.
	Processed int
	// Requeue is the time after its end at which the content requests another run; 0 for none. The last request counts.
	Requeue time.Duration
	// Kinds of objects that the content has made in the cluster so far, without their state; nil if they are
	// not watched.
	Kinds []common.DependentKind
	// Report has the values that content has reported so far.
	Report Report
	// Outputs is a JSON object: the data of set_stats, overridden by the reported outputs. It is nil before Ansible's
	// final statistics, without outputs, and if the outputs are longer than MaxOutputs.
	Outputs json.RawMessage
	// Withheld has the reasons why other outputs are left out, by name.
	Withheld common.Withheld
	// OutputsSize is the greatest length of the outputs so far, in bytes of JSON, including outputs that were too long to
	// be kept.
	OutputsSize int
	// InvalidOutput names an output that a status cannot hold, and says why. Outputs does not have it.
	InvalidOutput string
	// ConnectionDetails were published by set_stats under that name. They are not redacted, and Outputs does not have
	// them.
	ConnectionDetails json.RawMessage
	// ExcessDetails is true once all published versions of the connection details are longer than MaxDetails in total,
	// once they have more values than can be redacted, or once one was cut. Nothing is shown of the run from then on.
	ExcessDetails bool
	// Tail returns the end of the display so far, redacted with all secrets that are known at the time of the call, and
	// at most MaxTail long. It is nil unless the tail is kept.
	Tail func() string `json:"-"`
}
