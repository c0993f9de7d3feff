// Package text formats trees for a terminal. Texts of objects are not trusted: their control characters are removed
// for the terminal.
package text

import (
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
	"github.com/crossplane-ansible/crossplane-ansible/provider/play"
)

// A Style has options of the format.
type Style struct {
	play.Style

	// Wide shows more columns, and complete messages.
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

// color returns the color of a state.
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

// clean returns a text in one line, without control characters.
func clean(text string) string { return play.Escaped(strings.Join(strings.Fields(text), " ")) }
