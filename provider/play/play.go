// Package play shows Ansible's output to people as Ansible does in a terminal: in its colors. It escapes control
// characters, since an attacker may have written the text. Secrets in the text are already masked. The commands run and
// kubectl ansible logs use it.
package play

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
)

// A Style says how output is shown.
type Style struct {
	// Color is true for terminals that show colors.
	Color bool
	// Width of a line in characters, to which the stars after headings are cut; 0 leaves them.
	Width int
	// Most is the number of characters of a line that are shown; 0 means all.
	Most int
	// Prefix of each line that is not empty.
	Prefix string
}

// Colors of terminals, as Ansible uses them.
const (
	red     = "31"
	green   = "32"
	yellow  = "33"
	magenta = "35"
	cyan    = "36"
	bold    = "1"
)

// A Writer shows Ansible's output line by line.
type Writer struct {
	w     io.Writer
	style Style

	// color of lines that continue the line before. diff is true in a diff.
	color string
	diff  bool
}

// NewWriter returns a writer to w.
func NewWriter(w io.Writer, s Style) *Writer { return &Writer{w: w, style: s} }

// Show writes the lines of a text.
func (w *Writer) Show(text string) error {
	var b strings.Builder

	for line := range strings.Lines(strings.TrimSuffix(text, "\n") + "\n") {
		line = w.line(Escaped(strings.TrimRight(line, " \r\n")))
		if line != "" {
			b.WriteString(w.style.Prefix)
		}

		b.WriteString(line + "\n")
	}

	_, err := io.WriteString(w.w, b.String())

	return err
}

// heading matches the first lines of plays, tasks and the recap.
var heading = regexp.MustCompile(`^((?:PLAY|TASK|RUNNING HANDLER|CUSTOM STATS)\b.*?) ?\*{3,}$`)

// hunk matches the first line of a hunk of a diff.
var hunk = regexp.MustCompile(`^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@`)

// starts are the prefixes of lines with the result of a task.
//
//nolint:gochecknoglobals // A constant list.
var starts = []struct{ prefix, color string }{
	{"ok: [", green},
	{"changed: [", yellow},
	{"skipping: [", cyan},
	{"included: ", cyan},
	{"...ignoring", cyan},
	{"fatal: [", red},
	{"failed: [", red},
	{"FAILED - RETRYING: ", magenta},
	{"ASYNC ", ""},
	{"[ERROR]: ", red},
	{"ERROR! ", red},
	{"[WARNING]: ", magenta},
	{"[DEPRECATION WARNING]: ", magenta},
}

// line returns a line in its color.
func (w *Writer) line(line string) string {
	if h := heading.FindStringSubmatch(line); h != nil {
		w.color, w.diff = "", false

		return w.heading(h[1], line)
	}

	switch {
	case isRecap(line):
		w.color, w.diff = "", false

		return w.recap(line)
	case strings.HasPrefix(line, "--- before"), hunk.MatchString(line):
		w.color, w.diff = "", true
	case line == "":
		w.diff = false
		// Messages of errors have empty lines in them.
		if w.color != red {
			w.color = ""
		}

		return ""
	}

	for _, s := range starts {
		if strings.HasPrefix(line, s.prefix) {
			w.color, w.diff = s.color, false
			break
		}
	}

	color := w.color
	if w.diff {
		color = ColorOfDiff(line)
	}

	return w.style.Paint(color, w.cut(line))
}

// heading returns a heading with as many stars as fit.
func (w *Writer) heading(text, line string) string {
	n := len([]rune(line))
	if w.style.Width > 0 {
		n = min(n, w.style.Width-len([]rune(w.style.Prefix))-1)
	}

	text = w.cut(text)

	return w.style.Paint(bold, text) + " " + strings.Repeat("*", max(n-len([]rune(text))-1, 3))
}

// ColorOfDiff returns the color of a line of a diff.
func ColorOfDiff(line string) string {
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
		return bold
	case strings.HasPrefix(line, "+"):
		return green
	case strings.HasPrefix(line, "-"):
		return red
	case strings.HasPrefix(line, "@@"):
		return cyan
	}

	return ""
}

// totals matches the counts of a host in the recap.
var totals = regexp.MustCompile(`\b(ok|changed|unreachable|failed|skipped|rescued|ignored)=(\d+)`)

// isRecap is true for a line of the recap.
func isRecap(line string) bool {
	_, counts, ok := strings.Cut(line, " : ")

	return ok && strings.HasPrefix(counts, "ok=") && strings.Contains(counts, "unreachable=")
}

// recap returns the line of a host, with the counts that are not 0 in their colors.
func (w *Writer) recap(line string) string {
	colors := map[string]string{
		"ok": green, "changed": yellow, "unreachable": red, "failed": red, "skipped": cyan, "rescued": yellow,
		"ignored": magenta,
	}
	host, counts, _ := strings.Cut(line, " : ")
	worst := green

	for _, m := range totals.FindAllStringSubmatch(counts, -1) {
		switch c := colors[m[1]]; {
		case m[2] == "0":
		case c == red:
			worst = red
		case c == yellow && worst == green:
			worst = yellow
		}
	}

	return w.style.Paint(worst, w.cut(host)) + " : " + totals.ReplaceAllStringFunc(counts, func(s string) string {
		name, n, _ := strings.Cut(s, "=")
		if n == "0" {
			return s
		}

		return w.style.Paint(colors[name], s)
	})
}

// cut shortens a line to the shown characters.
func (w *Writer) cut(line string) string {
	r := []rune(line)
	if w.style.Most <= 0 || len(r) <= w.style.Most {
		return line
	}

	return fmt.Sprintf("%s… (%d more characters)", string(r[:w.style.Most]), len(r)-w.style.Most)
}

// Paint returns text in a color of a terminal, or unchanged without colors.
func (s Style) Paint(color, text string) string {
	if !s.Color || color == "" || text == "" {
		return text
	}

	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// Escaped returns a line in which escapes replace control characters and characters that change the direction of text.
func Escaped(line string) string {
	var b strings.Builder

	for _, c := range strings.ToValidUTF8(line, "\ufffd") {
		switch {
		case c == '\t', unicode.IsPrint(c), unicode.Is(unicode.Zs, c):
			b.WriteRune(c)
		case c > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, c)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}

	return b.String()
}
