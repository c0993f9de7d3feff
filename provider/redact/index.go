package redact

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// A form is a spelling of a secret piece.
type form struct {
	text, piece string
	from        Source
}

// An index finds the longest form at the start of a text. Its forms are sorted.
type index struct {
	forms []form
	// prefix has, for each form, the index of the longest other form that is a prefix of it; -1 for none.
	prefix []int
	// heads has the first minSecret bytes of all forms, which rules out most of a text quickly.
	heads map[string]bool
}

func newIndex(forms []form) *index {
	// Equal spellings of a piece are merged. Equal spellings of two pieces are kept, since one of the pieces may be
	// public.
	slices.SortStableFunc(forms, func(a, b form) int { return cmp.Compare(a.text, b.text) })
	forms = slices.CompactFunc(forms, func(a, b form) bool { return a.text == b.text && a.piece == b.piece })
	x := &index{forms: forms, prefix: make([]int, len(forms)), heads: map[string]bool{}}

	for i, f := range forms {
		x.heads[f.text[:minSecret]] = true

		x.prefix[i] = i - 1
		for x.prefix[i] >= 0 && !strings.HasPrefix(f.text, forms[x.prefix[i]].text) {
			x.prefix[i] = x.prefix[x.prefix[i]]
		}
	}

	return x
}

// longest returns the index of the longest form that is a prefix of the text; -1 for none. Every such form is a prefix
// of the last form that is not sorted after the text, or that form itself.
func (x *index) longest(text string) int {
	if len(text) < minSecret || !x.heads[text[:minSecret]] {
		return -1
	}

	n := sort.Search(len(x.forms), func(i int) bool { return x.forms[i].text > text }) - 1

	alike := 0
	for last := x.forms[max(n, 0)].text; alike < min(len(last), len(text)) && last[alike] == text[alike]; {
		alike++
	}

	for n >= 0 && len(x.forms[n].text) > alike {
		n = x.prefix[n]
	}

	return n
}
