package redact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A view of a text leaves out what wrapping, indenting, escaping and changing
// its case do to it, so that a secret looks the same after that: white space,
// control characters, backslashes with the letters of white space behind them,
// and plus signs, which stand for spaces in URLs. Percent-encoded bytes are
// decoded; letters are in lower case.
type view struct {
	text string
	// from and to are where each byte of the view is in the text.
	from, to []int32
}

func newView(text string) view {
	b := make([]byte, 0, len(text))
	v := view{from: make([]int32, 0, len(text)), to: make([]int32, 0, len(text))}

	for i := 0; i < len(text); {
		c, n := text[i], 1

		switch {
		case c <= ' ' || c == '+' || c == 0x7f:
			i++

			continue
		case c == '\\':
			i += escape(text[i:])

			continue
		case c == '%' && i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2]):
			c, n = fromHex(text[i+1])<<4|fromHex(text[i+2]), 3 //nolint:mnd // Two digits of four bits behind a sign.
			if c <= ' ' || c == '+' || c == '\\' || c == 0x7f {
				i += n

				continue
			}
		}

		from := len(b)

		switch r, size := utf8.DecodeRuneInString(text[i:]); {
		case c >= 'A' && c <= 'Z':
			b = append(b, c+'a'-'A')
		case n == 1 && size > 1:
			b = utf8.AppendRune(b, unicode.ToLower(r))
			n = size
		default:
			b = append(b, c)
		}

		for range len(b) - from {
			v.from, v.to = append(v.from, int32(i)), append(v.to, int32(i+n))
		}

		i += n
	}

	v.text = string(b)

	return v
}

// escape is the length of the backslashes at the start of a text, with the
// letter of the white space that they stand for.
func escape(text string) int {
	n := len(text) - len(strings.TrimLeft(text, `\`))
	if n < len(text) && strings.IndexByte("nrt", text[n]) >= 0 {
		n++
	}

	return n
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func fromHex(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10 //nolint:mnd // The digit a.
	case c >= 'A':
		return c - 'A' + 10 //nolint:mnd // The digit A.
	}

	return c - '0'
}
