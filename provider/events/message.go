package events

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const (
	// maxOutputEnd is the length of the end of a command's output in a message, in bytes.
	maxOutputEnd = 600
	// maxOutput is the length of the end of a command's output that is searched for the cause, in bytes.
	maxOutput = 16 << 10
	// noTraceback is ansible-core's placeholder for a traceback.
	noTraceback = "(traceback unavailable)"
	// traceback is the first line of a traceback of Python.
	traceback = "Traceback (most recent call last):"
	// failedWhen is ansible-core's message for a task with a failed_when that is true.
	failedWhen = "A 'failed_when' expression evaluated to 'True'."
	// standardError is ansible-core's heading of the standard error of a program.
	standardError = ">>> Standard Error\n"
)

// A result of a task on a host.
type result struct {
	Changed      bool            `json:"changed"`
	Unreachable  bool            `json:"unreachable"`
	Censored     string          `json:"censored"`
	Message      json.RawMessage `json:"msg"`
	Reason       json.RawMessage `json:"reason"`
	IncludeVars  json.RawMessage `json:"message"`
	Stdout       json.RawMessage `json:"stdout"`
	Stderr       json.RawMessage `json:"stderr"`
	ModuleStdout json.RawMessage `json:"module_stdout"`
	ModuleStderr json.RawMessage `json:"module_stderr"`
	Exception    json.RawMessage `json:"exception"`
	Assertion    json.RawMessage `json:"assertion"`
	Code         json.RawMessage `json:"rc"`
	Label        json.RawMessage `json:"_ansible_item_label"`
	FailedWhen   json.RawMessage `json:"failed_when_result"`
	Attempts     json.RawMessage `json:"attempts"`
	// Delegated has variables of the host that the task was delegated to.
	Delegated map[string]any `json:"_ansible_delegated_vars"`
	// Modules that have failed to gather facts.
	Modules map[string]json.RawMessage `json:"failed_modules"`

	// end returns the end of a text, redacted. Nil leaves the text as it is.
	end func(text string, limit int) string
}

// parseResult returns the result in raw. Content may return any JSON: a field of another type stays empty.
func parseResult(raw json.RawMessage) result {
	var r result

	_ = json.Unmarshal(raw, &r)

	return r
}

// explain returns the cause of a failure, with the most informative line first; empty if the result has none.
func (r result) explain() string {
	for _, name := range slices.Sorted(maps.Keys(r.Modules)) {
		m := parseResult(r.Modules[name])
		m.end, m.Modules = r.end, nil

		if why := m.explain(); why != "" {
			return name + ": " + why
		}
	}

	m := ofStatus(bare(cmp.Or(text(r.Message), text(r.Reason))))
	switch unsaid := m == "" || m == "Unknown error."; {
	case unsaid && text(r.FailedWhen) == "true":
		m = failedWhen // The module has succeeded, and has no message.
	case unsaid && len(r.Attempts) > 0:
		m = "its 'until' was not true (attempts: " + text(r.Attempts) + ")"
	case unsaid:
		m = cmp.Or(text(r.IncludeVars), strings.Replace(m, "Unknown error.", "the module does not say why", 1))
	}

	summary, rest, more := strings.Cut(m, "\n")

	switch {
	case strings.HasPrefix(rest, standardError):
		return strings.TrimSuffix(summary, ".") + ": " + r.why(rest[len(standardError):])
	case strings.HasPrefix(m, traceback):
		return cmp.Or(r.detail(), r.why(m))
	case empty(m):
		return cmp.Or(r.detail(), m)
	case vague(m):
		if d := r.detail(); d != "" {
			return strings.TrimSuffix(summary, ".") + ": " + d
		}
	case more && (r.Unreachable || strings.HasSuffix(summary, ":") || m == text(r.Stderr)):
		// The rest is the output of a program, such as ssh.
		return r.why(m)
	}

	return m
}

// preface matches the prefixes that ansible-core adds to messages since 2.19.
var preface = regexp.MustCompile(
	`^((Task|Module|Action) failed: |The command exited with a |Finalization of task args for '[^']+' failed: |` +
		`A 'when' expression failed: |Unable to retrieve file contents\.\s+)+`)

