package main

import "testing"

func TestAdded(t *testing.T) {
	cases := map[string]struct{ reason, before, now, want string }{
		"First":  {"All of it is new at first.", "", "a\nb\n", "a\nb\n"},
		"Same":   {"Nothing is new.", "a\nb\n", "a\nb\n", ""},
		"More":   {"What follows is new.", "a\nb\n", "a\nb\nc\n", "c\n"},
		"Cut":    {"The start may be left out later.", "a\nb\nc\n", "…\nc\nd\n", "d\n"},
		"Missed": {"Lines that nobody has seen are missing.", "a\n", "…\nc\nd\n", "…\nc\nd\n"},
		"Gone":   {"Nothing is shown twice when it is removed.", "a\n", "", ""},
		"Again":  {"The same lines may be displayed again.", "a\na\n", "a\na\na\n", "a\n"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := added(tc.before, tc.now); got != tc.want {
				t.Errorf("\n%s\nadded(%q, %q): want %q, got %q", tc.reason, tc.before, tc.now, tc.want, got)
			}
		})
	}
}
