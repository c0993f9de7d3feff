package events

import (
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
)

const (
	// MaxTail is the length of the end of what was displayed, in bytes.
	MaxTail = 64 << 10
	// maxShown is the length of the longest line in it.
	maxShown = 8 << 10
	// leftOut stands for the lines that were displayed before.
	leftOut = "…\n"
)

// A tail keeps the last lines of what was displayed. Nil keeps nothing.
type tail struct {
	lines []string
	size  int
	cut   bool
}

// add lines, which are redacted already.
func (t *tail) add(text string) {
	if t == nil {
		return
	}

	for line := range strings.Lines(strings.TrimSuffix(text, "\n") + "\n") {
		line = clip.Text(strings.TrimRight(line, " \n"), maxShown) + "\n"
		t.lines = append(t.lines, line)
		t.size += len(line)
	}

	for t.size > MaxTail-len(leftOut) {
		t.size -= len(t.lines[0])
		t.lines = t.lines[1:]
		t.cut = true
	}
}

func (t *tail) text() string {
	text := strings.Join(t.lines, "")
	if t.cut {
		text = leftOut + text
	}

	return text
}

// withoutCutEnd leaves out the end of a string that was cut before it was redacted, since the
// end may be half of a secret.
func withoutCutEnd(s string) string {
	if len(s) < maxString {
		return s
	}

	if i := strings.LastIndexByte(s, '\n'); i > maxString/2 {
		return s[:i]
	}

	return s[:maxString/2]
}
