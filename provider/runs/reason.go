package runs

// Reasons of runs, in addition to those of package runner and apis/common.
const (
	// ReasonNotStarted means that the run had not begun when it was canceled or revoked.
	ReasonNotStarted = "NotStarted"
	// ReasonProviderEnded means that the provider ended during the run.
	ReasonProviderEnded = "ProviderEnded"
	// ReasonPodEnded means that the Pod of the run ended before the run did, or was deleted.
	ReasonPodEnded = "PodEnded"
	// ReasonContentChanged means that the content differs from the approved content.
	ReasonContentChanged = "ContentChanged"
	// ReasonNotCheckable means that a check run succeeded, but skipped every task.
	ReasonNotCheckable = "NotCheckable"
	// ReasonStateIgnored means that the content does not use the state, so that it was not run with state absent.
	ReasonStateIgnored = "StateIgnored"
	// ReasonStatusRefused means that the API server refused the status with the outputs, conditions or changes of the run.
	ReasonStatusRefused = "StatusRefused"
)
