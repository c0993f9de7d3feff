package text

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

// Limits of the text about a run, unless the style is wide.
const (
	maxFailures = 3
	maxText     = 400
)

// Status returns a table of trees at a time. Its first column has the trees.
func Status(s Style, now time.Time, roots ...*tree.Node) string {
	headers := []string{"NAME", "STATE", "TOOK", "ENDED", "TASKS"}
	if s.Wide {
		headers = append(headers[:4:4], "TRIGGER", "MODE", "OBJECT", "RUN", "TASKS")
	}

	var rows []row
	for _, n := range roots {
		rows = s.rows(rows, now, n, "", "", true)
	}

	all := [][]string{headers}
	for _, r := range rows {
		all = append(all, r.cells)
	}

	lines := table(all)

	var b strings.Builder

	b.WriteString(s.Paint(bold, lines[0]) + "\n")

	for i, r := range rows {
		// The state comes after the name, which may be the same word.
		name, rest := lines[i+1][:len(r.cells[0])], lines[i+1][len(r.cells[0]):]
		b.WriteString(name + strings.Replace(rest, r.cells[1], s.Paint(r.color, r.cells[1]), 1) + "\n")

		for _, d := range r.details {
			if !s.Wide {
				d.text = clip.Text(d.text, maxText)
			}

			b.WriteString(s.Paint(dim, r.indent) + s.Paint(d.color, d.text) + "\n")
		}
	}

	return b.String()
}

// table returns the lines of a table. All rows have the same number of cells.
func table(rows [][]string) []string {
	var b strings.Builder

	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0) // As kubectl has it.
	for _, cells := range rows {
		fmt.Fprintln(w, strings.Join(cells, "\t")) //nolint:errcheck // It goes into memory.
	}

	_ = w.Flush()

	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}

	return lines
}

// A row has the cells of one node, and lines below them.
type row struct {
	cells   []string
	color   string
	indent  string
	details []detail
}

type detail struct{ color, text string }

// rows returns the rows of a node and of its children. lead is the prefix of its name, and below is
// the prefix of the names of its children.
func (s Style) rows(rows []row, now time.Time, n *tree.Node, lead, below string, root bool) []row {
	name := clean(n.Title())

	switch {
	case root:
		name = clean(n.Kind + " " + n.NamespacedName())
	case len(n.Runs) > 0:
		name = clean(cmp.Or(n.Run, n.Kind+" "+n.Name))
	}

	indent := below + "  "
	if len(n.Runs) > 0 {
		indent = below + "│ "
	}

	rows = append(rows, row{
		cells: append([]string{lead + name, string(n.State)}, s.columns(now, n)...), color: color(n.State),
		indent: indent + "  ", details: s.facts(now, n),
	})

	for i, c := range n.Runs {
		if i == len(n.Runs)-1 {
			rows = s.rows(rows, now, c, below+"└─ ", below+"   ", false)
		} else {
			rows = s.rows(rows, now, c, below+"├─ ", below+"│  ", false)
		}
	}

	return rows
}

// columns returns the cells of a node after its name and its state.
func (s Style) columns(now time.Time, n *tree.Node) []string {
	run, ended, tasks, object := n.LastRun, "", "", ""

	switch {
	case len(n.Runs) > 0:
		tasks = count(n)
	case run.Phase != "":
		tasks, object = Totals(run.Hosts), clean(n.NamespacedName())
	}

	if run.CompletionTime != nil {
		ended = ago(run.CompletionTime.Time, now)
	}

	if s.Wide {
		return []string{
			took(run, now), ended, clean(string(run.Trigger)), clean(string(run.Mode)), object, clean(run.ID), tasks,
		}
	}

	return []string{took(run, now), ended, tasks}
}

// count returns the number of ready runs of an XR, and of all.
func count(n *tree.Node) string {
	all := n.Leaves()
	ready := 0

	for _, r := range all {
		if r.State == tree.Ready {
			ready++
		}
	}

	return fmt.Sprintf("%d of %d ready", ready, len(all))
}

// took returns the duration of a run.
func took(r common.Run, now time.Time) string {
	if r.StartTime == nil {
		return ""
	}

	if r.CompletionTime != nil {
		now = r.CompletionTime.Time
	}

	return span(now.Sub(r.StartTime.Time))
}

// span returns a duration in the format of ages in kubectl.
func span(d time.Duration) string { return duration.HumanDuration(max(d, 0)) }

func ago(t, now time.Time) string { return span(now.Sub(t)) + " ago" }

// Totals returns the totals of a run with Ansible's names. Totals that are 0 are left out, except ok.
func Totals(h *common.HostTotals) string {
	if h == nil {
		return ""
	}

	words := []string{"ok=" + strconv.FormatInt(h.OK, 10)}

	for _, w := range []struct {
		name string
		n    int64
	}{
		{"changed", h.Changed},
		{"unreachable", h.Unreachable},
		{"failed", h.Failed},
		{"skipped", h.Skipped},
		{"rescued", h.Rescued},
		{"ignored", h.Ignored},
	} {
		if w.n != 0 {
			words = append(words, w.name+"="+strconv.FormatInt(w.n, 10))
		}
	}

	return strings.Join(words, " ")
}

