package events

import (
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
)

const (
	// maxKept is how many lines are kept of the start of the text, and how many of its end.
	maxKept = 50
	// maxWarnings is how many warnings explain that nothing was done.
	maxWarnings = 3
)

// A textLog keeps the start and the end of the lines that are not events.
type textLog struct {
	first, last []string
}

func (o *textLog) add(line string) {
	line = strings.TrimRight(plain(line), " \n")

	if len(o.first) < maxKept {
		o.first = append(o.first, line)

		return
	}

	if len(o.last) == maxKept {
		o.last = slices.Delete(o.last, 0, 1)
	}

	o.last = append(o.last, line)
}

func (o *textLog) addAll(text string) {
	for line := range strings.Lines(text) {
		o.add(clip.Text(line, maxText))
	}
}

func (o *textLog) lines() []string { return slices.Concat(o.first, o.last) }

// failure returns the first error that Ansible displayed, or else the line that says why, and the last ones. The error
// ends at an empty line, after which Ansible displays an excerpt of the source, or a hint.
func (o *textLog) failure() string {
	var found []string

	for _, line := range o.lines() {
		e, isError := cut(line, "[ERROR]: ", "ERROR! ", "ERROR: ")

		switch {
		case len(found) == 0 && isError:
			found = append(found, e)
		case len(found) > 0 && line == "":
			return strings.Join(found, "\n")
		case len(found) > 0:
			found = append(found, line)
		}
	}

	if len(found) > 0 {
		return strings.Join(found, "\n")
	}

	return result{}.why(strings.Join(o.lines(), "\n"))
}

// warnings that Ansible displayed, the first few.
func (o *textLog) warnings() []string {
	var found []string

	for _, line := range o.lines() {
		if w, ok := cut(line, "[WARNING]: "); ok && len(found) < maxWarnings && !slices.Contains(found, w) {
			found = append(found, w)
		}
	}

	return found
}

// cut removes the first of the prefixes that a line has. It is false when the line has none.
func cut(line string, prefixes ...string) (string, bool) {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(line, p); ok {
			return rest, true
		}
	}

	return "", false
}
