package events

const (
	// maxLine is the length of the longest event that is read, in bytes, after
	// its strings were cut. ansible-runner leaves out results of more than 700,000
	// characters.
	maxLine = 8 << 20
	// maxString is the length of the longest string in an event, in bytes of JSON. Nothing
	// else bounds the output of commands. A string that was cut is still larger than
	// MaxOutputs, however many characters are escaped, so that too large outputs are noticed.
	maxString = 256 << 10
	// maxKeptBuffer is the length of the largest buffer that is used again.
	maxKeptBuffer = 1 << 20
	// maxText is the length of the longest line of text that is kept, in bytes, and
	// maxTextRead that of the longest one that is read and displayed.
	maxText     = 4 << 10
	maxTextRead = 64 << 10
)

// lines cuts a stream into lines of bounded length. A line of text that is too
// long is cut, and so are the strings in a line of JSON, which stays JSON. A
// line of JSON that is still too long is left out.
type lines struct {
	// emit gets each line without its end, in a buffer that is used again.
	emit func(line []byte)

	buf []byte
	// long is true in a line that has reached its greatest length.
	long bool
	// quoted is true between the quotes of a JSON string. Length is how much of the
	// string was read.
	quoted bool
	length int
	// escape is the number of bytes that an escape sequence still lacks.
	escape int
}

// Write bytes of the stream.
func (l *lines) Write(p []byte) (int, error) {
	for _, c := range p {
		if c == '\n' {
			l.Flush()

			continue
		}

		if l.keep(c) {
			l.buf = append(l.buf, c)
		}
	}

	return len(p), nil
}

// Flush emits the line that the stream ended in.
func (l *lines) Flush() {
	if len(l.buf) > 0 && (!l.long || !l.json()) {
		l.emit(l.buf)
	}

	if cap(l.buf) > maxKeptBuffer {
		l.buf = nil
	}

	*l = lines{emit: l.emit, buf: l.buf[:0]}
}

// json is true in a line that may be JSON.
func (l *lines) json() bool { return l.buf[0] == '{' }

// keep is true for a byte that belongs to what is kept of its line.
func (l *lines) keep(c byte) bool {
	limit := maxLine

	switch {
	case len(l.buf) == 0:
		return true
	case !l.json():
		limit = maxTextRead
	case !l.inString(c):
		return false
	}

	l.long = l.long || len(l.buf) >= limit

	return !l.long
}

// inString follows the quotes, and returns false for what is to be cut out of
// a string. It cuts between escape sequences only.
func (l *lines) inString(c byte) bool {
	switch {
	case !l.quoted:
		l.quoted, l.length = c == '"', 0

		return true
	case l.escape > 0:
		l.escape--

		// A sequence \uXXXX has four more bytes.
		if l.escape == 0 && c == 'u' && l.buf[len(l.buf)-1] == '\\' {
			l.escape = 4
		}

		return l.length <= maxString
	case c == '"':
		l.quoted = false

		return true
	}

	if c == '\\' {
		l.escape = 1
	}

	l.length++

	return l.length <= maxString
}
