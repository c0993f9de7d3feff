// Package clip bounds texts that people read, and that have to fit into a field.
package clip

import "strings"

// Text as far as it fits into a number of bytes, of which three are those of the
// ellipsis that shows where it was cut. No character is broken.
func Text(s string, most int) string {
	const mark = "…"

	if len(s) <= most {
		return s
	}

	return strings.ToValidUTF8(s[:max(most-len(mark), 0)], "") + mark
}
