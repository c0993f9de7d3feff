package redact

import (
	"maps"
	"slices"
	"strings"
)

// An index of forms by how they start. Each has minSecret bytes at least.
type index map[prefix][]string

// A prefix is how the shortest form of a secret starts.
type prefix [minSecret]byte

func (x index) clone() index {
	c := make(index, len(x))
	for p, forms := range x {
		c[p] = slices.Clone(forms)
	}

	return c
}

// add a form, unless it is too short.
func (x index) add(form string) {
	if len(form) >= minSecret {
		p := prefix([]byte(form[:minSecret]))
		x[p] = append(x[p], form)
	}
}

// sort what was added.
func (x index) sort() {
	for p := range maps.Keys(x) {
		slices.Sort(x[p])
		x[p] = slices.Compact(x[p])
	}
}

// match returns the length of the longest form that a text starts with. However
// many secrets there are that start alike, it looks at few of them.
func (x index) match(text string) int {
	if len(text) < minSecret {
		return 0
	}

	forms := x[prefix([]byte(text[:minSecret]))]

	for len(forms) > 0 && text != "" {
		i, found := slices.BinarySearch(forms, text)
		if found {
			return len(text)
		}

		if i == 0 {
			return 0
		}

		// A form that the text starts with, the one before starts with, too.
		last := forms[i-1]
		if strings.HasPrefix(text, last) {
			return len(last)
		}

		forms, text = forms[:i-1], text[:common(text, last)]
	}

	return 0
}

// common is the length of what both start with.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}

	return n
}
