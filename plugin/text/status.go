package text

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

// Limits of what is shown of a run, unless it is shown wide.
const (
	maxFailures = 3
	maxLines    = 4
	minName     = 12
	maxName     = 30
	// stateRoom is what the longest state needs beside a name.
	stateRoom = 20
	// leastName is as much of a name as there is in the narrowest terminal.
	leastName = 4
)

// Status of trees at a time: a table with the trees in its first column.
func Status(s Style, now time.Time, roots ...*tree.Node) string {
	var rows []row
	for _, n := range roots {
		rows = s.rows(rows, now, n, "", "", true)
	}

	headers := row{cells: []string{"NAME", "STATE", "TOOK", "ENDED", "TASKS"}}
	if s.Wide {
		headers.cells = append(headers.cells[:4:4], "TRIGGER", "MODE", "OBJECT", "RUN", "TASKS")
	}

	widths := make([]int, len(headers.cells))

	for _, r := range append([]row{headers}, rows...) {
		for i, c := range r.cells {
			if i < len(r.cells)-1 {
				widths[i] = max(widths[i], len([]rune(c)))
			}
		}
	}

	widths[0] = max(widths[0], minName)
	if !s.Wide {
		widths[0] = min(widths[0], maxName, max(s.Width-stateRoom, leastName))
	}

	var b strings.Builder

	b.WriteString(s.paint(bold, headers.line(s, widths)) + "\n")

	for _, r := range rows {
		if len(r.cells) > 0 {
			b.WriteString(r.line(s, widths) + "\n")
		}

		for _, d := range r.details {
			lines := wrap(d.text, max(s.Width-len([]rune(r.indent)), 20)) // Narrower text cannot be read.

			if !s.Wide && len(lines) > maxLines {
				lines = append(lines[:maxLines-1:maxLines-1], pad(lines[maxLines-1]+" …", s.Width-len([]rune(r.indent))))
			}

			for _, l := range lines {
				b.WriteString(s.paint(dim, r.indent) + s.paint(d.color, strings.TrimRight(l, " ")) + "\n")
			}
		}
	}

	return strings.ReplaceAll(b.String(), unbroken, " ")
}

// A row is about one node: cells in columns, and lines below them.
type row struct {
	cells   []string
	color   string
	indent  string
	details []detail
}

type detail struct{ color, text string }

func (r row) line(s Style, widths []int) string {
	var b strings.Builder

	for i, c := range r.cells {
		if i < len(r.cells)-1 {
			c = pad(c, widths[i]) + "  "
		}

		b.WriteString(c)
	}

	line := strings.TrimRight(b.String(), " ")
	if n := len([]rune(line)); n > s.Width && !s.Wide {
		line = pad(line, s.Width)
	}

	if r.color == "" {
		return line
	}

	// The state comes after the name, which may be the same word.
	runes := []rune(line)
	name := min(widths[0], len(runes))

	return string(runes[:name]) + strings.Replace(string(runes[name:]), r.cells[1], s.paint(r.color, r.cells[1]), 1)
}

// rows of a node and those below it. lead is what stands before its name, and below what
// stands before the names of those below it.
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

	r := row{
		cells: []string{lead + name, string(n.State)}, color: color(n.State), indent: indent + "  ",
		details: s.facts(now, n),
	}
	r.cells = append(r.cells, s.columns(now, n)...)
	rows = append(rows, r)

	for i, c := range n.Runs {
		if i == len(n.Runs)-1 {
			rows = s.rows(rows, now, c, below+"└─ ", below+"   ", false)
		} else {
			rows = s.rows(rows, now, c, below+"├─ ", below+"│  ", false)
		}
	}

	return rows
}

