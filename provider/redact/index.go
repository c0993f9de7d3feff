package redact

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// A form is a spelling of a piece that is secret.
type form struct {
	text, piece string
	from        Source
}

// An index has forms, in order.
type index struct {
	forms []form
	// within is the longest other form that each starts with, -1 for none.
	within []int
	// starts of the forms: most of a text is none.
	starts map[string]bool
}

func newIndex(forms []form) *index {
	// Of several spellings of a piece that are alike the first stays. Another piece that is spelled alike may be public.
	slices.SortStableFunc(forms, func(a, b form) int { return cmp.Compare(a.text, b.text) })
	forms = slices.CompactFunc(forms, func(a, b form) bool { return a.text == b.text && a.piece == b.piece })
	x := &index{forms: forms, within: make([]int, len(forms)), starts: map[string]bool{}}

	for i, f := range forms {
		x.starts[f.text[:minSecret]] = true

		x.within[i] = i - 1
		for x.within[i] >= 0 && !strings.HasPrefix(f.text, forms[x.within[i]].text) {
			x.within[i] = x.within[x.within[i]]
		}
	}

	return x
}

// longest form that a text starts with; -1 for none. The form before the text in the order starts with each form that
// the text starts with.
func (x *index) longest(text string) int {
	if len(text) < minSecret || !x.starts[text[:minSecret]] {
		return -1
	}

	n := sort.Search(len(x.forms), func(i int) bool { return x.forms[i].text > text }) - 1

	alike := 0
	for last := x.forms[max(n, 0)].text; alike < min(len(last), len(text)) && last[alike] == text[alike]; {
		alike++
	}

	for n >= 0 && len(x.forms[n].text) > alike {
		n = x.within[n]
	}

	return n
}
