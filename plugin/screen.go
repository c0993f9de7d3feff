package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
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
	height   int // 0 if it is no terminal.
	drawn    int
	progress *text.Progress
}

func (p *plugin) screen(wide bool) *screen {
	s := &screen{p: p, style: text.Style{Width: narrow, Wide: wide}}

	if f := p.stdout(); f != nil && term.IsTerminal(int(f.Fd())) {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			s.style.Width, s.height = w, h
		}

		s.style.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}

	s.progress = text.NewProgress(s.style)

	return s
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

	for line := range strings.Lines(text.Status(s.style, time.Now(), roots...)) {
		rows := 1 + max(0, len([]rune(escapes.ReplaceAllString(line, "")))-2)/s.style.Width
		if s.drawn+rows >= s.height {
			break
		}

		s.p.printf("%s", line)
		s.drawn += rows
	}
}

// clear what was drawn last.
func (s *screen) clear() {
	if s.drawn > 0 {
		fmt.Fprintf(s.p.out, "\x1b[%dA\x1b[J", s.drawn) //nolint:errcheck // There is nobody else to tell.
	}

	s.drawn = 0
}

// end with trees as a whole.
func (s *screen) end(roots []*tree.Node) {
	s.clear()
	fmt.Fprint(s.p.out, text.Status(s.style, time.Now(), roots...)) //nolint:errcheck // There is nobody else to tell.
}

// follow objects: look at them again and again until the callback says that it has seen
// enough.
func (p *plugin) follow(ctx context.Context, roots []tree.Reference, seen func(now []*tree.Node) (enough bool, err error)) error {
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
	fmt.Fprintf(p.out, format, args...) //nolint:errcheck // There is nobody else to tell.
}
