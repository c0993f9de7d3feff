package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"
	kerrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crossplane-ansible/crossplane-ansible/plugin/text"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

const (
	// narrow is the width of lines where nothing says how wide a line is.
	narrow = 80
	// pause between two looks at the objects.
	pause = time.Second
	// maxErrors in a row, after which a look at the objects fails for good.
	maxErrors = 10
)

// escapes that color text, and take no room.
var escapes = regexp.MustCompile("\x1b\\[[0-9]+m")

// A screen shows trees again and again: where it is a terminal, each time in the place of
// the last one, and otherwise what has changed.
type screen struct {
	p        *plugin
	style    text.Style
	height   int   // 0 if it is no terminal.
	drawn    []int // The lengths of the lines that were drawn last.
	progress *text.Progress
}

func (p *plugin) screen(wide bool) *screen {
	s := &screen{p: p, style: text.Style{Width: narrow, Wide: wide}}

	s.measure()
	s.style.Color = s.height > 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	s.progress = text.NewProgress(s.style)

	return s
}

// measure the terminal, which may have another size each time.
func (s *screen) measure() {
	f := s.p.stdout()
	if f == nil || !term.IsTerminal(int(f.Fd())) {
		return
	}

	if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
		s.style.Width, s.height = w, h
	}
}

// show trees as they are now.
func (s *screen) show(roots []*tree.Node) {
	if s.height == 0 {
		for _, line := range s.progress.Lines(time.Now(), roots...) {
			s.p.printf("%s\n", line)
		}

		return
	}

	s.clear()

	for _, line := range fit(text.Status(s.style, time.Now(), roots...), s.style.Width, s.height) {
		s.p.printf("%s\n", line)
		s.drawn = append(s.drawn, length(line))
	}
}

// fit the lines of a text into a terminal. The last row is for the cursor. Lines that do not fit are counted.
func fit(all string, width, height int) []string {
	lines := strings.Split(strings.TrimSuffix(all, "\n"), "\n")

	total := 0
	for _, line := range lines {
		total += rows(length(line), width)
	}

	if total < height {
		return lines
	}

	used := 1

	for i, line := range lines {
		used += rows(length(line), width)
		if used >= height {
			return append(slices.Clip(lines[:i]), fmt.Sprintf("… %d more lines", len(lines)-i))
		}
	}

	return lines
}

// length of a line as a terminal shows it.
func length(line string) int { return len([]rune(escapes.ReplaceAllString(line, ""))) }

// rows that a line of a length takes.
func rows(length, width int) int { return 1 + max(0, length-1)/width }

// clear what was drawn last. In a terminal of another width it takes other rows now.
func (s *screen) clear() {
	s.measure()

	up := 0
	for _, n := range s.drawn {
		up += rows(n, s.style.Width)
	}

	if up > 0 {
		fmt.Fprintf(s.p.out, "\x1b[%dA\x1b[J", up) //nolint:errcheck // There is no way to report it.
	}

	s.drawn = nil
}

// end with trees as a whole.
func (s *screen) end(roots []*tree.Node) {
	s.clear()
	fmt.Fprint(s.p.out, text.Status(s.style, time.Now(), roots...)) //nolint:errcheck // There is no way to report it.
}

// follow objects: look at them again and again until the callback says that it has seen
// enough.
func (p *plugin) follow(ctx context.Context, roots []tree.Reference,
	seen func(now []*tree.Node) (enough bool, err error),
) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()

	for failures := 0; ; {
		now, err := p.load(ctx, roots)

		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			failures = 0

			if enough, err := seen(now); enough || err != nil {
				return err
			}
		case failures == maxErrors, kerrors.IsForbidden(err), kerrors.IsUnauthorized(err):
			return err
		default:
			failures++
		}

		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (p *plugin) printf(format string, args ...any) {
	fmt.Fprintf(p.out, format, args...) //nolint:errcheck // There is no way to report it.
}
