package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

const (
	// maxOutputEnd is the length of the end of a command's output that explains a failure,
	// in bytes.
	maxOutputEnd = 600
	// noTraceback is what ansible-core says instead of a traceback.
	noTraceback = "(traceback unavailable)"
)

// A result of a task on a host.
type result struct {
	Changed      bool            `json:"changed"`
	Failed       bool            `json:"failed"`
	Censored     string          `json:"censored"`
	Message      json.RawMessage `json:"msg"`
	Reason       json.RawMessage `json:"reason"`
	Stdout       json.RawMessage `json:"stdout"`
	Stderr       json.RawMessage `json:"stderr"`
	ModuleStdout json.RawMessage `json:"module_stdout"`
	ModuleStderr json.RawMessage `json:"module_stderr"`
	Exception    json.RawMessage `json:"exception"`
	Assertion    json.RawMessage `json:"assertion"`
	Code         json.RawMessage `json:"rc"`
	Label        json.RawMessage `json:"_ansible_item_label"`
	Items        json.RawMessage `json:"results"`

	// clean redacts a text before it is cut, since half a secret would not be found. Nil
	// leaves the text as it is.
	clean func(string) string
	// item is true for the result of an item of a loop, which has no items of its own.
	item bool
}

// parseResult never fails, since content may return anything. A field of another type stays
// empty.
func parseResult(raw json.RawMessage) result {
	var r result

	_ = json.Unmarshal(raw, &r)

	return r
}

// explain returns why the result is a failure; empty if the result does not say.
func (r result) explain() string {
	if r.Censored != "" {
		return r.Censored
	}

	if m := r.explainItem(); m != "" {
		return m
	}

	m := bare(text(r.Message))
	if m == "" {
		m = text(r.Reason)
	}

	if m != "" && !vague(m) {
		return m
	}

	if d := r.detail(); d != "" {
		return strings.TrimPrefix(m+": "+d, ": ")
	}

	return m
}

// explainItem explains the first item of a loop that failed.
func (r result) explainItem() string {
	var items []json.RawMessage
	if r.item || json.Unmarshal(r.Items, &items) != nil {
		return ""
	}

	first, failed := "", 0

	for _, raw := range items {
		item := parseResult(raw)
		if !item.Failed {
			continue
		}

		if failed++; failed > 1 {
			continue
		}

		item.clean = r.clean
		first = item.ofLoop()
	}

	if failed > 1 {
		first += fmt.Sprintf(" (and %d more)", failed-1)
	}

	return first
}

// ofLoop explains the result of an item of a loop, and says which one.
func (r result) ofLoop() string {
	r.item = true
	m := r.explain()

	if label := text(r.Label); label != "" && m != "" {
		m = "item " + label + ": " + m
	}

	return m
}

// bare returns a message without the words with which ansible-core begins it since 2.19.
func bare(m string) string {
	return strings.TrimPrefix(strings.TrimPrefix(m, "Task failed: "), "Module failed: ")
}

// withCause returns a message with what caused the error, which ansible-core displays since 2.19. The result of a task
// may leave it out.
func withCause(m, displayed string) string {
	line, _, _ := strings.Cut(plain(displayed), "\n")

	shown, isError := cut(line, "[ERROR]: ")
	shown = strings.TrimSpace(bare(shown))

	if !isError || m == "" || !strings.HasPrefix(shown, strings.TrimSuffix(m, ".")+": ") {
		return m
	}

	return shown
}

// vague is true for messages that say nothing without the output.
func vague(m string) bool {
	return m == "Assertion failed" || strings.HasPrefix(m, "non-zero return code") ||
		strings.Contains(m, "MODULE FAILURE") ||
		strings.HasPrefix(m, "Module result deserialization failed")
}

// detail returns the end of what the task wrote, the last line of the traceback, or else the
// exit status.
func (r result) detail() string {
	if s := text(r.Assertion); s != "" {
		return s
	}

	for _, raw := range []json.RawMessage{r.Stderr, r.ModuleStderr, r.ModuleStdout, r.Stdout} {
		if s := text(raw); s != "" {
			if s = withoutCutEnd(s); r.clean != nil {
				s = r.clean(s)
			}

			return end(s, maxOutputEnd)
		}
	}

	if s := text(r.Exception); s != noTraceback {
		if s = s[strings.LastIndexByte(s, '\n')+1:]; s != "" {
			return s
		}
	}

	if s := text(r.Code); s != "" {
		return "exit status " + s
	}

	return ""
}

// text of a JSON value: a string as it is, a list of strings as lines,
// anything else as JSON.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &s) == nil {
		return strings.TrimSpace(s)
	}

	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return strings.TrimSpace(strings.Join(list, "\n"))
	}

	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return ""
	}

	return b.String()
}

// end returns the last bytes of the text, from the start of a line if there is
// one.
func end(s string, n int) string {
	const mark = "…"

	if len(s) <= n {
		return s
	}

	s = s[len(s)-n+len(mark):]
	if i := strings.IndexByte(s, '\n'); i >= 0 && i < n/2 {
		return s[i+1:]
	}

	return mark + strings.ToValidUTF8(s, "")
}

// control matches control characters, and sequences that a terminal acts on.
var control = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]`)

// plain returns a text without control characters other than tabs and line ends.
func plain(s string) string {
	return strings.ToValidUTF8(control.ReplaceAllString(s, ""), "\uFFFD")
}
