package events

import (
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
)

const (
	// maxKept is the number of lines that are kept of the start of the text, and of its end.
	maxKept = 50
	// maxWarnings is the largest number of warnings in a message.
	maxWarnings = 3
)

// A textLog keeps the first and the last lines that are not events.
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

// failure returns the first error that Ansible displayed, or else the result of why for all lines. The error ends at an
// empty line, after which Ansible displays an excerpt of the source, or a hint.
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

// warnings returns the first few different warnings that Ansible displayed.
func (o *textLog) warnings() []string {
	var found []string

	for _, line := range o.lines() {
		if w, ok := cut(line, "[WARNING]: "); ok && len(found) < maxWarnings && !slices.Contains(found, w) {
			found = append(found, w)
		}
	}

	return found
}

// cut removes the first of the prefixes that a line has; false if it has none.
func cut(line string, prefixes ...string) (string, bool) {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(line, p); ok {
			return rest, true
		}
	}

	return "", false
}
