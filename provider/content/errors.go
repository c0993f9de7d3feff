package content

import (
	"regexp"
	"slices"
	"strings"
)

const maxReason = 1024

// An InstallError says why ansible-galaxy did not install what is required.
type InstallError struct {
	// What was to be installed: collections or roles.
	What string
	// Reason in ansible-galaxy's and git's own words, redacted, 1 KiB at most.
	Reason string
	// Err of the command.
	Err error
}

// Error is what was to be installed, and the reason why not.
func (e *InstallError) Error() string {
	return "cannot install " + e.What + ": " + e.Reason
}

// Unwrap returns the error of the command.
func (e *InstallError) Unwrap() error {
	return e.Err
}

// reason that the output of ansible-galaxy gives for its failure: what it calls
// an error, the roles it did not install, and what git calls fatal. Without any
// of these, the last lines.
func reason(output string) string {
	var said, git, last []string

	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}

		if last = append(last, line); len(last) > 3 {
			last = last[1:]
		}

		s, ofGit := complaint(line)

		switch {
		case s == "" || slices.Contains(said, s):
		case ofGit:
			git = append(git, s)
		default:
			said = append(said, s)
		}
	}

	// git repeats itself in other words.
	if len(git) > 0 {
		said = append(said, git[0])
	}

	if len(said) == 0 {
		said = last
	}

	return clip(strings.Join(said, "; "))
}

// complaint of a line, and whether it is git's; empty when it has none.
func complaint(line string) (said string, git bool) {
	switch {
	case strings.HasPrefix(line, "fatal: "), strings.HasPrefix(line, "error: "):
		return withoutPasswords(line), true
	case strings.HasPrefix(line, "Could not find "):
		return line, false
	case strings.Contains(line, "--ignore-errors"):
		return "", false
	}

	for _, prefix := range []string{"[ERROR]: ", "ERROR! ", "[WARNING]: "} {
		s, ok := strings.CutPrefix(line, prefix)
		if !ok || strings.Contains(prefix, "WARNING") && !strings.Contains(s, "NOT installed successfully") {
			continue
		}

		return withoutPasswords(strings.TrimPrefix(withoutCommands(s), "- ")), false
	}

	return "", false
}

// withoutCommands leaves out command lines with temporary directories; what the
// commands said follows.
func withoutCommands(s string) string {
	s, _, _ = strings.Cut(s, ": Command '")
	s = regexp.MustCompile(`: - command .* \(rc=[0-9]+\) - (Cloning into .*)?`).ReplaceAllString(s, ": ")

	return strings.TrimSuffix(s, ": ")
}

// withoutPasswords of URLs in requirements, which are no Secret's.
func withoutPasswords(s string) string {
	return regexp.MustCompile(`://[^/@\s]*@`).ReplaceAllString(s, "://")
}

func clip(s string) string {
	if len(s) <= maxReason {
		return s
	}

	return strings.ToValidUTF8(s[:maxReason-3], "") + "..."
}
