package main

import (
	"context"
	"io"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()

	// The pipe stays empty.
	silent, _ := io.Pipe()

	cases := map[string]struct {
		reason string
		ctx    context.Context
		in     io.Reader
		want   string
		err    string
	}{
		"Answer":      {reason: "An answer is read as a word.", ctx: t.Context(), in: strings.NewReader(" Yes\n"), want: "yes"},
		"End":         {reason: "The end of the input is no answer.", ctx: t.Context(), in: strings.NewReader(""), err: "cannot read the answer: EOF"},
		"Interrupted": {reason: "An interruption is no answer.", ctx: over, in: silent, err: "interrupted: nothing was decided"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := ""

			got, err := read(tc.ctx, tc.in)
			if err != nil {
				text = err.Error()
			}

			if got != tc.want || text != tc.err {
				t.Errorf("\n%s\nread(...): want %q, %q, got %q, %q", tc.reason, tc.want, tc.err, got, text)
			}
		})
	}
}