// remote matches the directory on a host in which Ansible keeps the files of a task, with a random name.
var remote = regexp.MustCompile(`[^\s'"]*/\.ansible/tmp/ansible-tmp-[^/\s'"]+/`)

// noRole matches the error about a missing role, with the directories that were searched. Users do not know these.
var noRole = regexp.MustCompile(`[Tt](he role '[^']+' was not found) in:? \S+`)

// bare returns a message without the prefixes of ansible-core.
func bare(m string) string {
	return noRole.ReplaceAllString(preface.ReplaceAllLiteralString(m, ""), "t${1}")
}

// hints tell the user how to resolve failures, by precedence. A hint with confined applies to confined runs only.
var hints = []struct { //nolint:gochecknoglobals // Go has no constant slices.
	of       *regexp.Regexp
	confined bool
	text     string
}{
	{regexp.MustCompile(`out of pty devices`), true, "on the provider itself (localhost) content has no terminals " +
		"unless a cluster scoped configuration has /dev/ptmx and /dev/pts in spec.confinement.writePaths"},
	// With the error None, Ansible reports an existing file that it cannot read.
	{
		regexp.MustCompile(`Permission denied|Operation not permitted|no new privileges|` +
			`Failed to create temporary directory|Failed to get information on remote file \(.*\): None`), true,
		"on the provider itself (localhost) content may do only what spec.confinement of its configuration, " +
			"or a flag --read-path or --write-path, allows",
	},
	{
		regexp.MustCompile(`no vault secrets|[Vv]ault password`), false,
		"the password is in a credential of the configuration, which ANSIBLE_VAULT_PASSWORD_FILE in its spec.vars, " +
			"or vault_password_file in an ansible.cfg, names",
	},
	{
		regexp.MustCompile(`connect to (host|address) (127\.[\d.]+|localhost|::1) port \d+: Connection refused`), false,
		"this address is the provider itself, which has no ssh: give that of the host, or, to run there, " +
			"ansible_connection: local",
	},
	{
		regexp.MustCompile(`become success: sudo: a password is required|(Missing|Incorrect) sudo password`), false,
		"the password is ansible_become_password, in an inventory or a file of variables",
	},
	{
		regexp.MustCompile(`couldn't resolve module/action|the role '[^']+' was not found`), false,
		"unless it is misspelt, its role or collection is to be in spec.requirements of the configuration, " +
			"or in the requirements.yml of a project",
	},
}

// withHint adds the hint for a failure, if any, to the first line of its message. confined is true if the confinement
// of the run may be the cause of the failure.
func withHint(message string, confined bool) string {
	for _, h := range hints {
		if (confined || !h.confined) && h.of.MatchString(message) {
			return appended(message, "; "+h.text)
		}
	}

	return message
}

// appended adds a text to the end of the first line of a message.
func appended(message, text string) string {
	line, rest, _ := strings.Cut(message, "\n")

	return strings.TrimSuffix(strings.TrimSuffix(line, ".")+text+"\n"+rest, "\n")
}

// refusal matches a Status of a Kubernetes API server. Group 2 is its message, in quotes. Modules may show the Status
// as Python bytes.
var refusal = regexp.MustCompile(`(?s)(b'|')?\{"kind":"Status",.*?"message":("(?:[^"\\]|\\+.)*").*`)

