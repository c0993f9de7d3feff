package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

// maxCauses is how many runs of an XR a paragraph tells of.
const maxCauses = 3

// Why an object is as it is: what it waits for, and what to do, in a paragraph.
func Why(s Style, now time.Time, n *tree.Node) string {
	subject := clean(n.Kind + " " + n.NamespacedName())

	var sentences []string
	if n.Composite() {
		sentences = causes(now, n, subject)
	} else {
		sentences = []string{cause(now, n, subject)}
	}

	for _, xr := range n.Composites() {
		for _, note := range xr.Notes {
			sentences = append(sentences, sentence("Something could not be read: "+clean(note)))
		}
	}

	lines := strings.Join(wrap(strings.Join(sentences, " "), s.Width), "\n")

	return strings.ReplaceAll(lines, unbroken, " ") + "\n"
}

// causes why an XR is as it is: those of its own, and those of its runs.
func causes(now time.Time, root *tree.Node, subject string) []string {
	leaves := root.Leaves()

	if root.State == tree.Ready {
		sentences := []string{fmt.Sprintf("%s is ready, with all of its runs (%d).", subject, len(leaves))}

		for _, n := range leaves {
			sentences = append(sentences, withheld(n, called(n)+": ")...)
		}

		if len(sentences) == 1 {
			sentences[0] += nothingToDo
		}

		return sentences
	}

	sentences := []string{fmt.Sprintf("%s is not ready: %s.", subject, count(root))}

	switch {
	case !root.Available:
	case slices.ContainsFunc(leaves, func(n *tree.Node) bool { return n.State != tree.Ready }):
		sentences[0] = fmt.Sprintf("%s is ready, but not all of its runs are as they should be: %s.", subject, count(root))
	default:
		sentences[0] = fmt.Sprintf("%s is ready, and so are its runs (%d), but it cannot be changed now.", subject,
			len(leaves))
	}

	for _, xr := range root.Composites() {
		name := clean(xr.Kind + " " + xr.NamespacedName())

		switch {
		case xr.State == tree.Paused:
			sentences = append(sentences,
				name+" is paused, so that Crossplane does not compose it. To resume it: "+command("resume", xr)+".")
		case xr.Message != "":
			sentences = append(sentences, sentence(name+": "+clean(xr.Message)))
		case len(xr.Runs) == 0:
			sentences = append(sentences, name+" has no runs yet.")
		}

		if xr.Deleted {
			sentences = append(sentences, name+" is being deleted, and waits for its runs to go.")
		}
	}

	var rest []string

	told := 0
	paused := slices.ContainsFunc(root.Composites(), func(n *tree.Node) bool { return n.Paused })

	for _, states := range [][]tree.State{
		{tree.Failed, tree.Blocked, tree.AwaitingApproval},
		{tree.Paused, tree.Running, tree.Installing, tree.Queued, tree.Deleting},
		{tree.Waiting},
	} {
		for _, n := range leaves {
			if !slices.Contains(states, n.State) || paused && n.State == tree.Paused {
				continue // To resume an XR resumes its runs.
			}

			if told == maxCauses {
				rest = append(rest, clean(n.Title()))
				continue
			}

			told++

			sentences = append(sentences, cause(now, n, called(n)))
		}
	}

	if len(rest) > 0 {
		sentences = append(sentences, fmt.Sprintf("%d more are not ready: %s.", len(rest), strings.Join(rest, ", ")))
	}

	return sentences
}

// nothingToDo is how a text ends that asks for nothing.
const nothingToDo = " There is nothing to do."

// withheld says which outputs of a run are withheld.
func withheld(n *tree.Node, subject string) []string {
	sentences := make([]string, 0, len(n.Withheld))
	for _, output := range n.Withheld {
		sentences = append(sentences, sentence(subject+clean(output)))
	}

	return sentences
}

// called is what a run of an XR is called.
func called(n *tree.Node) string {
	switch {
	case n.Run == "":
		return clean(n.Kind + " " + n.NamespacedName())
	case n.Kind == "":
		return "Run " + clean(n.Run)
	}

	return clean(fmt.Sprintf("Run %s (%s)", n.Run, n.NamespacedName()))
}

