package events

import "encoding/json"

// Kinds of events of awx_display.
const (
	playStart     = "playbook_on_play_start"
	taskStart     = "playbook_on_task_start"
	noHosts       = "playbook_on_no_hosts_matched"
	stats         = "playbook_on_stats"
	hostOK        = "runner_on_ok"
	itemOK        = "runner_item_on_ok"
	hostFailed    = "runner_on_failed"
	hostSkipped   = "runner_on_skipped"
	hostDark      = "runner_on_unreachable"
	itemFailed    = "runner_item_on_failed"
	fileDiff      = "runner_on_file_diff"
	shownError    = "error"
	shownWarning  = "warning"
	systemWarning = "system_warning"
	verbose       = "verbose"
)

// versions is the kind of the driver's own event, which is the first one.
const versions = "versions"

// start is the kind of the driver's event about a play that could not be forked, and was executed.
const start = "start"

// gatherFacts is the action that Ansible itself runs before the tasks of a play.
const gatherFacts = "gather_facts"

// An event of the stream.
type event struct {
	Kind    string          `json:"event"`
	UUID    string          `json:"uuid"`
	Stdout  string          `json:"stdout"`
	Created string          `json:"created"`
	Data    json.RawMessage `json:"event_data"`
}

// data of an event other than stats. The kind determines which fields are set.
type data struct {
	Task           string          `json:"task"`
	TaskUUID       string          `json:"task_uuid"`
	TaskAction     string          `json:"task_action"`
	ResolvedAction string          `json:"resolved_action"`
	Role           string          `json:"role"`
	ResolvedRole   string          `json:"resolved_role"`
	Name           string          `json:"name"`
	Host           string          `json:"host"`
	IgnoreErrors   bool            `json:"ignore_errors"`
	Result         json.RawMessage `json:"res"`
	// Cold is why a play was not forked.
	Cold string `json:"cold"`
}

// tools is the data of the versions event.
type tools struct {
	AnsibleCore   string `json:"ansibleCore"`
	AnsibleRunner string `json:"ansibleRunner"`
	Python        string `json:"python"`
	// Unfit says why these versions are not supported; empty if they are.
	Unfit string `json:"unfit"`
}

// task returns the name of the task that Ansible displays.
func (d data) task() string {
	switch {
	case d.Task == "":
		return ""
	case d.ResolvedRole != "":
		return d.ResolvedRole + " : " + d.Task
	case d.Role != "":
		return d.Role + " : " + d.Task
	}

	return d.Task
}

// totals is the data of the stats event: counts by host. The driver adds up the counts of hosts over its limit under
// the empty name.
type totals struct {
	OK        map[string]int64 `json:"ok"`
	Changed   map[string]int64 `json:"changed"`
	Failures  map[string]int64 `json:"failures"`
	Dark      map[string]int64 `json:"dark"`
	Skipped   map[string]int64 `json:"skipped"`
	Rescued   map[string]int64 `json:"rescued"`
	Ignored   map[string]int64 `json:"ignored"`
	Processed map[string]int64 `json:"processed"`
	// Artifacts is the aggregated data of set_stats. If it is too large for an event, it is null, and ArtifactsSize is its
	// size in bytes.
	Artifacts     json.RawMessage `json:"artifact_data"`
	ArtifactsSize int             `json:"artifact_size"`
}

func sum(counts map[string]int64) int64 {
	var n int64
	for _, c := range counts {
		n += c
	}

	return n
}

// parse returns the event of a line; false for text.
func parse(line []byte) (event, bool) {
	var e event

	if !isJSON(line) || json.Unmarshal(line, &e) != nil {
		return event{}, false
	}

	return e, e.Kind != "" && e.UUID != ""
}
