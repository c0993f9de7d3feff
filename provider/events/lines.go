package events

import "bytes"

const (
	// maxLine is the length of the longest event that is read, in bytes. ansible-runner leaves out results of more than
	// 700,000 characters.
	maxLine = 8 << 20
	// maxString is the length of the longest string in an event, in characters. The driver cuts longer strings. A string
	// that was cut is still larger than MaxOutputs, so that outputs that are too large are detected.
	maxString = 256 << 10
	// maxKeptBuffer is the capacity of the largest buffer that is reused, in bytes.
	maxKeptBuffer = 1 << 20
	// maxText is the length of the longest line of text that is kept, in bytes. maxTextRead is the length of the longest
	// line of text that is read and displayed.
	maxText     = 4 << 10
	maxTextRead = 64 << 10
)

// lines splits a stream into lines of bounded length. It cuts a line of text that is too long, and leaves out such a
// line of JSON.
type lines struct {
	// emit is called with each line without its end. The buffer is reused after the call.
	emit func(line []byte)

	buf []byte
	// long is true if a part of the line was dropped.
	long bool
}

// Write bytes of the stream.
func (l *lines) Write(p []byte) (int, error) {
	for piece := range bytes.Lines(p) {
		text, ended := bytes.CutSuffix(piece, []byte("\n"))

		limit := maxTextRead
		if isJSON(l.buf) || len(l.buf) == 0 && isJSON(text) {
			limit = maxLine
		}

		kept := min(len(text), limit-len(l.buf))
		l.buf, l.long = append(l.buf, text[:kept]...), l.long || kept < len(text)

		if ended {
			l.Flush()
		}
	}

	return len(p), nil
}

// Flush emits the line in the buffer.
func (l *lines) Flush() {
	if len(l.buf) > 0 && (!l.long || !isJSON(l.buf)) {
		l.emit(l.buf)
	}

	if cap(l.buf) > maxKeptBuffer {
		l.buf = nil
	}

	l.buf, l.long = l.buf[:0], false
}

// isJSON is true for the start of a line that may be a JSON object.
func isJSON(line []byte) bool { return bytes.HasPrefix(line, []byte("{")) }
