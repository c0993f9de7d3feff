package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

// Overview of AnsibleRuns: how many are in each state, and a table of those that do not go on by themselves, the worst
// first.
func Overview(s Style, now time.Time, runs []*tree.Node) string {
	counts := map[tree.State]int{}
	stuck := []*tree.Node{}

	for _, n := range runs {
		counts[n.State]++

		if slices.Contains([]tree.State{tree.Failed, tree.Blocked, tree.AwaitingApproval}, n.State) {
			stuck = append(stuck, n)
		}
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

	if len(stuck) == 0 {
		return head + "\n"
	}

	slices.SortFunc(stuck, func(a, b *tree.Node) int {
		return cmp.Or(cmp.Compare(a.State.Urgency(), b.State.Urgency()),
			cmp.Compare(b.LastApply.Attempts, a.LastApply.Attempts),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})

	return head + "\n\n" + Status(s, now, stuck...)
}
