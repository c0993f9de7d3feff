package validate

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// A Mistake is a mistake in a file.
type Mistake struct {
	// File is the name of the file.
	File string
	// Line is the line in the file, from 1; 0 when it is unknown.
	Line int
	// Path is the path of the field in the input of the function, or in the object if the mistake is outside of an
	// input. It is empty for the object as a whole.
	Path string
	// Message describes the mistake.
	Message string
}

// String returns the mistake in one line, as file:line: path: message.
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

// sorted returns mistakes sorted by file and line, without duplicates.
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
