package runs

// Reasons of runs, beside those of the runner and of apis/common.
const (
	// ReasonNotStarted means that the Pod of the run had not begun when the run was canceled, or gave way to another one.
	ReasonNotStarted = "NotStarted"
	// ReasonProviderEnded means that the provider ended during the run.
	ReasonProviderEnded = "ProviderEnded"
	// ReasonPodEnded means that the Pod of the run ended before the run did, or was deleted.
	ReasonPodEnded = "PodEnded"
	// ReasonContentChanged means that the content is not the one that was approved any more.
	ReasonContentChanged = "ContentChanged"
	// ReasonNotCheckable means that a check run succeeded, but skipped every
	// task.
	ReasonNotCheckable = "NotCheckable"
	// ReasonStateIgnored means that the content does not look at the state, so that with state
	// absent nothing was run.
	ReasonStateIgnored = "StateIgnored"
	// ReasonStatusRefused means that the API server refused the status with the
	// outputs, conditions or changes of the run.
	ReasonStatusRefused = "StatusRefused"
)
