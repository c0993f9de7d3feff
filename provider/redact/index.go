package redact

import (
	"maps"
	"slices"
	"strings"
)

// An index of forms by how they start. Each has minSecret bytes at least.
type index map[prefix]bucket

// A bucket is forms that start alike, in order, each with the longest other one that
// it starts with, -1 for none.
type bucket struct {
	forms  []string
	within []int
}

// A prefix is how the shortest form of a secret starts.
type prefix [minSecret]byte

func (x index) clone() index {
	c := make(index, len(x))
	for p, b := range x {
		c[p] = bucket{forms: slices.Clone(b.forms)}
	}

	return c
}

// add a form, unless it is too short.
func (x index) add(form string) {
	if len(form) >= minSecret {
		p := prefix([]byte(form[:minSecret]))
		x[p] = bucket{forms: append(x[p].forms, form)}
	}
}

// sort what was added.
func (x index) sort() {
	for p := range maps.Keys(x) {
		forms := x[p].forms
		slices.Sort(forms)
		forms = slices.Compact(forms)

		within := make([]int, len(forms))

		for i := range forms {
			within[i] = i - 1
			for within[i] >= 0 && !strings.HasPrefix(forms[i], forms[within[i]]) {
				within[i] = within[within[i]]
			}
		}

		x[p] = bucket{forms: forms, within: within}
	}
}

// match returns the length of the longest form that a text starts with; 0 for none. It
// compares few forms, so that a Secret with many values that start alike does not hold
// up the recorder.
func (x index) match(text string) int {
	if len(text) < minSecret {
		return 0
	}

	b := x[prefix([]byte(text[:minSecret]))]

	i, found := slices.BinarySearch(b.forms, text)
	if found {
		return len(text)
	}

	if i == 0 {
		return 0
	}

	// The form before the text in the order starts with every form that the text starts
	// with.
	n := common(text, b.forms[i-1])

	for p := i - 1; p >= 0; p = b.within[p] {
		if len(b.forms[p]) <= n {
			return len(b.forms[p])
		}
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
