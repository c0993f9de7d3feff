package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFit(t *testing.T) {
	cases := map[string]struct {
		reason        string
		text          string
		width, height int
		want          []string
	}{
		"All":    {reason: "What fits is shown as a whole.", text: "a\nb\n", width: 10, height: 3, want: []string{"a", "b"}},
		"Cut":    {reason: "What is left out is counted.", text: "a\nb\nc\n", width: 10, height: 3, want: []string{"a", "… 2 more lines"}},
		"Long":   {reason: "A line that is longer than the terminal takes more rows.", text: "a\n0123456789x\nc\n", width: 10, height: 4, want: []string{"a", "… 2 more lines"}},
		"Exact":  {reason: "One that fills it takes one.", text: "a\n0123456789\nc\n", width: 10, height: 4, want: []string{"a", "0123456789", "c"}},
		"Colors": {reason: "Colors take no room.", text: "\x1b[31m0123456789\x1b[0m\n", width: 10, height: 2, want: []string{"\x1b[31m0123456789\x1b[0m"}},
		"Tiny":   {reason: "There may be no room at all.", text: "a\nb\n", width: 1, height: 1, want: []string{"… 2 more lines"}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, fit(tc.text, tc.width, tc.height)); diff != "" {
				t.Errorf("\n%s\nfit(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

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
