package redact

import (
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A view of a text is the same however the text was wrapped, indented, escaped (once or
// several times) and put into upper or lower case. It lacks white space, control
// characters, backslashes (with n, r or t behind them, which stand for white space), and
// plus signs (which stand for blanks in URLs). Percent-encoded bytes are decoded, and
// letters are in lower case.
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
		case c == '%':
			if decoded, ok := percentDecoded(text[i:]); ok {
				c, n = decoded, len("%00")
			}

			if n > 1 && (c <= ' ' || c == '+' || c == '\\' || c == 0x7f) {
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

// percentDecoded is the byte that an escape sequence of URLs at the start of a text, such
// as %2F, stands for.
func percentDecoded(text string) (byte, bool) {
	if len(text) < len("%00") {
		return 0, false
	}

	b, err := hex.DecodeString(text[1:3])
	if err != nil {
		return 0, false
	}

	return b[0], true
}
