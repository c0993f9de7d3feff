package events

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFailure(t *testing.T) {
	const (
		frames = "  File \"/x/logging/__init__.py\", line 1181, in __init__\n    self._open()\n    ~~~~~~~~~~^^\n"
		cause  = "PermissionError: [Errno 13] Permission denied: '/tmp/ansible.log'"
	)

	cases := map[string]struct {
		reason string
		text   string
		want   string
	}{
		"Error":     {reason: "Ansible says what is wrong.", text: "a\n[ERROR]: no\nmore\n\nOrigin: x\n", want: "no\nmore"},
		"Early":     {reason: "So it does before it displays anything, with a traceback.", text: "ERROR: no\n\nTraceback (most recent call last):\n" + frames + cause, want: "no"},
		"Traceback": {reason: "A traceback is for developers: the error is behind it.", text: "Traceback (most recent call last):\n" + frames + cause + "\n", want: cause},
		"Chain":     {reason: "The last error is the one that counts.", text: "Traceback (most recent call last):\n" + frames + "KeyError: 1\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n" + frames + cause + "\ndetails\n", want: cause + "\ndetails"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			log := textLog{}
			log.addAll(tc.text)

			if diff := cmp.Diff(tc.want, strings.TrimSpace(log.failure())); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
