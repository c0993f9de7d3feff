package text

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

// maxCauses is how many runs of an XR a paragraph tells of.
const maxCauses = 3

// Why an object is as it is: what it waits for, and what to do, in a paragraph.
func Why(s Style, now time.Time, n *tree.Node) string {
	subject := clean(n.Kind + " " + n.NamespacedName())

	sentences := []string{cause(now, n, subject)}
	if n.Composite() {
		sentences = causes(now, n, subject)
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
	is := " is not ready: "

	switch {
	case root.State == tree.Ready:
		is = " is ready: "
	case root.Available:
		is = " is ready, but not as it should be: "
	}

	sentences := []string{subject + is + count(root) + "."}

	for _, n := range leaves {
		if n.State == tree.Ready && len(n.Withheld) > 0 {
			sentences = append(sentences, cause(now, n, called(n)))
		}
	}

	if root.State == tree.Ready && len(sentences) == 1 {
		return append(sentences, nothingToDo)
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
const nothingToDo = "There is nothing to do."

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
	sentences := because(now, n, subject)

	switch {
	case !n.Deleted || n.State == tree.Deleting:
	case n.Undeletable != "" && n.Undeletable != n.Message:
		sentences = append(sentences, "It is being deleted, and cannot be yet: "+clean(n.Undeletable))
	case n.InProgress() && n.LastRun.State == common.StateAbsent:
		sentences = append(sentences, "It is being deleted, by this run with state absent.")
	case n.InProgress():
		sentences = append(sentences,
			"It is being deleted, which goes on when this run has ended.")
	default:
		sentences = append(sentences, "It is being deleted.")
	}

	for i, text := range sentences {
		first, n := utf8.DecodeRuneInString(text)
		sentences[i] = sentence(string(unicode.ToUpper(first)) + text[n:])
	}

	return strings.Join(sentences, " ")
}

// because of what a run is as it is, and what to do.
func because(now time.Time, n *tree.Node, subject string) []string {
	brief := *n
	brief.LastRun.Failures = nil // Its message is about the first of them.

	var texts []string
	for _, f := range (Style{}).facts(now, &brief) {
		texts = append(texts, f.text)
	}

	names, others := strings.CutPrefix(clean(n.Message), "waiting for ")

	switch {
	case n.State == tree.Waiting && others:
		texts[0] = subject + " waits for " + names
	case n.State == tree.Waiting && strings.HasPrefix(n.Message, "waits for "):
		texts[0] = subject + " " + texts[0]
	case len(texts) > 0:
		texts[0] = subject + " " + verb(now, n) + ": " + texts[0]
	default:
		texts = []string{subject + " " + verb(now, n)}
	}

	return append(texts, advise(n)...)
}

// verb of a sentence about a run.
func verb(now time.Time, n *tree.Node) string {
	r := n.LastRun

	switch n.State {
	case tree.Ready:
		return "is ready"
	case tree.Failed:
		if r.CompletionTime != nil {
			return r.Phase.Verb() + " " + ago(r.CompletionTime.Time, now)
		}

		return r.Phase.Verb()
	case tree.Blocked:
		if n.Kind == "" {
			return "has not been created"
		}

		return "cannot go on"
	case tree.AwaitingApproval:
		if n.Available {
			return "is ready, but what would change is not approved"
		}

		return "is not approved"
	case tree.Running:
		if t := took(r, now); t != "" {
			return "has run for " + t + kind(r)
		}

		return "is in progress" + kind(r)
	case tree.Installing, tree.Queued:
		return "has not begun" + kind(r)
	case tree.Paused:
		return "is paused"
	case tree.Deleting:
		return "is being deleted; what removes its target runs first"
	case tree.Waiting:
	}

	return "waits"
}

// advise says what to do about a run.
func advise(n *tree.Node) []string {
	switch n.State {
	case tree.Ready:
		if n.Drift.Changed == 0 && len(n.Withheld) == 0 {
			return []string{nothingToDo}
		}
	case tree.Running:
		return []string{nothingToDo}
	case tree.Queued:
		if n.LastRun.StartTime == nil {
			return []string{"It begins when a place is free; kubectl get ansible -A shows which runs have the places."}
		}
	case tree.Paused:
		return []string{"To resume it: " + command("resume", n)}
	case tree.Failed:
		try := "To try it now: " + command("retry", n)
		if what := advice()[n.LastRun.Reason]; what != "" && !n.Canceled {
			return []string{what, try}
		}

		return []string{try}
	case tree.Blocked:
		return unblock(n)
	case tree.AwaitingApproval, tree.Installing, tree.Deleting, tree.Waiting:
	}

	return nil
}

// unblock says what to do about a run that cannot go on.
func unblock(n *tree.Node) []string {
	switch {
	case n.Kind == "" && strings.Contains(n.Message, " is withheld: "): // It says what to do itself.
	case n.Kind == "":
		return []string{"Correct the XR, or its Composition."}
	case strings.HasPrefix(n.Message, "cannot create or update connection secret: "):
		return []string{"The Secret that writeConnectionSecretToRef names is not the run's: name another one, or delete it."}
	case n.Reason == "ReconcileError", n.Reason == string(common.ReasonInputsUnavailable):
		return []string{"It goes on by itself when that is corrected."}
	}

	return nil
}

// inPause is what becomes of a run in progress while its object is paused.
func inPause(r common.Run) string {
	if r.StartTime == nil {
		return "its run" + kind(r) + " had not begun, and waits until it is resumed"
	}

	return "its run" + kind(r) + " was " + string(r.Phase) + ", and goes on"
}

// kind of a run, in the words of its status.
func kind(r common.Run) string {
	if r.Mode == "" || r.Trigger == "" {
		return ""
	}

	return " (" + clean(string(r.Mode)) + ", " + clean(string(r.Trigger)) + ")"
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
		"StateIgnored":   "Nothing was removed: say in onDelete what deletion does, or have the content look at the state.",
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
