package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// readable is an escaped path in which slashes stay, and blanks are not plus signs.
var readable = strings.NewReplacer("+", "%20", "%2F", "/") //nolint:gochecknoglobals // A constant.

// escaped returns a secret as it is and as it is when it was escaped or quoted.
func escaped(s string) []string {
	query := url.QueryEscape(s)
	forms := []string{
		s, query, url.PathEscape(s), strings.ReplaceAll(query, "+", "%20"), readable.Replace(query),
		html.EscapeString(s),
		strings.ReplaceAll(s, "'", `'"'"'`), strings.ReplaceAll(s, "'", `'\''`),
	}

	if !utf8.ValidString(s) {
		return forms
	}

	plain := inJSON(s)

	return append(forms, plain, ascii(plain), python(plain))
}

// inJSON returns a secret as JSON has it between the quotes.
func inJSON(s string) string {
	var b bytes.Buffer

	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)

	// A string can be encoded.
	if err := e.Encode(s); err != nil {
		return s
	}

	plain := strings.TrimSuffix(b.String(), "\n")

	return plain[1 : len(plain)-1]
}

// ascii escapes what is not ASCII as JSON does: in UTF-16.
func ascii(s string) string {
	var b strings.Builder

	for _, c := range s {
		if c < utf8.RuneSelf {
			b.WriteRune(c)

			continue
		}

		for _, u := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
	}

	return b.String()
}

// python escapes what is not ASCII as Python and YAML do.
func python(s string) string {
	var b strings.Builder

	for _, c := range s {
		switch {
		case c < utf8.RuneSelf:
			b.WriteRune(c)
		case c <= 0xff: //nolint:mnd // What one byte holds.
			fmt.Fprintf(&b, `\x%02x`, c)
		case c <= 0xffff: //nolint:mnd // What two bytes hold.
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
	}

	return b.String()
}

// encoded returns a secret in hexadecimal, and in base64 at each of the three
// offsets it may have in a longer text, without the characters that its
// neighbours decide about.
func encoded(s string) []string {
	forms := []string{hex.EncodeToString([]byte(s))}

	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			padded := append(make([]byte, offset), s...)
			text := enc.EncodeToString(padded)

			from := (offset*8 + 5) / 6 //nolint:mnd // Six bits a character.
			to := len(padded) * 8 / 6  //nolint:mnd // Six bits a character.
			forms = append(forms, text[from:to])
		}
	}

	return forms
}
