package common

// Keys of the ConfigMaps that have the outputs of runs.
const (
	// OutputKeyOutput has the end of what the run displayed, redacted.
	OutputKeyOutput = "output"
	// OutputKeyRunID has the id of the run.
	OutputKeyRunID = "runID"
	// OutputKeyMode has the mode of the run, as the status of the AnsibleRun.
	OutputKeyMode = "mode"
	// OutputKeyState has its state.
	OutputKeyState = "state"
	// OutputKeyPhase has its phase.
	OutputKeyPhase = "phase"
	// OutputKeyCompletionTime says when the run ended, in RFC 3339.
	OutputKeyCompletionTime = "completionTime"
)
