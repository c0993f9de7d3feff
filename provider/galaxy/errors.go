package galaxy

import (
	"cmp"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
)

// An InstallError says why what is required was not installed, when that is the fault
// of the requirements, the configuration, or a source.
type InstallError struct {
	// What was to be installed: collections, roles, or content, which is both.
	What string
	// Reason in the words of ansible-galaxy and git, redacted, and what to do about it
	// where that is known; 1 KiB at most.
	Reason string
	// Err is the cause.
	Err error
}

// NewInstallError returns an error with another error as its reason.
func NewInstallError(what string, err error) *InstallError {
	return &InstallError{What: what, Reason: clip.Text(err.Error(), maxReason), Err: err}
}

// Error is what was to be installed, and the reason why it was not.
func (e *InstallError) Error() string { return "cannot install " + e.What + ": " + e.Reason }

// Unwrap returns the cause.
func (e *InstallError) Unwrap() error { return e.Err }

// installErrorFrom returns the error for an ansible-galaxy that has failed, from its output.
func installErrorFrom(what, output string, err error, req Request) *InstallError {
	said := cmp.Or(reason(req.Redact(output, len(output))), err.Error())
	if todo := advice(said); todo != "" {
		said = clip.Text(strings.TrimSuffix(said, "."), maxReason-len("; ")-len(todo)) + "; " + todo
	}

	return &InstallError{What: what, Reason: said, Err: err}
}

// SaysFull is true for the output of a program that found no space on a disk.
func SaysFull(output string) bool {
	return strings.Contains(output, "No space left on device") || strings.Contains(output, "Disk quota exceeded")
}
