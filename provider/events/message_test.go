package events

import "testing"

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
