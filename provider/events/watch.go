package events

// A Watch follows a run in progress. Each function may be nil. The run waits until it returns.
type Watch struct {
	// Progress is called when a play or a task starts, and at the end.
	Progress func(Summary)
	// Display is called with one or more lines of the display, redacted. Connection details that the content publishes
	// later are not redacted.
	Display func(text string)
}