// ofStatus replaces a Status of a Kubernetes API server in a message with the message of the Status.
func ofStatus(m string) string {
	found := refusal.FindStringSubmatch(m)
	if found == nil {
		return m
	}

	why := found[2]
	if found[1] != "" {
		why = strings.ReplaceAll(why, `\\`, `\`)
	}

	if json.Unmarshal([]byte(why), &why) != nil {
		return m
	}

	return strings.TrimSuffix(m, found[0]) + why
}

// subEvent matches the first of several errors that caused another error, in the format of ansible-core since 2.19.
var subEvent = regexp.MustCompile(`(?m)^\+--\[ Sub-Event 1 .*\n\|\s*\n\| (.*\S)`)

// withCause adds the cause of the error to a message. Since 2.19, ansible-core displays the cause, but may leave it out
// of the result of the task.
func withCause(m, displayed string) string {
	displayed = plain(displayed)
	line, _, _ := strings.Cut(displayed, "\n")

	shown, isError := cut(line, "[ERROR]: ")
	shown = strings.TrimSpace(bare(shown))
	whole := strings.TrimSuffix(m, ".") + ": "

	switch cause := subEvent.FindStringSubmatch(displayed); {
	case !isError || m == "":
	case strings.HasPrefix(shown, whole):
		return shown
	case shown == m && cause != nil:
		return whole + cause[1]
	}

	return m
}

// empty is true for messages without information.
func empty(m string) bool {
	return m == "" || strings.Contains(m, "MODULE FAILURE") || strings.Contains(m, "See stdout/stderr for the exact error")
}

// vague is true for messages that do not explain the failure without the output.
func vague(m string) bool {
	return m == failedWhen || m == "Assertion failed" || strings.Contains(m, "non-zero return code") ||
		strings.HasPrefix(m, "Module result deserialization failed")
}

// detail returns the first of these that the result has: the failed assertion, the output of the task, the last line of
// the traceback, the exit status.
func (r result) detail() string {
	if s := text(r.Assertion); s != "" {
		return s
	}

	for _, raw := range []json.RawMessage{r.Stderr, r.ModuleStderr, r.ModuleStdout, r.Stdout} {
		if s := text(raw); s != "" {
			return r.why(s)
		}
	}

	if s := text(r.Exception); s != noTraceback && s != "" {
		return s[strings.LastIndexByte(s, '\n')+1:]
	}

	if s := text(r.Code); s != "" {
		return "exit status " + s
	}

	return ""
}

// onProvider is true if the task ran on the provider itself, or if the provider failed to read a file for a host.
func (r result) onProvider(host, message string) bool {
	connection, delegated := r.Delegated["ansible_connection"]

	return connection == "local" || host == "localhost" && !delegated ||
		strings.Contains(message, "trying to read the file") || strings.Contains(message, "lookup plugin")
}

var (
	// exception matches the start of the line after a traceback: the lines of a traceback are indented.
	exception = regexp.MustCompile(`\n\S`)
	// complaint matches a line about an error.
	complaint = regexp.MustCompile(
		`(?i)error|fail|fatal|denied|refused|no such|no space|not found|cannot|could not|unable|invalid`)
	// consequence matches a line about an error that follows from another error.
	consequence = regexp.MustCompile(`(?i)could not read from remote repository`)
)

// why returns the output of a program with the line first that explains its failure. After a traceback, this is the
// error, and nothing else is returned. Otherwise it is the last line about an error, or the last line, followed by the
// end of the other lines.
func (r result) why(s string) string {
	if s = withoutCutEnd(s); r.end != nil {
		s = r.end(s, maxOutput)
	}

	s = strings.TrimSpace(s)

	if i := strings.LastIndex(s, traceback); i >= 0 {
		if end := exception.FindStringIndex(s[i:]); end != nil {
			return s[i+end[0]+1:]
		}
	}

	lines := strings.Split(s, "\n")
	last := len(lines) - 1

	for i, line := range slices.Backward(lines) {
		if complaint.MatchString(line) && !consequence.MatchString(line) {
			last = i
			break
		}
	}

	first := end(strings.TrimSpace(lines[last]), maxOutputEnd)
	if len(lines) == 1 {
		return first
	}

	return first + "\n" + end(strings.TrimSpace(strings.Join(slices.Delete(lines, last, last+1), "\n")), maxOutputEnd)
}

// text returns the text of a JSON value: a string as it is, a list of strings as lines, any other value as JSON.
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

// end returns the last n bytes of a text at most, from the start of a line if one begins in the first half of them.
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

// control matches control characters and escape sequences of terminals.
var control = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]`)

// plain returns a text without control characters other than tabs and line ends.
func plain(s string) string {
	return strings.ToValidUTF8(control.ReplaceAllString(s, ""), "\uFFFD")
}
