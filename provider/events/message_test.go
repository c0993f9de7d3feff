package events

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestText explains the end of a run from text outside of events.
func TestText(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, text, want string
	}{
		"Error":     {reason: "Ansible marks an error.", text: "[WARNING]: a\n[ERROR]: b\nc\n", want: "b\nc"},
		"Preface":   {reason: "A prefix without the cause is left out.", text: "[ERROR]: Unable to retrieve file contents.\nCould not find or access 'nope.yml' on the Ansible Controller.\nIf\n", want: "Could not find or access 'nope.yml' on the Ansible Controller.\nIf"},
		"Denied":    {reason: "A playbook may only read files in the allowed paths.", text: "[ERROR]: [Errno 13] Permission denied: '/srv/vars.yml'\n", want: "[Errno 13] Permission denied: '/srv/vars.yml'; on the provider itself (localhost) content may do only what spec.confinement of its configuration, or a flag --read-path or --write-path, allows"},
		"Traceback": {reason: "The error after a traceback is shown.", text: "[WARNING]: a\n" + traceback + "\n  File \"x\"\nPermissionError: no\n", want: "PermissionError: no"},
		"Chain":     {reason: "The last error of a chain is the cause.", text: traceback + "\n  File \"x\"\nKeyError: 1\n\nAnother exception occurred:\n\n" + traceback + "\n  File \"y\"\n    ~~^^\nPermissionError: no\ndetails\n", want: "PermissionError: no\ndetails"},
		"Output":    {reason: "The line about an error is first.", text: "a\nb: cannot c\nd\n", want: "b: cannot c\na\nd"},
		"Nothing":   {reason: "There may be no text."},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewRecorder(Options{Confined: true})
			if _, err := r.Stderr().Write([]byte(tc.text)); err != nil {
				t.Fatal(err)
			}

			r.Close()

			if diff := cmp.Diff(tc.want, r.Text()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
