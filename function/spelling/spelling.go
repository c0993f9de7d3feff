// Package spelling finds the known name that is most similar to a misspelt one.
package spelling

import "fmt"

// Hint returns ` (did you mean "x"?)` with the nearest of the names, to append to a message; empty when none is near.
func Hint(name string, names []string) string {
	best := Nearest(name, names)
	if best == "" {
		return ""
	}

	return fmt.Sprintf(" (did you mean %q?)", best)
}

// Nearest returns the first of the names with the fewest edits; empty when each needs more than 3 edits, or too many
// for the length of the name.
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

// edits returns the optimal string alignment distance of two words, in bytes: the number of replacements, insertions,
// deletions and swaps of neighbors.
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
