// Package redact replaces secrets in texts by a mask, before they are reported. The
// runner, the recorder of events and the content store call it with the files of the
// inputs that are secret.
package redact

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
)

const (
	// Mask stands for a secret.
	Mask = "********"
	// minSecret is the length of the shortest secret, in bytes. Shorter ones are too
	// easy to guess, and would turn every 1 and yes of a report into a mask.
	minSecret = 4
	// minLong is the length of the shortest secret that is found inside of words, too,
	// and in other cases, spacings and encodings. Shorter ones would be found in
	// many texts by chance.
	minLong = 8
	// maxSecrets is how many secrets a redactor looks for. Each takes half a kibibyte. A mebibyte of certificates has
	// 16,000 lines.
	maxSecrets = 30_000
)

// words are common values of variable files that are no secrets. To mask them would make
// reports unreadable.
var words = []string{"true", "false", "null", "none", "present", "absent", "localhost"} //nolint:gochecknoglobals // A constant list.

// A Redactor replaces secrets in text. The zero value knows none.
type Redactor struct {
	// learned is how many secrets there were, each time that one was given.
	learned int
	// exact forms are found in a text, and disguised ones in its view.
	exact, disguised index
}

// New returns a redactor of secret files: of each as a whole, each of its
// lines, and, where a file is YAML or JSON, each scalar in it. Each is also
// found escaped as in JSON, Python, HTML and URLs, and quoted for a shell.
//
// One of 8 bytes or more is found in upper and lower case, broken into lines,
// escaped more than once, in base64 and in hexadecimal, too. One of less is left
// alone inside of another word, and one of less than 4 altogether.
func New(files ...[]byte) Redactor { return Redactor{}.With(files...) }

// Excess is true for a redactor of more secrets than can be looked for. It replaces all text.
func (r Redactor) Excess() bool { return r.learned > maxSecrets }

// With returns a redactor of these files, too.
func (r Redactor) With(files ...[]byte) Redactor {
	r.exact, r.disguised = r.exact.clone(), r.disguised.clone()
	seen := map[string]bool{}

	for _, f := range files {
		for _, s := range secrets(f) {
			if r.Excess() {
				return Redactor{learned: r.learned}
			}

			if seen[s] || len(strings.TrimSpace(s)) < minSecret || slices.Contains(words, strings.ToLower(s)) {
				continue
			}

			seen[s] = true
			r.learned++

			r.learn(s)
		}
	}

	r.exact.sort()
	r.disguised.sort()

	return r
}

func (r Redactor) learn(s string) {
	if len(newView(s).text) < minLong {
		for _, form := range escaped(s) {
			r.exact.add(form)
		}

		return
	}

	// The text before a secret may change its view: a percent sign, for example.
	r.exact.add(s)

	forms := slices.Concat(escaped(s), encoded(s))

	// The escape of a letter that is not in ASCII is another in upper case.
	if strings.ContainsFunc(s, func(c rune) bool { return c >= utf8.RuneSelf }) {
		forms = slices.Concat(forms, escaped(strings.ToUpper(s)), escaped(strings.ToLower(s)))
	}

	// Most secrets have little to escape, and few forms.
	slices.Sort(forms)

	for _, form := range slices.Compact(forms) {
		r.disguised.add(newView(form).text)
	}
}

// String returns the text with every secret replaced. Where secrets overlap, one
// mask stands for them.
func (r Redactor) String(text string) string {
	if r.Excess() && text != "" {
		return Mask
	}

	spans := r.spans(text)
	if len(spans) == 0 {
		return text
	}

	var b strings.Builder

	from := 0

	for _, s := range spans {
		b.WriteString(text[from:s.from])
		b.WriteString(Mask)

		from = s.to
	}

	b.WriteString(text[from:])

	return b.String()
}

// JSON returns a JSON value with every secret in its strings, keys and numbers
// replaced. What is not JSON is redacted as text and becomes a string.
func (r Redactor) JSON(raw json.RawMessage) json.RawMessage {
	if r.learned == 0 || len(raw) == 0 {
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

// A span of bytes in a text.
type span struct{ from, to int }

// spans of the text that are secret, in order and apart.
func (r Redactor) spans(text string) []span {
	var found []span

	for i := 0; i < len(text); {
		n := r.exact.match(text[i:])
		for n > 0 && partOfWord(text[i:i+n], text[:i], text[i+n:]) {
			n = r.exact.match(text[i : i+n-1])
		}

		if n > 0 {
			found = append(found, span{i, i + n})
		}

		i += max(n, 1)
	}

	if len(r.disguised) == 0 {
		return found
	}

	v := newView(text)

	for i := range len(v.text) {
		if n := r.disguised.match(v.text[i:]); n > 0 {
			found = append(found, span{int(v.from[i]), int(v.to[i+n-1])})
		}
	}

	return merged(found)
}

// merged spans where they overlap.
func merged(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })

	var apart []span

	for _, s := range spans {
		if last := len(apart) - 1; last >= 0 && s.from < apart[last].to {
			apart[last].to = max(apart[last].to, s.to)

			continue
		}

		apart = append(apart, s)
	}

	return apart
}

// partOfWord is true for a short word inside of a longer one: with a secret "local",
// "localhost" is no secret.
func partOfWord(form, before, after string) bool {
	if len(form) >= minLong || !isWord(form) {
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
// inventories and ansible.cfg, the password in a URL and a user there that is long enough for
// a token, and what follows it in a .netrc.
var assignment = regexp.MustCompile(`[\w.-]+\s*=\s*(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"']+))` +
	`|://(?:([^/\s:@]{16,})|[^/\s:@]*)(?::([^@\s/]+))?@|(?i:\bpassword\s+([^\s=]+))`)

// literal matches the strings in a script.
var literal = regexp.MustCompile(`"((?:[^"\\\n]|\\.)+)"|'((?:[^'\\\n]|\\.)+)'`)

// secrets of a file.
func secrets(file []byte) []string {
	text := string(bytes.TrimSpace(file))
	found := append(lines(text), string(file), text)

	for _, m := range assignment.FindAllStringSubmatch(text, -1) {
		found = append(found, slices.DeleteFunc(m[1:], func(s string) bool { return s == "" })...)
	}

	// An executable inventory may have its credentials in string literals.
	if strings.HasPrefix(text, "#!") {
		for _, m := range literal.FindAllStringSubmatch(text, -1) {
			found = append(found, m[1]+m[2])
		}
	}

	// Values of a file that the parser cannot read are covered as lines of text.
	if yamltext.Check(file) != nil {
		return found
	}

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
		return append(lines(n.Value), n.Value, strings.TrimSpace(n.Value))
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

// lines of a text, without the space around them.
func lines(text string) []string {
	var found []string

	for line := range strings.Lines(text) {
		found = append(found, strings.TrimSpace(line))
	}

	return found
}