// columns of a node after its name and its state.
func (s Style) columns(now time.Time, n *tree.Node) []string {
	if len(n.Runs) > 0 {
		return []string{count(n)}
	}

	run := n.LastRun
	if run.Phase == "" {
		return nil
	}

	cells := []string{took(run, now), "", totals(run.Hosts)}
	if run.CompletionTime != nil {
		cells[1] = ago(run.CompletionTime.Time, now)
	}

	if s.Wide {
		cells = []string{
			cells[0], cells[1], string(run.Trigger), string(run.Mode), clean(n.NamespacedName()),
			clean(run.ID), cells[2],
		}
	}

	return cells
}

// count the runs of an XR that are ready.
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

// took is how long a run has taken.
func took(r common.Run, now time.Time) string {
	if r.StartTime == nil {
		return ""
	}

	if r.CompletionTime != nil {
		now = r.CompletionTime.Time
	}

	return span(now.Sub(r.StartTime.Time))
}

// span of time, as kubectl shows ages.
func span(d time.Duration) string { return duration.HumanDuration(max(d, 0)) }

func ago(t, now time.Time) string { return span(now.Sub(t)) + " ago" }

// totals of a run, in Ansible's words. Those that are 0 are left out, except ok.
func totals(h *common.HostTotals) string {
	if h == nil {
		return ""
	}

	words := []string{"ok=" + strconv.FormatInt(h.OK, 10)}

	for _, w := range []struct {
		name string
		n    int64
	}{{"changed", h.Changed}, {"unreachable", h.Unreachable}, {"failed", h.Failed}, {"skipped", h.Skipped}, {
		"rescued",
		h.Rescued,
	}, {"ignored", h.Ignored}} {
		if w.n != 0 {
			words = append(words, w.name+"="+strconv.FormatInt(w.n, 10))
		}
	}

	return strings.Join(words, " ")
}

// facts of a node: what it does, what it waits for, what has failed. A status has them as lines, and a reason as
// sentences.
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
		add(color(n.State), n.Message)
	case n.State == tree.Running:
		add(cyan, doing(run))
	case n.State == tree.Queued, n.State == tree.Installing:
		add("", cmp.Or(run.Message, waits(run)))
	case n.State == tree.Failed:
		most := maxFailures
		if s.Wide {
			most = 0
		}

		add(red, run.WhyFailed(most)...)
		add("", next(n, now))
	case n.State == tree.AwaitingApproval && n.Approval.State != "":
		ds = append(ds, detail{yellow, unapproved(n)})
	default:
		add(color(n.State), cmp.Or(n.Message, n.Reason))

		if n.State == tree.Paused && n.InProgress() {
			add("", inPause(run))
		}
	}

	if n.Drift.Changed > 0 {
		text := fmt.Sprintf("changes that the last check predicted: %d", n.Drift.Changed)

		switch m, applies := n.Corrects(now); {
		case n.State != tree.Ready:
		case !applies:
			text += ", not applied, since managementPolicies do not allow it"
		case m.Window:
			text += ", applied " + when(m, now)
		}

		add(yellow, text)
	} else if m := n.Periodic(now); n.State == tree.Ready && !m.At.IsZero() {
		add("", "runs again "+when(m, now))
	}

	add(yellow, n.Withheld...)
	add(red, n.Notes...)

	return ds
}

// next says when a run that failed is tried again.
func next(n *tree.Node, now time.Time) string {
	attempts := "1 attempt"
	if a := n.LastApply.Attempts; a != 1 {
		attempts = fmt.Sprintf("%d attempts", a)
	}

	switch m := n.Retry(now); {
	case n.GaveUp():
		return "gave up after " + attempts + ", and is not tried again by itself"
	case m.At.After(now):
		return attempts + ", next " + when(m, now)
	case !m.At.IsZero():
		return attempts + ", next is due"
	}

	return ""
}

// unapproved says what awaits a decision, or by which user it was rejected, and how to approve it.
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

	return clean(text) + ": " + command("approve", n)
}

// waits says what a run that has not begun waits for.
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

// doing is the task of a run, and how far the run is.
func doing(r common.Run) string {
	if r.Progress == "" {
		return r.CurrentTask
	}

	return r.CurrentTask + " (" + r.Progress + ")"
}
