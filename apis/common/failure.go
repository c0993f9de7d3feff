package common

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// maxHosts is how many hosts a text about a failure names.
const maxHosts = 2

// Reasons of runs.
const (
	// ReasonHostUnreachable means that hosts could not be reached, and nothing else failed.
	ReasonHostUnreachable = "HostUnreachable"
	// ReasonPodNotStarted means that the Pod of the run could not be made or started.
	ReasonPodNotStarted = "PodNotStarted"
	// ReasonForbidden means that the provider lacks rights to run Pods, or that it gets no token of the ServiceAccount
	// of the run. As that of a condition, it means that rights are missing, such as those that were bound to the account
	// of another version.
	ReasonForbidden = "Forbidden"
	// ReasonInstallFailed means that the content could not be installed.
	ReasonInstallFailed = "InstallFailed"
	// ReasonInternal means that the provider itself is at fault, or the machine that it runs on.
	ReasonInternal = "Internal"
)

// CutOff is true for a run that the provider did not let begin, or end, or of which nothing was executed. What the run
// was started for is still to be done: a requested check, or an apply of what a check has found.
func (r *Run) CutOff() bool {
	return r != nil &&
		(r.Phase == PhaseInterrupted || r.Phase == PhaseCanceled || r.Reason == ReasonInternal || r.Untried())
}

// Untried is true for a run that executed nothing of its content, because something that is no input has to be put
// right first: rights, an image, a quota, a source. A check of this kind tells nothing.
func (r *Run) Untried() bool {
	return r.Reason == ReasonPodNotStarted || r.Reason == ReasonForbidden || r.Reason == ReasonInstallFailed
}

// differing matches a word of a message that may differ when the same thing fails elsewhere, or again: one with a
// number, a time or an absolute path, which is often random.
var differing = regexp.MustCompile(`\d|(^|[^\w.~-])/`)

// Gist of a message: its first line, without words that may differ.
func Gist(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	words := slices.DeleteFunc(strings.Fields(line), differing.MatchString)

	return strings.Join(words, " ")
}

// Cause of the failure of a run, in one text, the first line of which says why; empty if no failure is known.
func (r *Run) Cause() string {
	groups := r.failures()
	if len(groups) == 0 {
		return ""
	}

	more := ""
	if n := r.Hosts.Failed + r.Hosts.Unreachable - int64(len(groups[0])); n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}

	return r.describe(groups[0], more)
}

// Why a run failed: a text for each failure that nothing has rescued, and how many more there are than these at most;
// 0 means all. Equal failures of several hosts have one. Without any it is the message of the run, or its reason.
func (r *Run) Why(most int) []string {
	var texts []string
	for _, g := range r.failures() {
		texts = append(texts, r.describe(g, ""))
	}

	if len(texts) == 0 && r.Message+r.Reason != "" {
		texts = []string{cmp.Or(r.Message, r.Reason+": it does not say why")}
	}

	if more := len(texts) - most; most > 0 && more > 0 {
		texts = append(texts[:most], fmt.Sprintf("and %d more", more))
	}

	return texts
}

// failures that nothing has rescued, those of the same task for the same reason together.
func (r *Run) failures() [][]Failure {
	var groups [][]Failure

	for _, f := range r.Failures {
		if f.Rescued {
			continue
		}

		i := slices.IndexFunc(groups, func(g []Failure) bool {
			return f.Task == g[0].Task && Gist(f.Message) == Gist(g[0].Message)
		})
		if i < 0 {
			groups, i = append(groups, nil), len(groups)
		}

		groups[i] = append(groups[i], f)
	}

	return groups
}

// describe equal failures in one text. What was rescued before is most often the cause.
func (r *Run) describe(fs []Failure, more string) string {
	f := fs[0]
	hosts, are := namesOf(fs)

	text := "failed"
	if f.Task != "" {
		text = fmt.Sprintf("task %q failed", f.Task)
	}

	if hosts != "" && r.Reason == ReasonHostUnreachable {
		text = hosts + are + "unreachable"
	} else if hosts != "" {
		text += " on " + hosts
	}

	line, rest, lines := strings.Cut(f.Message, "\n")
	if line != "" {
		text += ": " + line
	}

	for _, o := range slices.Backward(r.Failures) {
		if o.Rescued && o.Host == f.Host {
			line, _, _ := strings.Cut(o.Message, "\n")
			text += fmt.Sprintf("; before, task %q failed and was rescued: %s", o.Task, line)

			break
		}
	}

	if text += more; lines {
		text += "\n" + rest
	}

	return text
}

// namesOf the hosts of failures, and the verb that follows: `hosts "a", "b" and 3 more` and " are ".
func namesOf(fs []Failure) (hosts, are string) {
	var names []string

	for _, f := range fs {
		if name := fmt.Sprintf("%q", f.Host); f.Host != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}

	switch n := len(names); {
	case n == 0:
		return "", ""
	case n == 1:
		return "host " + names[0], " is "
	case n > maxHosts:
		names = append(names[:maxHosts], fmt.Sprintf("%d more", n-maxHosts))
	}

	last := len(names) - 1

	return "hosts " + strings.Join(names[:last], ", ") + " and " + names[last], " are "
}
