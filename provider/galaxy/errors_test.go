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
		"Nothing":       {reason: "Silence gives no reason."},
		"Unknown":       {reason: "The last lines are better than nothing.", output: "a\nb\n\nc\nd\n", want: "b; c; d"},
		"OldFormat":     {reason: "Older versions mark errors another way.", output: "ERROR! no", want: "no"},
		"Token":         {reason: "And their tokens.", output: "[ERROR]: https://example.org/x?private_token=t0ken&ref=main: 404", want: "https://example.org/x?private_token=&ref=main: 404"},
		"Password":      {reason: "URLs lose their passwords.", output: "[ERROR]: https://u:p@example.org/x", want: "https://example.org/x"},
		"PasswordOfSSH": {reason: "So do those of other schemes; the user of ssh is none.", output: "[ERROR]: ssh://git:p@example.org/x, ssh://git@example.org/y", want: "ssh://example.org/x, ssh://git@example.org/y"},
		"Bounded":       {reason: "A reason fits into a status.", output: strings.Repeat("x", 2000), want: strings.Repeat("x", maxReason-3) + "…"},
		"OtherNotes":    {reason: "Other warnings are no reason.", output: "[WARNING]: old\n[ERROR]: no", want: "no"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, reason(tc.output)); diff != "" {
				t.Errorf("\n%s\nreason(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestInstallErrorDenied is about a directory that an installation may not read:
// ansible-galaxy takes that for a mistake of its own. Its words are redacted.
func TestInstallErrorDenied(t *testing.T) {
	output := "[ERROR]: Unexpected Exception, this is probably a bug: [Errno 13] Permission denied: b'/srv/web/galaxy.yml'\n"
	want := "cannot install collections: [Errno 13] Permission denied: b'/srv/***/galaxy.yml'; " +
		"installations read only what spec.confinement.readPaths, or the flag --read-path, allows, beside the system"

	if diff := cmp.Diff(want, installErrorFrom("collections", output, os.ErrPermission, Request{Redact: func(s string, _ int) string { return strings.ReplaceAll(s, "web", "***") }}).Error()); diff != "" {
		t.Errorf("installErrorFrom(...): -want, +got:\n%s", diff)
	}
}
