package galaxy

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReasonOther(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		output string
		want   string
	}{
		"Nothing":       {reason: "Without output there is no reason."},
		"Unknown":       {reason: "Without a known line, the last lines are the reason.", output: "a\nb\n\nc\nd\n", want: "b; c; d"},
		"OldFormat":     {reason: "The prefix of errors of older versions is recognized.", output: "ERROR! no", want: "no"},
		"Token":         {reason: "Tokens in URLs are removed.", output: "[ERROR]: https://example.org/x?private_token=t0ken&ref=main: 404", want: "https://example.org/x?private_token=&ref=main: 404"},
		"Password":      {reason: "Passwords in URLs are removed.", output: "[ERROR]: https://u:p@example.org/x", want: "https://example.org/x"},
		"PasswordOfSSH": {reason: "Passwords in URLs of ssh are removed, but not its user.", output: "[ERROR]: ssh://git:p@example.org/x, ssh://git@example.org/y", want: "ssh://example.org/x, ssh://git@example.org/y"},
		"Bounded":       {reason: "A reason is cut to the length of the field in the status.", output: strings.Repeat("x", 2000), want: strings.Repeat("x", maxReason-3) + "…"},
		"OtherNotes":    {reason: "Other warnings are ignored.", output: "[WARNING]: old\n[ERROR]: no", want: "no"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, reason(tc.output)); diff != "" {
				t.Errorf("\n%s\nreason(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestInstallErrorDenied has a directory that an installation may not read: ansible-galaxy takes that for a bug of its
// own. Secrets in its output are masked.
func TestInstallErrorDenied(t *testing.T) {
	output := "[ERROR]: Unexpected Exception, this is probably a bug: [Errno 13] Permission denied: b'/srv/web/galaxy.yml'\n"
	want := "cannot install collections: [Errno 13] Permission denied: b'/srv/***/galaxy.yml'; " +
		"installations read only what spec.confinement.readPaths, or the flag --read-path, allows, beside the system"

	if diff := cmp.Diff(want, installErrorFrom("collections", output, os.ErrPermission, Request{Redact: func(s string, _ int) string { return strings.ReplaceAll(s, "web", "***") }}).Error()); diff != "" {
		t.Errorf("installErrorFrom(...): -want, +got:\n%s", diff)
	}
}
