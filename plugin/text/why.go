package text

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

// Why objects are as they are: what the table of Status says of them and of their runs, and what to do. Runs that are
// as they should be are left out, and the most important ones come first.
func Why(s Style, now time.Time, roots ...*tree.Node) string {
	var b strings.Builder

	if len(roots) == 0 {
		b.WriteString("All AnsibleRuns go on by themselves.\n")
	}

	for i, root := range roots {
		if i > 0 {
			b.WriteString("\n")
		}

		for _, n := range unready(root) {
			b.WriteString(called(n) + ": " + s.Paint(color(n.State), string(n.State)) + details(now, n) + "\n")

			for _, f := range s.facts(now, n) {
				b.WriteString("  " + s.Paint(f.color, f.text) + "\n")
			}

			for _, text := range append(deletion(n), advise(n)...) {
				b.WriteString("  " + text + "\n")
			}
		}
	}

	return b.String()
}

// unready returns the XRs of a tree, and its nodes that are not ready.
func unready(root *tree.Node) []*tree.Node {
	nodes := root.Composites()

	leaves := root.Leaves()
	slices.SortStableFunc(leaves, tree.ByUrgency)

	paused := slices.ContainsFunc(nodes, func(n *tree.Node) bool { return n.Paused })

	for _, n := range leaves {
		switch {
		case paused && n.State == tree.Paused: // To resume an XR resumes its runs.
		case n == root, n.State != tree.Ready, len(n.Withheld) > 0:
			nodes = append(nodes, n)
		}
	}

	return nodes
}

// called returns the name of a run of an XR.
func called(n *tree.Node) string {
	switch {
	case n.Run == "":
		return clean(n.Kind + " " + n.NamespacedName())
	case n.Kind == "":
		return "Run " + clean(n.Run)
	}

	return clean(fmt.Sprintf("Run %s (%s)", n.Run, n.NamespacedName()))
}

// details returns a message about a state.
func details(now time.Time, n *tree.Node) string {
	var (
		r    = n.LastRun
		text string
	)

	switch {
	case n.Composite():
		text = ", " + count(n)
	case n.InProgress() && n.State != tree.Paused && r.StartTime != nil:
		text = " for " + took(r, now)
	case n.State == tree.Failed && r.CompletionTime != nil:
		text = " " + ago(r.CompletionTime.Time, now)
	}

	if n.InProgress() && r.Mode != "" && r.Trigger != "" {
		text += " (" + clean(string(r.Mode)) + ", " + clean(string(r.Trigger)) + ")"
	}

	if n.Available && n.State != tree.Ready {
		text += "; what was applied before is ready"
	}

	return text
}

// deletion returns messages about an AnsibleRun that is being deleted.
func deletion(n *tree.Node) []string {
	switch {
	case !n.Deleted:
	case n.Composite():
		return []string{"It is being deleted, and waits for its runs to go."}
	case n.Undeletable != "" && n.Undeletable != n.Message:
		return []string{"It is being deleted, and cannot be yet: " + clean(n.Undeletable)}
	case n.InProgress() && n.LastRun.State == common.StateAbsent:
		return []string{"It is being deleted, by this run with state absent."}
	case n.InProgress():
		return []string{"It is being deleted, which goes on when this run has ended."}
	case n.State == tree.Deleting:
		return []string{"What removes its target runs first."}
	case n.State == tree.Failed:
		return []string{"It is being deleted: repair the cause, or " + common.GiveUpDeletion + "."}
	default:
		return []string{"It is being deleted."}
	}

	return nil
}

// advise returns messages about what to do about an object.
func advise(n *tree.Node) []string {
	switch {
	case n.State == tree.Paused:
		return []string{"To resume it: " + command("resume", n)}
	case n.Composite():
	case n.State == tree.Queued && n.LastRun.StartTime == nil:
		return []string{"It begins when a place is free; kubectl get ansible -A shows which runs have the places."}
	case n.State == tree.Failed:
		try := "To try it now: " + command("retry", n)
		if what := advice()[n.LastRun.Reason]; what != "" && !n.Canceled {
			return []string{what, try}
		}

		return []string{try}
	case n.State != tree.Blocked:
	case n.Kind == "":
		return []string{"Correct the XR, or its Composition."}
	case n.Reason == "ReconcileError", n.Reason == string(common.ReasonInputsUnavailable):
		return []string{"It goes on by itself when that is corrected."}
	}

	return nil
}

// inPause returns a message about a run in progress of a paused object.
func inPause(r common.Run) string {
	if r.StartTime == nil {
		return "its run had not begun, and waits until it is resumed"
	}

	return "its run was " + string(r.Phase) + ", and goes on"
}

// command returns the command of the plugin for an object.
func command(name string, n *tree.Node) string {
	return clean("kubectl ansible " + name + " " + n.Args())
}

// advice returns the advice for each reason of a run in docs/lifecycle.md.
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
