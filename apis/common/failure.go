package common

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// maxHosts is how many hosts the text about a failure names.
const maxHosts = 2

// Reasons of runs.
const (
	// ReasonHostUnreachable means that hosts could not be reached, and nothing else failed.
	ReasonHostUnreachable = "HostUnreachable"
	// ReasonPodNotStarted means that the Pod of the run could not be made or started.
	ReasonPodNotStarted = "PodNotStarted"
	// ReasonForbidden means that the provider lacks rights to run Pods, or that it gets no token of the ServiceAccount of
	// the run. As the reason of a condition it means that rights are missing, such as rights that were bound to the
	// account of another version.
	ReasonForbidden = "Forbidden"
	// ReasonInstallFailed means that the content could not be installed.
	ReasonInstallFailed = "InstallFailed"
	// ReasonInternal means that the run failed because of the provider or its machine.
	ReasonInternal = "Internal"
)

// CutOff is true for a run that the provider prevented from beginning or from ending, or that executed none of its
// content. The purpose of such a run is still open: a requested check, or an apply of changes that a check has found.
func (r *Run) CutOff() bool {
	return r != nil &&
		(r.Phase == PhaseInterrupted || r.Phase == PhaseCanceled || r.Reason == ReasonInternal || r.Untried())
}

// Untried is true for a run that executed none of its content because of a missing precondition that is no input:
// rights, an image, a quota, a source. A check that was not tried has no result.
func (r *Run) Untried() bool {
	return r.Reason == ReasonPodNotStarted || r.Reason == ReasonForbidden || r.Reason == ReasonInstallFailed
}

// differing matches a word that may differ when the same failure happens again or elsewhere: a word with a digit, or an
// absolute path, which is often random.
var differing = regexp.MustCompile(`\d|(^|[^\w.~-])/`)

// Gist returns the first line of a message without words that may differ from run to run.
func Gist(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	words := slices.DeleteFunc(strings.Fields(line), differing.MatchString)

	return strings.Join(words, " ")
}

// Cause returns the first failure of a run as text; its first line says why the run failed. It is empty if no failure
// is known.
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

// Why returns a text for each failure of a run that was not rescued. Without failures it returns the message, or the
// reason, of the run. Equal failures of several hosts share a text. With a limit above 0, more failures than that
// become one text with their number.
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

// failures that were not rescued, grouped by task and gist of the message.
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

// describe equal failures in one text. A failure that was rescued before on the same host is named, too: it is most
// often the cause.
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

// namesOf returns the hosts of failures and the verb that follows: `hosts "a", "b" and 3 more` and " are ".
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
