package common

// Keys of the ConfigMap with the kept output of a run.
const (
	// OutputKeyOutput has the end of the output, with secrets masked.
	OutputKeyOutput = "output"
	// OutputKeyRunID has the id of the run.
	OutputKeyRunID = "runID"
	// OutputKeyMode has the mode of the run, as in the status of the AnsibleRun.
	OutputKeyMode = "mode"
	// OutputKeyState has its state.
	OutputKeyState = "state"
	// OutputKeyPhase has its phase.
	OutputKeyPhase = "phase"
	// OutputKeyCompletionTime says when the run ended, in RFC 3339.
	OutputKeyCompletionTime = "completionTime"
)
