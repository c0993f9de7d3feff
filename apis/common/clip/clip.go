// Package clip cuts texts for people to the length of a field.
package clip

import "strings"

// Text cuts a string to a number of bytes, at the boundary of a character. A cut string ends with an ellipsis of three
// bytes.
func Text(s string, most int) string {
	const mark = "…"

	if len(s) <= most {
		return s
	}

	return strings.ToValidUTF8(s[:max(most-len(mark), 0)], "") + mark
}
