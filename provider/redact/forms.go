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

// escaped returns a secret in the forms that tools give it in commands, URLs and data.
// Each is what plays display or what servers answer with:
//
//   - as it is;
//   - in a URL: as the query of an HTML form, and as curl and browsers write a path, a
//     query, and a value (the four differ in blanks and slashes; Ansible's filter
//     urlencode keeps slashes);
//   - in HTML: an error page that repeats the request;
//   - in single quotes: as Ansible's filter quote and its become plugins write a command,
//     and as shells and ssh do;
//   - in JSON: with letters as they are (Go), and with \u escapes (Python);
//   - in a literal of Python, and of YAML in double quotes: tracebacks, and what Ansible
//     displays of a list or a mapping in a text.
func escaped(s string) []string {
	query := url.QueryEscape(s)
	blanks := strings.ReplaceAll(query, "+", "%20")
	forms := []string{
		s, query, url.PathEscape(s), blanks, strings.ReplaceAll(blanks, "%2F", "/"),
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
		case c <= 0xff: // What one byte holds.
			fmt.Fprintf(&b, `\x%02x`, c)
		case c <= 0xffff: // What two bytes hold.
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
	}

	return b.String()
}

// encoded returns a secret in hexadecimal, as digests and dumps show it, and in base64, as
// Kubernetes Secrets, the filter b64encode and HTTP basic authentication have it, also
// in the alphabet for URLs. Base64 of a longer text, such as user:password, has the secret
// at one of three offsets; the characters that its neighbours share are left out.
func encoded(s string) []string {
	forms := []string{hex.EncodeToString([]byte(s))}

	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			padded := append(make([]byte, offset), s...)
			text := enc.EncodeToString(padded)

			from := (offset*8 + 5) / 6 // Six bits a character.
			to := len(padded) * 8 / 6  // Six bits a character.
			forms = append(forms, text[from:to])
		}
	}

	return forms
}
