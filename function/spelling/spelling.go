// Package spelling finds out what is meant by names that are misspelt.
package spelling

import "fmt"

// Hint suggests which of the names is meant by one that is none of them: a text
// to put after a message, or none.
func Hint(name string, names []string) string {
	best := Nearest(name, names)
	if best == "" {
		return ""
	}

	return fmt.Sprintf(" (did you mean %q?)", best)
}

// Nearest of the names, or "" when none is near.
func Nearest(name string, names []string) string {
	const most = 3

	best, distance := "", min(most, len(name)-1, 1+len(name)/most)

	for _, n := range names {
		if d := edits(name, n); d < distance || d == distance && best == "" {
			best, distance = n, d
		}
	}

	return best
}

// edits returns how many letters have to be replaced, added, taken away, or
// swapped with the next, to make one word of another.
func edits(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}

	for j := range rows[0] {
		rows[0][j] = j
	}

	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}

			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}

	return rows[len(a)][len(b)]
}
