package content

import (
	"cmp"
	"context"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
)

// An InstallError says why ansible-galaxy did not install what is required.
type InstallError struct {
	// What was to be installed: collections or roles.
	What string
	// Reason in ansible-galaxy's and git's own words, redacted, and what to do
	// about it, where that is known; 1 KiB at most.
	Reason string
	// Err of the command.
	Err error
}

// Error is what was to be installed, and the reason why not.
func (e *InstallError) Error() string {
	return "cannot install " + e.What + ": " + e.Reason
}

// Unwrap returns the error of the command.
func (e *InstallError) Unwrap() error {
	return e.Err
}

// A BackoffError says that nothing was tried, since the same has failed not long ago.
type BackoffError struct {
	// Until is when it is tried again.
	Until time.Time
	// Err is how it failed.
	Err error
}

// Error says how it failed, and when it is tried again.
func (e *BackoffError) Error() string {
	return e.Err.Error() + "; it is tried again at " + e.Until.UTC().Format(time.RFC3339)
}

// Unwrap returns the error that it failed with.
func (e *BackoffError) Unwrap() error { return e.Err }

// A slowError says how long an installation has taken in vain.
type slowError struct{ after time.Duration }

// Error says how long.
func (e *slowError) Error() string { return "it took longer than " + e.after.String() }

// Unwrap returns the error of a context whose time is over.
func (e *slowError) Unwrap() error { return context.DeadlineExceeded }

// tooSlow is the error of an installation that was given so much time.
func tooSlow(d time.Duration) error {
	err := &slowError{after: d}

	return &InstallError{What: "content", Reason: err.Error(), Err: err}
}

// IsOwn is true for an error of Ensure, whose context is not done, that is the fault
// of the provider or of its machine: neither a source nor who requires the content
// can do anything about it.
func IsOwn(err error) bool {
	return err != nil && !errors.As(err, new(*InstallError))
}

// A StartError says that a program could not be run: nothing is known of what it
// would have done.
type StartError struct {
	// Err says why.
	Err error
}

// Error says why.
func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the error that says so.
func (e *StartError) Unwrap() error { return e.Err }

// installError for a request, from what ansible-galaxy wrote.
func installError(what, output string, err error, req Request) *InstallError {
	said := cmp.Or(reason(req.redact(output)), err.Error())
	if todo := advice(said, req); todo != "" {
		said = clip.Text(strings.TrimSuffix(said, "."), maxReason-len("; ")-len(todo)) + "; " + todo
	}

	return &InstallError{What: what, Reason: said, Err: err}
}

// unfit is an error of what ansible-galaxy has installed, unless it is that of the
// context or of the machine.
func unfit(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case isFull(err), isBroken(err):
		return err
	}

	return &InstallError{What: "content", Reason: clip.Text(err.Error(), maxReason), Err: err}
}

// isBroken is true for errors of a machine that has not enough of something, or
// whose disk is broken.
func isBroken(err error) bool {
	for _, errno := range []unix.Errno{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EIO, unix.EROFS, unix.ESTALE} {
		if errors.Is(err, errno) {
			return true
		}
	}

	return false
}
