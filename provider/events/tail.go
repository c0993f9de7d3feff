package events

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
)

const (
	// MaxTail is the length of the end of what was displayed, in bytes.
	MaxTail = 64 << 10
	// maxShown is the length of the longest line in it.
	maxShown = 8 << 10
	// leftOut stands for the lines that were displayed before.
	leftOut = "…\n"
	// maxLog is how much of a log is kept for its end: colors and such take room that no terminal shows.
	maxLog = 4 * MaxTail
)

// A LogTail keeps the end of a log. The zero value is empty. The program that writes a log decides how long it
// is, so Add does no more than copy a line, and Text does the rest.
type LogTail struct {
	mu  sync.Mutex
	log []byte
	cut bool
}

// Add a line of the log.
func (t *LogTail) Add(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.log = append(append(t.log, line[:min(len(line), maxLog/2)]...), '\n')

	if len(t.log) > 2*maxLog {
		from := len(t.log) - maxLog
		from += bytes.IndexByte(t.log[from:], '\n') + 1
		t.log = t.log[:copy(t.log, t.log[from:])]
		t.cut = true
	}
}

// Text of the end as a terminal would show it, at most MaxTail long.
func (t *LogTail) Text() string { return t.end(plain) }

// end of what a function makes of the log.
func (t *LogTail) end(clean func(log string) string) string {
	t.mu.Lock()
	shown, cut := string(t.log), t.cut
	t.mu.Unlock()

	if shown == "" {
		return ""
	}

	var lines []string

	size := len(leftOut)

	for _, line := range slices.Backward(strings.Split(strings.TrimSuffix(clean(shown), "\n"), "\n")) {
		line = clip.Text(strings.TrimRight(line, " "), maxShown) + "\n"
		if size += len(line); size > MaxTail {
			cut = true
			break
		}

		lines = append(lines, line)
	}

	if cut {
		lines = append(lines, leftOut)
	}

	slices.Reverse(lines)

	return strings.Join(lines, "")
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
