package events

import (
	"encoding/json"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// Bounds of a Summary.
const (
	// MaxFailures that a summary lists.
	MaxFailures = 10
	// MaxChanged is the number of changed tasks that a summary lists.
	MaxChanged = 20
	// maxMessage is the length of a failure's message, in bytes.
	maxMessage = 1 << 10
	// maxDiff is the length of a changed task's diff, in bytes.
	maxDiff = 2 << 10
	// MaxName is the length of the name of a play, a task or a host, in bytes.
	MaxName = 253
	// ConnectionDetails is the name of the outputs that are for the connection
	// secret.
	ConnectionDetails = "connection_details"
	// MaxDetail is the length from which on a connection detail is too long, in
	// characters.
	MaxDetail = maxString
	// MaxDetails is the length of all connection details that content publishes, one
	// after another, in bytes of JSON. A Secret has a mebibyte at most.
	MaxDetails = 4 << 20
	// MaxOutputs is the length of the outputs, in bytes of JSON.
	MaxOutputs = 64 << 10
)

// A Summary of a stream of events. Its size is bounded, however long the play is.
type Summary struct {
	// Versions of Ansible's programs; empty before they have started.
	Versions string
	// Unfit says why no run can be carried out with these versions; empty if one can.
	Unfit string
	// Cold says why the play was executed in a Python of its own, though it was to be forked;
	// empty otherwise.
	Cold string
	// Started is true once a task has begun.
	Started bool
	// Play and Task in progress.
	Play, Task string
	// Tasks that were started, gathering facts not counted.
	Tasks int64
	// Behind says how many hosts of how many had left the plays when the task in progress began, since they have failed
	// or could not be reached; empty for none.
	Behind string
	// Ran counts the results of tasks on hosts that were not skipped, gathering
	// facts not counted.
	Ran int64
	// Totals of all hosts: running counts while the play runs, Ansible's own
	// statistics once they were seen.
	Totals common.HostTotals
	// Failures of tasks and unreachable hosts, the first 10. Once Ansible's final statistics were seen, it is known
	// which were rescued. Those of hosts on which all were rescued are removed then.
	Failures []common.Failure
	// Changed tasks, the first 20: in check mode, what would change.
	Changed []common.DriftTask
	// Finished is true once Ansible's final statistics were seen.
	Finished bool
	// Unmatched is true once the hosts of a play matched none.
	Unmatched bool
	// Processed counts the hosts in the final statistics.
	Processed int
	// Requeue is how long after its end the content wants to run again, as it has said last; 0 if it
	// has not.
	Requeue time.Duration
	// Kinds of objects that the content has made in the cluster so far, without their state; nil if they are
	// not watched.
	Kinds []common.DependentKind
	// Report is what content has reported so far.
	Report Report
	// Outputs is a JSON object: the run's data of set_stats, with the reported outputs over
	// it. It is nil before Ansible's final statistics were seen, if there are no outputs, and
	// if they are longer than MaxOutputs.
	Outputs json.RawMessage
	// Withheld says why other outputs are not among them.
	Withheld common.Withheld
	// OutputsSize is the greatest length of the outputs so far, in bytes of JSON, also of
	// outputs that were too long to be kept.
	OutputsSize int
	// InvalidOutput names an output that no status can hold, and says why. Outputs is
	// without it.
	InvalidOutput string
	// ConnectionDetails were published by set_stats under that name. They are not
	// redacted: they are for the connection secret, and Outputs is without them.
	ConnectionDetails json.RawMessage
	// ExcessDetails is true once the connection details that were published, each version counted, are longer than
	// MaxDetails, or have more values than can be looked for, and once one was too long to be read whole. Nothing is
	// shown of a run from then on.
	ExcessDetails bool
	// Tail reads the end of what a terminal would have shown so far: redacted, with all secrets that are known by then,
	// and at most MaxTail long. It is nil unless that is kept.
	Tail func() string `json:"-"`
}
