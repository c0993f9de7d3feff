package runs

import (
	"context"
	"time"
)

// Execute executes a run, and returns its last report, which includes errors. The end of the context ends all processes
// of the run, and Execute returns soon. When the provider ends, see Watch.Provider, Execute leaves a run that outlives
// the provider, and returns the report of a run in progress.
type Execute func(ctx context.Context, r Run, w Watch) Report

// AccessAgain is the time until a run without access is tried again: new access cannot be watched.
const AccessAgain = 30 * time.Second

// A Watch follows a run in progress. The backend calls its functions, and waits until they return. For a run on this
// machine, all fields except Progress may be nil; a run in a Pod needs Provider and Wanted.
type Watch struct {
	// Provider is done when the provider ends. The next provider follows a run that outlives it, even if the run was
	// canceled. Nil is never done.
	Provider context.Context //nolint:containedctx // The run has another context.
	// Wanted is done when a waiting run, which has a plan in its report, is revoked: it ends if it has not begun, and goes
	// on otherwise. Nil is never done.
	Wanted context.Context //nolint:containedctx // The run has another context.
	// Progress is called with the reports of the run.
	Progress func(Report)
	// Display is called with lines of the display, redacted.
	Display func(text string)
}
