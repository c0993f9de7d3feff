package play

import (
	"io"
	"os"

	"golang.org/x/term"
)

// StyleOf is how text is shown where it is written to: in colors in a terminal that has them,
// unless the variable NO_COLOR says otherwise.
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
