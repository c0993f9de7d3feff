// Package shell quotes text for a POSIX shell, and for programs that split text as a shell does.
package shell

import "strings"

// Quote returns a text as one word of a shell, without expansions.
func Quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
