package content

import "strings"

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

// installError for a request, from what ansible-galaxy wrote.
func installError(what, output string, err error, req Request) *InstallError {
	said := orElse(reason(req.redact(output)), err.Error())
	if todo := advice(said, req); todo != "" {
		said = clip(strings.TrimSuffix(said, "."), len(todo)+2) + "; " + todo
	}

	return &InstallError{What: what, Reason: said, Err: err}
}
