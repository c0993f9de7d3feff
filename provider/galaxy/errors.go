package galaxy

import (
	"cmp"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
)

// An InstallError says why requirements could not be installed because of the requirements themselves, the
// configuration, or a source.
type InstallError struct {
	// What was to be installed: collections, roles, project, or content for all of them.
	What string
	// Reason in the words of ansible-galaxy and git, with secrets masked, and how to mend the cause if that is known; 1
	// KiB at most.
	Reason string
	// Err is the cause.
	Err error
}

// NewInstallError returns an InstallError with another error as its reason.
func NewInstallError(what string, err error) *InstallError {
	return &InstallError{What: what, Reason: clip.Text(err.Error(), maxReason), Err: err}
}

// Error has the subject of the installation and the reason of its failure.
func (e *InstallError) Error() string { return "cannot install " + e.What + ": " + e.Reason }

// Unwrap returns the cause.
func (e *InstallError) Unwrap() error { return e.Err }

// installErrorFrom returns the error of a failed program from its output.
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
