package main

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// A terminal of so many columns.
const columns = 112

// drawTerminal draws what a terminal showed. Commands begin with "$ ", and the line
// after an empty one is a heading.
func drawTerminal(text string) (string, error) {
	const line, char = 17, 8

	var (
		b     strings.Builder
		y     = line
		blank bool
	)

	for text := range strings.Lines(text) {
		text = strings.TrimRight(text, "\n")

		class := "text"

		switch {
		case strings.HasPrefix(text, "$ "):
			class = "command"
		case blank && !strings.HasPrefix(text, " "):
			class = "heading"
		}

		blank = text == ""

		for _, part := range wrap(text, columns) {
			fmt.Fprintf(&b, "<text xml:space=\"preserve\" class=\"%s\" x=\"14\" y=\"%d\">%s</text>\n", class, y+line/2,
				escape(part))
			y += line
		}
	}

	return picture(columns*char+28, y+line/2, `
text { font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1f2328 }
.heading { font-weight: bold }
.command { fill: #0550ae }
.back { fill: #f6f8fa; stroke: #d1d9e0 }
@media (prefers-color-scheme: dark) {
  text { fill: #d1d7e0 }
  .command { fill: #79c0ff }
  .back { fill: #0d1117; stroke: #3d444d }
}`, b.String()), nil
}

// wrap splits text after so many characters.
func wrap(text string, width int) []string {
	runes := []rune(text)

	var parts []string
	for len(runes) > width {
		parts = append(parts, string(runes[:width]))
		runes = runes[width:]
	}

	return append(parts, string(runes))
}

// picture is an SVG with a background, whose style may depend on the reader's
// colour scheme.
func picture(width, height int, style, body string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d">
<style>%s
</style>
<rect class="back" x="0.5" y="0.5" width="%d" height="%d" rx="6"/>
%s</svg>
`, width, height, width, height, style, width-1, height-1, body)
}

func escape(text string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		return "" // A strings.Builder returns no errors.
	}

	return b.String()
}