// cause says why one run is as it is, what to do, and what keeps it from being deleted.
func cause(now time.Time, n *tree.Node, subject string) string {
	text := strings.Join(append([]string{because(now, n, subject)}, withheld(n, "Its ")...), " ")

	switch {
	case !n.Deleted || n.State == tree.Deleting:
		return text
	case n.Undeletable != "" && n.Undeletable != n.Message:
		return text + " " + sentence("It is being deleted, and cannot be yet: "+clean(n.Undeletable))
	case n.InProgress() && n.LastRun.State == common.StateAbsent:
		return text + " It is being deleted, by this run with state absent."
	case n.InProgress():
		return text + " It is being deleted: the provider ends this run, and then the content runs with state absent."
	}

	return text + " It is being deleted."
}

// because of what a run is as it is.
func because(now time.Time, n *tree.Node, subject string) string {
	message := clean(n.Message)

	switch n.State {
	case tree.Ready:
		return ready(now, n, subject)
	case tree.Failed:
		return failed(now, n, subject)
	case tree.Blocked:
		return blocked(n, subject, message)
	case tree.AwaitingApproval:
		if n.Available {
			subject += " is ready, but what would change"
		}

		return sentence(subject + " is not approved: " + cmp.Or(message, "it awaits a decision"))
	case tree.Running:
		return running(now, n, subject)
	case tree.Installing, tree.Queued:
		waits := clean(cmp.Or(n.LastRun.Message, waits(n.LastRun)))

		text := sentence(subject + " has not begun" + kind(n.LastRun) + ": " + waits)
		if n.LastRun.StartTime == nil && n.State == tree.Queued {
			text += " It begins when a place is free; kubectl get ansible -A shows which runs have the places."
		}

		return text
	case tree.Paused:
		what := "nothing runs"
		if n.InProgress() {
			what = inPause(n.LastRun)
		}

		return subject + " is paused: " + what + ". To resume it: " + command("resume", n) + "."
	case tree.Deleting:
		return subject + " is being deleted. Its content runs with state absent first."
	case tree.Waiting:
	}

	if names, ok := strings.CutPrefix(message, "waiting for "); ok && names != "" {
		return subject + " waits for " + names + "."
	}

	if n.Reason == string(common.ReasonWaitingForWindow) && message != "" {
		return sentence(subject + " " + message)
	}

	return sentence(subject + " waits: " + cmp.Or(message, "nothing was applied yet"))
}

// inPause is what becomes of a run in progress while its object is paused.
func inPause(r common.Run) string {
	if r.StartTime == nil {
		return "its run" + kind(r) + " had not begun, and waits until it is resumed"
	}

	return "its run" + kind(r) + " was " + string(r.Phase) + ", and goes on"
}

func ready(now time.Time, n *tree.Node, subject string) string {
	if n.Drift.Changed > 0 {
		text := fmt.Sprintf("%s is ready. Changes that its last check predicted: %d.", subject, n.Drift.Changed)

		switch m, applies := n.Corrects(now); {
		case !applies:
			return text + " They are not applied, since its managementPolicies do not allow it."
		case m.Window:
			return text + " They are applied " + when(m, now) + "."
		}

		return text + " They are applied next."
	}

	text := subject + " is ready."
	if len(n.Withheld) == 0 {
		text += nothingToDo
	}

	if m := n.Periodic(now); !m.At.IsZero() {
		text += " It runs again " + when(m, now) + "."
	}

	return text
}

func blocked(n *tree.Node, subject, message string) string {
	message = cmp.Or(message, clean(n.Reason), "its status does not say why")
	if n.Kind == "" {
		text := sentence(subject + " has not been created: " + message)
		if !strings.Contains(message, " is withheld: ") { // It says what to do itself.
			text += " Correct the XR, or its Composition."
		}

		return text
	}

	text := sentence(subject + " cannot go on: " + message)
	if strings.HasPrefix(message, "cannot create or update connection secret: ") {
		text += " The Secret that writeConnectionSecretToRef names is not the run's: name another one, or delete it."
	}

	if n.Reason == "ReconcileError" || n.Reason == string(common.ReasonInputsUnavailable) {
		text += " It goes on by itself when that is corrected."
	}

	return text
}

