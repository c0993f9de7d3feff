package events

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
)

const (
	// MaxTail is the largest length of the end of a display, in bytes.
	MaxTail = 64 << 10
	// maxShown is the length of the longest line in a tail, in bytes.
	maxShown = 8 << 10
	// leftOut stands for earlier lines.
	leftOut = "…\n"
	// maxLog is the length of the log that is kept, in bytes. It is longer than MaxTail, since the log has escape
	// sequences that the tail does not have.
	maxLog = 4 * MaxTail
)

// A LogTail keeps the end of a log. The zero value is empty. A log can be long, so that Add only copies a line, and
// Text does the rest.
type LogTail struct {
	mu  sync.Mutex
	log []byte
	cut bool
}

// Add adds a line of the log.
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

// Text returns the end of the log without control characters, at most MaxTail long.
func (t *LogTail) Text() string { return t.end(plain) }

// end returns the end of the log after clean was applied to it.
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

// withoutCutEnd removes the end of a string that was cut before it was redacted, since the end may be half of a secret.
func withoutCutEnd(s string) string {
	if len(s) < maxString {
		return s
	}

	if i := strings.LastIndexByte(s, '\n'); i > maxString/2 {
		return s[:i]
	}

	return s[:maxString/2]
}
