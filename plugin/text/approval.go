package text

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
	"github.com/crossplane-ansible/crossplane-ansible/provider/play"
)

// maxDiff is the largest number of lines of the difference of a task, unless the style is wide.
const maxDiff = 40

// Prediction returns the predicted changes of a run, for a decision about its approval.
func Prediction(s Style, now time.Time, n *tree.Node) string {
	b := &strings.Builder{}
	a := n.Approval

	fmt.Fprintf(b, "%s, digest %s", s.Paint(bold, called(n)), a.Digest)

	if a.Time != nil {
		fmt.Fprintf(b, ", checked %s", ago(a.Time.Time, now))
	}

	b.WriteString("\n")

	if n.Deleted {
		b.WriteString("  It is being deleted: this is what its content would change with state absent.\n")
	}

	if a.State == common.ApprovalRejected {
		fmt.Fprintf(b, "  Rejected by %s: %s\n", clean(a.By), clean(cmp.Or(a.Reason, "without a reason")))
	}

	s.writeDrift(b, a.Unchecked, n.Drift)

	return b.String()
}

// Preview returns the predicted changes of an apply.
func Preview(s Style, n *tree.Node) string {
	b := &strings.Builder{}
	r := n.Previewed()

	fmt.Fprintf(b, "%s\n", s.Paint(bold, called(n)))

	if r.Phase == common.PhaseSucceeded {
		s.writeDrift(b, r.Reason, ptr.Deref(n.Preview.Drift, common.Drift{}))
	} else {
		why := clean(cmp.Or(r.Message, "it does not say why"))
		fmt.Fprintf(b, "  %s\n", s.Paint(red, "The check "+r.Phase.Verb()+": "+why))
	}

	return b.String()
}

// writeDrift writes the predicted changes of a check, by task and host, or why there is no prediction.
func (s Style) writeDrift(b *strings.Builder, unchecked string, d common.Drift) {
	switch {
	case unchecked != "":
		fmt.Fprintf(b, "  The content cannot be checked (%s). What it would change is not known.\n", clean(unchecked))
		return
	case d.Changed == 0:
		b.WriteString("  The check predicts no change.\n")
		return
	}

	for _, t := range d.Tasks {
		fmt.Fprintf(b, "  %s on %s\n", clean(t.Task), clean(t.Host))

		if t.Diff == "" {
			continue
		}

		lines := strings.Split(strings.TrimRight(t.Diff, "\n"), "\n")
		for i, line := range lines {
			if i == maxDiff && !s.Wide {
				fmt.Fprintf(b, "      (%d more lines, which --full shows)\n", len(lines)-i)
				break
			}

			fmt.Fprintf(b, "      %s\n", s.Paint(play.ColorOfDiff(line), play.Escaped(line)))
		}
	}

	if more := d.Changed - int64(len(d.Tasks)); more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}

// History returns a table of past runs.
func History(now time.Time, runs []*tree.Node) string {
	rows := [][]string{{"NAME", "STARTED", "TOOK", "MODE", "TRIGGER", "RESULT", "CHANGED", "FAILED", "APPROVED BY"}}

	for _, n := range runs {
		for _, h := range n.History {
			started, mode, result := "", string(h.Mode), string(h.Result)

			if h.StartTime != nil {
				started = ago(h.StartTime.Time, now)
			}

			if h.State == common.StateAbsent {
				mode += " (delete)"
			}

			if h.Reason != "" {
				result += " (" + h.Reason + ")"
			}

			cells := []string{
				n.Title(), started, took(common.Run{StartTime: h.StartTime, CompletionTime: h.CompletionTime}, now), mode,
				string(h.Trigger), result, strconv.FormatInt(h.Changed, 10), strconv.FormatInt(h.Failed, 10), h.ApprovedBy,
			}
			for i := range cells {
				cells[i] = clean(cells[i])
			}

			rows = append(rows, cells)
		}
	}

	return strings.Join(table(rows), "\n") + "\n"
}
