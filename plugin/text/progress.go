package text

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

// A Progress reports the progress of runs: a line for each change. It maps each run to its last line.
type Progress map[string]string

// Lines returns lines about changes since the last call.
func (p Progress) Lines(s Style, now time.Time, roots ...*tree.Node) string {
	var lines strings.Builder

	for _, root := range roots {
		leaves := root.Leaves()
		if len(leaves) == 0 {
			leaves = []*tree.Node{root}
		}

		for _, n := range leaves {
			text := s.Paint(color(n.State), string(n.State))
			if message := clean(n.Message); n.Composite() && message != "" {
				text += ": " + message // All lines of it, in one.
			} else if facts := s.facts(now, n); len(facts) > 0 {
				text += ": " + facts[0].text
			}

			key := root.NamespacedName() + "\n" + cmp.Or(n.Run, n.NamespacedName())
			if p[key] == text {
				continue
			}

			p[key] = text

			fmt.Fprintf(&lines, "%s %s %s\n", now.Format(time.TimeOnly), clean(n.Title()), text)
		}
	}

	return lines.String()
}
