// Package shell writes text for a POSIX shell, and for programs that split text as a shell does.
package shell

import "strings"

// Quote a text, so that a shell takes it for one word and expands nothing in it.
func Quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
