package play

import (
	"io"
	"os"

	"golang.org/x/term"
)

// StyleOf returns the style for a writer: with colors in a terminal that supports them, unless NO_COLOR is set.
func StyleOf(w io.Writer) Style {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return Style{}
	}

	s := Style{Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		s.Width = width
	}

	return s
}
