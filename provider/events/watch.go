package events

// A Watch follows a run while it goes on. Each function may be nil; the run
// waits for it.
type Watch struct {
	// Progress is called when a play or a task starts, and at the end.
	Progress func(Summary)
	// Display is called with what a terminal would show, redacted: one or more lines. Connection
	// details that the content publishes later are not known yet.
	Display func(text string)
}