// facts returns lines about a node: its task, the cause of its waiting, and its failures.
func (s Style) facts(now time.Time, n *tree.Node) []detail {
	var ds []detail

	add := func(color string, texts ...string) {
		for _, text := range texts {
			if text = clean(text); text != "" {
				ds = append(ds, detail{color, text})
			}
		}
	}

	run := n.LastRun

	switch {
	case n.Composite():
		add(color(n.State), strings.Split(n.Message, "\n")...)
	case n.State == tree.Running:
		add(cyan, doing(run))
	case n.State == tree.Queued, n.State == tree.Installing:
		add("", cmp.Or(run.Message, waits(run)))
	case n.State == tree.Failed:
		most := maxFailures
		if s.Wide {
			most = 0
		}

		add(red, run.Why(most)...)
		add("", next(n, now))
	case n.State == tree.AwaitingApproval && n.Approval.State != "":
		add(yellow, unapproved(n))
	default:
		add(color(n.State), cmp.Or(n.Message, n.Reason))

		if n.State == tree.Paused && n.InProgress() {
			add("", inPause(run))
		}
	}

	if n.Failure != "" {
		add(red, "it is a retry; the run before failed: "+n.Failure)
	}

	if n.Drift.Changed > 0 {
		text := fmt.Sprintf("changes that the last check predicted: %d", n.Drift.Changed)
		if n.State == tree.Ready && !n.AllowsApply() {
			text += ", not applied, since managementPolicies do not allow it"
		}

		add(yellow, text)
	} else if n.State == tree.Ready && n.NextRunTime != nil {
		add("", "next run "+when(n.NextRunTime, n, now))
	}

	add(yellow, n.Withheld...)
	add(red, n.Notes...)

	return ds
}

// next returns a message with the time of the retry of a failed run.
func next(n *tree.Node, now time.Time) string {
	attempts := "1 attempt"
	if a := n.LastApply.Attempts; a != 1 {
		attempts = fmt.Sprintf("%d attempts", a)
	}

	switch at := n.Retry(); {
	case n.GaveUp() && n.Canceled:
		return "canceled by the annotation " + common.AnnotationCancel + ", and is not tried again by itself"
	case n.GaveUp():
		return "gave up after " + attempts + ", and is not tried again by itself"
	case at != nil:
		return attempts + ", next " + when(at, n, now)
	}

	return ""
}

// when returns a message with a time.
func when(at *metav1.Time, n *tree.Node, now time.Time) string {
	text := "is due"
	if at.After(now) {
		text = "in " + span(at.Sub(now))
	}

	if n.Windowed {
		text += ", in its window"
	}

	return text
}

// unapproved returns a message about a run that awaits a decision, or the user that rejected it, and how to approve it.
func unapproved(n *tree.Node) string {
	a := n.Approval
	text := "awaits approval"

	switch {
	case a.State == common.ApprovalRejected:
		text = fmt.Sprintf("rejected by %s: %s; to approve it nevertheless", a.By, cmp.Or(a.Reason, "without a reason"))
	case a.Unchecked != "":
		text = fmt.Sprintf("cannot be checked (%s), and awaits approval", a.Unchecked)
	case n.Drift.Changed == 0:
		text = "the check predicts no change; awaits approval"
	}

	return text + ": " + command("approve", n)
}

// waits returns a message why a run has not begun.
func waits(r common.Run) string {
	switch {
	case r.Phase == common.PhaseInstalling:
		return "its content is being installed"
	case r.Pod != nil:
		return "its Pod has not started"
	case r.StartTime != nil:
		return "begins"
	}

	return "waits for its turn"
}

// doing returns the task and the progress of a run.
func doing(r common.Run) string {
	if r.Progress == "" {
		return r.CurrentTask
	}

	return r.CurrentTask + " (" + r.Progress + ")"
}

// Stuck returns the AnsibleRuns that do not go on by themselves, the most urgent first.
func Stuck(runs []*tree.Node) []*tree.Node {
	stuck := slices.DeleteFunc(slices.Clone(runs), func(n *tree.Node) bool {
		return !slices.Contains([]tree.State{tree.Failed, tree.Blocked, tree.AwaitingApproval}, n.State)
	})

	slices.SortFunc(stuck, func(a, b *tree.Node) int {
		return cmp.Or(tree.ByUrgency(a, b), cmp.Compare(b.LastApply.Attempts, a.LastApply.Attempts),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})

	return stuck
}

// Overview returns the number of AnsibleRuns in each state, and a table of those that are stuck.
func Overview(s Style, now time.Time, runs ...*tree.Node) string {
	counts := map[tree.State]int{}
	for _, n := range runs {
		counts[n.State]++
	}

	var states []string

	for _, state := range tree.States() {
		if counts[state] > 0 {
			states = append(states, fmt.Sprintf("%d %s", counts[state], state))
		}
	}

	head := fmt.Sprintf("AnsibleRuns: %d", len(runs))
	if len(states) > 0 {
		head += " (" + strings.Join(states, ", ") + ")"
	}

	stuck := Stuck(runs)
	if len(stuck) == 0 {
		return head + "\n"
	}

	return head + "\n\n" + Status(s, now, stuck...)
}