func running(now time.Time, n *tree.Node, subject string) string {
	text := subject + " is in progress"
	if t := took(n.LastRun, now); t != "" {
		text = subject + " has run for " + t
	}

	text += kind(n.LastRun)

	if n.LastRun.CurrentTask != "" {
		text += ", at the task " + clean(n.LastRun.CurrentTask)
	}

	return text + "." + nothingToDo
}

// kind of a run, in the words of its status.
func kind(r common.Run) string {
	if r.Mode == "" || r.Trigger == "" {
		return ""
	}

	return " (" + clean(string(r.Mode)) + ", " + clean(string(r.Trigger)) + ")"
}

func failed(now time.Time, n *tree.Node, subject string) string {
	r := n.LastRun

	ended := ""
	if r.CompletionTime != nil {
		ended = " " + ago(r.CompletionTime.Time, now)
	}

	what := clean(cmp.Or(r.Message, n.Message, "its status does not say why"))
	sentences := []string{sentence(subject + " " + r.Phase.Verb() + ended + ": " + what)}

	if what := advice()[r.Reason]; what != "" && !n.Canceled {
		sentences = append(sentences, what)
	}

	switch m := n.Retry(now); {
	case n.GaveUp():
		sentences = append(sentences, "It is not tried again by itself.")
	case !m.At.IsZero():
		sentences = append(sentences, "It is tried again "+when(m, now)+".")
	}

	return strings.Join(append(sentences, "To try it now: "+command("retry", n)+"."), " ")
}

// when something happens by itself.
func when(m tree.Moment, now time.Time) string {
	text := "when its turn comes"
	if m.At.After(now) {
		text = "in " + span(m.At.Sub(now))
	}

	if m.Window {
		text += ", when its window opens"
	}

	return text
}

// sentence ends a text with a full stop, unless it has an end.
func sentence(text string) string {
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "!") || strings.HasSuffix(text, "?") {
		return text
	}

	return text + "."
}

// command of the plugin for an object.
func command(name string, n *tree.Node) string {
	text := "kubectl ansible " + name + " " + n.Resource()
	if n.Namespace != "" {
		text += " -n " + n.Namespace
	}

	return strings.ReplaceAll(clean(text), " ", unbroken)
}

// advice for each reason of a run that docs/lifecycle.md has.
func advice() map[string]string {
	const publish = "Let the content publish fewer or other values."

	return map[string]string{
		"TaskFailed":               "Correct the content, its variables or the host.",
		"HostUnreachable":          "Look at the address, the network, and the keys and passwords of the host.",
		"NoHostsMatched":           "Correct the inventory, or the pattern of hosts.",
		"NoTasksMatched":           "Correct tags and skipTags, which leave no task.",
		"PlaybookError":            "Correct the content: Ansible cannot load it, or it has ended Ansible.",
		"InvalidInputs":            "Correct the field that the message names.",
		"InstallFailed":            "Look at the source of the content, its requirements and the configuration.",
		"InvalidConnectionDetails": publish,
		"InvalidOutputs":           publish,
		"OutputsTooLarge":          publish,
		"TooManyConditions":        publish,
		"StatusRefused":            publish,
		"OutOfMemory": "Use fewer forks or gather fewer facts, or give the provider, or the Pod " +
			"(spec.execution.resources), more memory.",
		"RunTooLarge":    "Write less to the disk, or to a path of spec.confinement.",
		"TimedOut":       "Find the task that hangs, or raise timeout, and --max-timeout of the provider.",
		"ContentChanged": "The provider checks it again.",
		"StateIgnored":   "Have the content look at the state, or take Delete out of managementPolicies.",
		"NotCheckable":   "Choose another run policy: the content cannot be checked.",
		"Canceled":       "The provider runs it again.",
		"NotStarted":     "The provider runs it again.",
		"PodNotStarted":  "Look at the Pod of the run: its image, its volumes, its rights.",
		"PodEnded":       "Look at the events of the Pod and its node.",
		"Forbidden":      "Grant the right that the message names.",
		"ProviderEnded":  "Look at the Pod of the provider: it was killed, for want of memory perhaps.",
		"Internal":       "Look at the provider and its machine: a full disk, for example.",
	}
}
