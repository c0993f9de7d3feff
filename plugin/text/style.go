// Package text shows trees in a terminal. All that comes from objects may be any text: it has no control characters
// when it reaches a terminal.
package text

import (
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
	"github.com/crossplane-ansible/crossplane-ansible/provider/play"
)

// A Style is how text is shown.
type Style struct {
	play.Style

	// Wide shows more columns, and messages as a whole.
	Wide bool
}

// Colors of terminals.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
	dim    = "2"
	bold   = "1"
)

// color of a state.
func color(s tree.State) string {
	switch s {
	case tree.Ready:
		return green
	case tree.Failed, tree.Blocked:
		return red
	case tree.Running, tree.Installing:
		return cyan
	case tree.AwaitingApproval, tree.Queued, tree.Waiting, tree.Deleting, tree.Paused:
		return yellow
	}

	return ""
}

// clean makes one line of a text, of characters that a terminal shows and does not obey.
func clean(text string) string { return play.Escaped(strings.Join(strings.Fields(text), " ")) }
