package events

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithCause(t *testing.T) {
	const denied = "[ERROR]: Task failed: Module failed: Error, could not touch target: [Errno 13] Permission denied: b'/tmp/x'\r\n" +
		"Origin: /play/project/playbook.yml:4:5\r\n\r\n4   - ansible.builtin.file:\r\n"

	cases := map[string]struct {
		reason             string
		message, displayed string
		want               string
	}{
		"Cause": {
			reason:    "The message of a module may leave out why.",
			message:   "Error, could not touch target.",
			displayed: denied,
			want:      "Error, could not touch target: [Errno 13] Permission denied: b'/tmp/x'",
		},
		"Color": {
			reason:    "Ansible may display errors in color.",
			message:   "Error, could not touch target.",
			displayed: "\x1b[0;31m[ERROR]: Task failed: Module failed: Error, could not touch target: no\x1b[0m\r\n",
			want:      "Error, could not touch target: no",
		},
		"NoCause": {
			reason:    "Most messages are whole.",
			message:   "non-zero return code",
			displayed: "[ERROR]: Task failed: Module failed: non-zero return code\r\nOrigin: x\r\n",
			want:      "non-zero return code",
		},
		"Other": {
			reason:    "What is displayed may be about something else.",
			message:   "Failed to connect",
			displayed: denied,
			want:      "Failed to connect",
		},
		"NoError": {
			reason:    "Nothing but an error has a cause.",
			message:   "a",
			displayed: "a: b\r\n",
			want:      "a",
		},
		"NoMessage": {
			reason:    "Without a message there is nothing to go on with.",
			displayed: "[ERROR]: : b\r\n",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := withCause(tc.message, tc.displayed); got != tc.want {
				t.Errorf("\n%s\nwithCause(%q): want %q, got %q", tc.reason, tc.message, tc.want, got)
			}
		})
	}
}

// What is no event explains how a run has ended where no event does.
func TestText(t *testing.T) {
	cases := map[string]struct {
		reason, text, want string
	}{
		"Error":     {reason: "Ansible marks an error.", text: "[WARNING]: a\n[ERROR]: b\nc\n", want: "b\nc"},
		"Traceback": {reason: "Of a traceback the error is shown.", text: "[WARNING]: a\n" + traceback + "\n  File \"x\"\nPermissionError: no\n", want: "PermissionError: no"},
		"Output":    {reason: "The line about an error is first.", text: "a\nb: cannot c\nd\n", want: "b: cannot c\na\nd"},
		"Nothing":   {reason: "There may be nothing."},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := NewRecorder(Options{})
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
