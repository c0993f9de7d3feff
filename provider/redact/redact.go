// Package redact removes secrets from text before it is reported.
package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	// Mask stands for a secret.
	Mask = "********"
	// minSecret is the length, in bytes, of the shortest secret. Anything
	// shorter is no secret to speak of, and would turn every 1, true and yes of
	// a report into a mask.
	minSecret = 4
	// minPart is the length of the shortest word that is a secret as a part of
	// other words, too.
	minPart = 8
	// minBase64 is the length of the shortest base64 form.
	minBase64 = 8
)

// words are values that variable files have in clear and that say nothing.
// They would make reports unreadable.
var words = []string{"true", "false", "null", "none", "present", "absent", "localhost"} //nolint:gochecknoglobals // A constant list.

// A Redactor replaces secrets in text. The zero value knows none.
type Redactor struct {
	// forms of all secrets by how they start, the longest first.
	forms map[prefix][]string
}

// A prefix is how the shortest form of a secret starts.
type prefix [minSecret]byte

// New returns a redactor of secret files: of each as a whole, each of its
// lines, and, where a file is YAML or JSON, each scalar in it. Each is also
// found in base64, escaped as in JSON and in URLs, and quoted for a shell.
// What is shorter than 4 bytes is left alone, and so is a word of less than 8
// inside of another word.
func New(files ...[]byte) Redactor { return Redactor{}.With(files...) }

// With returns a redactor of these files, too.
func (r Redactor) With(files ...[]byte) Redactor {
	all := make(map[prefix][]string, len(r.forms))
	for p, f := range r.forms {
		all[p] = slices.Clone(f)
	}

	r.forms = all
	seen := map[string]bool{}

	for _, f := range files {
		for _, s := range secrets(f) {
			if seen[s] || len(s) < minSecret || slices.Contains(words, strings.ToLower(s)) {
				continue
			}

			seen[s] = true

			for _, form := range forms(s) {
				p := prefix([]byte(form[:minSecret]))
				r.forms[p] = append(r.forms[p], form)
			}
		}
	}

	for _, f := range r.forms {
		slices.SortFunc(f, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	}

	return r
}

// String returns the text with every secret replaced. Where secrets overlap,
// the longest that starts first is what is replaced.
func (r Redactor) String(text string) string {
	if len(r.forms) == 0 {
		return text
	}

	var b strings.Builder

	from := 0

	for i := 0; i < len(text); {
		n := r.match(text, i)
		if n == 0 {
			i++

			continue
		}

		b.WriteString(text[from:i])
		b.WriteString(Mask)

		i += n
		from = i
	}

	if from == 0 {
		return text
	}

	b.WriteString(text[from:])

	return b.String()
}

// JSON returns a JSON value with every secret in its strings, keys and numbers
// replaced. What is not JSON is redacted as text and becomes a string.
func (r Redactor) JSON(raw json.RawMessage) json.RawMessage {
	if len(r.forms) == 0 || len(raw) == 0 {
		return raw
	}

	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()

	var v any
	if err := d.Decode(&v); err != nil {
		v = string(raw)
	}

	out, err := json.Marshal(r.value(v))
	if err != nil {
		return json.RawMessage(`"` + Mask + `"`)
	}

	return out
}

func (r Redactor) value(v any) any {
	switch v := v.(type) {
	case string:
		return r.String(v)
	case json.Number:
		if s := r.String(v.String()); s != v.String() {
			return s
		}

		return v
	case []any:
		for i := range v {
			v[i] = r.value(v[i])
		}

		return v
	case map[string]any:
		out := make(map[string]any, len(v))

		for k, item := range v {
			out[r.String(k)] = r.value(item)
		}

		return out
	default:
		return v
	}
}

// match returns the length of the longest form that the text has at an index.
func (r Redactor) match(text string, i int) int {
	rest := text[i:]
	if len(rest) < minSecret {
		return 0
	}

	for _, form := range r.forms[prefix([]byte(rest[:minSecret]))] {
		if strings.HasPrefix(rest, form) && !partOfWord(form, text[:i], rest[len(form):]) {
			return len(form)
		}
	}

	return 0
}

// partOfWord is true for a short word in the middle of a longer one: local is
// not what makes localhost a secret.
func partOfWord(form, before, after string) bool {
	if len(form) >= minPart || !isWord(form) {
		return false
	}

	return before != "" && isWord(before[len(before)-1:]) || after != "" && isWord(after[:1])
}

func isWord(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
}

// assignment matches values in files of other formats: name=value as in
// inventories and ansible.cfg, the password in a URL, and what follows it in a
// .netrc.
var assignment = regexp.MustCompile(`[\w.-]+\s*=\s*(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"']+))` +
	`|://[^/\s:@]*:([^@\s/]+)@|(?i:\bpassword\s+([^\s=]+))`)

// secrets of a file.
func secrets(file []byte) []string {
	text := string(bytes.TrimSpace(file))
	found := []string{string(file), text}

	for line := range strings.Lines(text) {
		found = append(found, strings.TrimSpace(line))
	}

	for _, m := range assignment.FindAllStringSubmatch(text, -1) {
		found = append(found, slices.DeleteFunc(m[1:], func(s string) bool { return s == "" })...)
	}

	// A parser must not fail on a strange file, and what it cannot read is
	// covered as text.
	d := yaml.NewDecoder(bytes.NewReader(file))

	for {
		var doc yaml.Node
		if err := d.Decode(&doc); err != nil {
			return found
		}

		found = append(found, scalars(&doc)...)
	}
}

func scalars(n *yaml.Node) []string {
	if n.Kind == yaml.ScalarNode {
		return append(multiline(n.Value), n.Value, strings.TrimSpace(n.Value))
	}

	var found []string

	for i, c := range n.Content {
		// The keys of a mapping are names, not secrets.
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			continue
		}

		found = append(found, scalars(c)...)
	}

	return found
}

// multiline returns the lines of a value that has several.
func multiline(s string) []string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	if len(lines) == 1 {
		return nil
	}

	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}

	return lines
}

// forms in which a secret is met.
func forms(s string) []string {
	found := []string{s, url.QueryEscape(s), url.PathEscape(s), strings.ReplaceAll(s, "'", `'"'"'`), strings.ReplaceAll(s, "'", `'\''`)}
	found = append(found, escaped(s)...)

	if len(s) >= minBase64 {
		found = append(found, encoded(s)...)
	}

	slices.SortFunc(found, cmp.Compare[string])

	return slices.DeleteFunc(slices.Compact(found), func(f string) bool { return len(f) < minSecret })
}

// escaped returns a secret as JSON has it between the quotes: in UTF-8, and as
// Python writes it, in ASCII.
func escaped(s string) []string {
	if !utf8.ValidString(s) {
		return nil
	}

	var b bytes.Buffer

	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)

	if err := e.Encode(s); err != nil {
		return nil
	}

	plain := strings.TrimSuffix(b.String(), "\n")
	plain = plain[1 : len(plain)-1]

	return []string{plain, ascii(plain)}
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

// encoded returns a secret in base64 at each of the three offsets it may have
// in a longer text, without the characters that its neighbours decide about.
func encoded(s string) []string {
	found := make([]string, 0, 6)

	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			padded := append(make([]byte, offset), s...)
			text := enc.EncodeToString(padded)

			from := (offset*8 + 5) / 6 //nolint:mnd // Six bits a character.
			to := len(padded) * 8 / 6  //nolint:mnd // Six bits a character.
			found = append(found, text[from:to])
		}
	}

	return found
}
