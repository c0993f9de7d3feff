package validate

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// A Mistake in a file.
type Mistake struct {
	// File that the mistake is in.
	File string
	// Line of the file, from 1; 0 when it is not known.
	Line int
	// Path of the field within the function's input, or within the object where
	// the mistake is not in an input. It is empty where the object as a whole is
	// meant.
	Path string
	// Message says what is wrong.
	Message string
}

// String returns the mistake in one line, as compilers do: file:line: path:
// message.
func (m Mistake) String() string {
	s := m.File
	if m.Line > 0 {
		s += ":" + strconv.Itoa(m.Line)
	}

	if m.Path != "" {
		s += ": " + m.Path
	}

	return s + ": " + strings.Join(strings.Fields(m.Message), " ")
}

// sorted mistakes, by file and line, without those that are said twice.
func sorted(mistakes []Mistake) []Mistake {
	slices.SortFunc(mistakes, func(a, b Mistake) int {
		return cmp.Or(
			strings.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			strings.Compare(a.Path, b.Path),
			strings.Compare(a.Message, b.Message),
		)
	})

	return slices.Compact(mistakes)
}
