package runs

import (
	"context"
	"time"
)

// Execute carries out a run. The report says how it ended, errors included. When the context is done, Execute ends all
// processes of the run and returns soon. When the provider ends, as the watch says, and the run outlives it, Execute
// leaves the run as it is, and the report is about a run in progress.
type Execute func(ctx context.Context, r Run, w Watch) Report

// AccessAgain is when a run that lacks access is tried again. No watch tells when access is granted.
const AccessAgain = 30 * time.Second

// A Watch follows a run while it is carried out. The backend calls its functions, and waits until they return. All
// fields but Progress may be nil for a run on this machine; one in a Pod needs Provider and Wanted.
type Watch struct {
	// Provider is done when the provider ends: the next one follows a run that outlives it, also
	// one that was canceled and has not ended yet. Nil is never done.
	Provider context.Context //nolint:containedctx // It is not that of the run.
	// Wanted is done when a run that waits, as its report says with its plan, is revoked: it ends if it has not begun,
	// and goes on otherwise. Nil is never done.
	Wanted context.Context //nolint:containedctx // It is not that of the run.
	// Progress is called with what is known so far.
	Progress func(Report)
	// Display is called with what a terminal would show, redacted.
	Display func(text string)
}
