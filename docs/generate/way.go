package main

import (
	"fmt"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A station of the way of a run: an object of the API or a program, what it does or
// holds on the way there, and on the way back.
type station struct {
	name, there, back string
	object            bool
}

// drawWay draws the way of a run: a box for each line "name | there | back", and
// arrows there and back between them. The name of an object of the API is in
// brackets.
func drawWay(text string) (string, error) {
	const width, gap, line = 164, 34, 17

	var stations []station

	for text := range strings.Lines(text) {
		if strings.HasPrefix(text, "#") || strings.TrimSpace(text) == "" {
			continue
		}

		parts := strings.Split(text, "|")
		if len(parts) != 3 {
			return "", errors.Errorf("a line should be name | there | back, not %q", text)
		}

		name := strings.TrimSpace(parts[0])
		stations = append(stations, station{
			name: strings.Trim(name, "[]"), object: strings.HasPrefix(name, "["),
			there: strings.TrimSpace(parts[1]), back: strings.TrimSpace(parts[2]),
		})
	}

	var b strings.Builder

	x := 14

	for i, s := range stations {
		class := "program"
		if s.object {
			class = "object"
		}

		fmt.Fprintf(&b, "<rect class=\"%s\" x=\"%d\" y=\"14\" width=\"%d\" height=\"196\" rx=\"6\"/>\n", class, x, width)
		fmt.Fprintf(&b, "<text class=\"name\" x=\"%d\" y=\"38\">%s</text>\n", x+width/2, escape(s.name))

		for j, words := range fold(s.there, 21) {
			fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\">%s</text>\n", x+width/2, 66+j*line, escape(words))
		}

		for j, words := range fold(s.back, 21) {
			fmt.Fprintf(&b, "<text class=\"return\" x=\"%d\" y=\"%d\">%s</text>\n", x+width/2, 148+j*line, escape(words))
		}

		if i+1 < len(stations) {
			from, to := x+width+3, x+width+gap-3
			fmt.Fprintf(&b, "<path class=\"there\" d=\"M%d 80H%dm-6 -5l6 5l-6 5\"/>\n", from, to)
			fmt.Fprintf(&b, "<path class=\"return\" d=\"M%d 162H%dm6 -5l-6 5l6 5\"/>\n", to, from)
		}

		x += width + gap
	}

	return picture(x-gap+14, 224, `
text { font: 13px ui-sans-serif, system-ui, "Segoe UI", "DejaVu Sans", sans-serif; text-anchor: middle; fill: #1f2328 }
.name { font-weight: bold; font-size: 14px }
path { fill: none; stroke-width: 2; stroke: #0550ae }
text.return { fill: #116329 }
path.return { stroke: #1a7f37 }
.back { fill: none }
.object { fill: #ddf4ff; stroke: #54aeff }
.program { fill: #f6f8fa; stroke: #8c959f }
@media (prefers-color-scheme: dark) {
  text { fill: #d1d7e0 }
  path { stroke: #79c0ff }
  text.return { fill: #7ee787 }
  path.return { stroke: #3fb950 }
  .object { fill: #0c2d48; stroke: #388bfd }
  .program { fill: #161b22; stroke: #6e7681 }
}`, b.String()), nil
}

// fold splits words into lines of at most so many characters.
func fold(text string, width int) []string {
	var lines []string

	for word := range strings.FieldsSeq(text) {
		last := len(lines) - 1
		if last >= 0 && len([]rune(lines[last]))+1+len([]rune(word)) <= width {
			lines[last] += " " + word
			continue
		}

		lines = append(lines, word)
	}

	return lines
}
