package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
)

const secretNames = `(?i)(?:PASSWORD|PASSWD|PASS|PASSPHRASE|PWD|SECRET|TOKEN|KEY|CREDENTIALS?)`

var (
	secretName = regexp.MustCompile(secretNames + `$`)
	// publicName matches the name of a public key, or of a file with one.
	publicName = regexp.MustCompile(`(?i)(?:PUB(?:LIC)?[-_.]?KEY|^GIT_SSL_KEY)$`)
	// capital matches the start of another word in a name. publicPart matches the part of a name that stands for a public
	// key.
	capital    = regexp.MustCompile(`([a-z\d])([A-Z])`)
	publicPart = regexp.MustCompile(`(?i)PUB(?:LIC)?[-_.]?KEYS?|ID_[a-z\d]+[-_.]PUB`)
	// secretPart matches a word in the name of a connection detail which says that the value is secret.
	secretPart = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:` + secretNames + `S?|KUBE[-_.]?CONFIG|DSN|` +
		`CONNECTION[-_.]?STRINGS?|ID_(?:RSA|DSA|ECDSA|ED25519))(?:[^a-z]|$)`)
	// named matches a value after its name in a file: name=value, name: value, "name": "value", and password value in a
	// .netrc. A value without quotes ends at the first character that may end it.
	named = regexp.MustCompile(`(?:([\w.-]*` + secretNames + `)["']?[ \t]*[=:][ \t]*|\bpassword[ \t]+)` +
		`(?:"([^"\n]*)|'([^'\n]*)|([^\s"'{\[][^\s"'{}\[\]();,&]*))`)
	// armour is a line around a key.
	armour = regexp.MustCompile(`^-----(?:BEGIN|END) .*-----$`)
	// urlPassword matches the user and the password in a URL.
	urlPassword = regexp.MustCompile(`://([^/\s:@]*)(?::([^/\s@]+))?@`)
)

const (
	// minToken is the shortest user in a URL that is taken for a token, in bytes.
	minToken = 16
	// maxValue is the longest value after a name in a file, in bytes.
	maxValue = 1 << 10
)

// IsName is true for a name which says that its value is a secret.
func IsName(name string) bool { return secretName.MatchString(name) && !publicName.MatchString(name) }

// isDetail is true for the name of a connection detail with a word which says that its value is a secret. A format or a
// number may follow the word.
func isDetail(name string) bool {
	name = publicPart.ReplaceAllString(name, "")

	return IsName(name) || secretPart.MatchString(capital.ReplaceAllString(name, "${1}_$2"))
}

// InFile returns the secrets in a file: its lines, and the values in them with names which say that they are secret.
func InFile(text string, from Source) []Secret {
	found := append([]Secret{{Text: text, From: from}}, InURLs(text, from)...)

	v, _ := decoded([]byte(text))
	walk(v, false, IsName, func(s string, secret bool) {
		if secret {
			found = append(found, Secret{Text: s, From: from})
		}
	})

	for _, m := range named.FindAllStringSubmatchIndex(text, -1) {
		if m[2] >= 0 && !IsName(text[m[2]:m[3]]) {
			continue
		}

		quoted := max(m[4], m[6])
		if quoted >= 0 {
			found = append(found, Secret{Text: text[quoted:m[1]], From: from})

			continue
		}

		// The value may contain blanks in YAML, and may be followed by others in an inventory or in a mapping.
		line, _, _ := strings.Cut(text[m[8]:min(m[8]+maxValue, len(text))], "\n")
		word, _, _ := strings.Cut(line, " ")

		for _, s := range slices.Compact([]string{line, word, strings.TrimRight(word, ",}])")}) {
			found = append(found, Secret{Text: s, From: from})
		}
	}

	return found
}

// InVariables returns the secrets in a file of variables: its scalars, without their names. In a file that was made
// from a whole Secret, each variable is a key of the Secret, which becomes the source.
func InVariables(text string, from Source) []Secret {
	var found []Secret

	add := func(s string, from Source) {
		found = append(append(found, Secret{Text: s, From: from}), InURLs(s, from)...)
	}

	if from.Secret != "" && from.Key == "" {
		values, _ := yamltext.Scalars([]byte(text)) // The provider has written the text.
		for _, name := range slices.Sorted(maps.Keys(values)) {
			add(values[name], Source{Secret: from.Secret, Key: name})
		}

		return found
	}

	for _, s := range Scalars([]byte(text)) {
		add(s, from)
	}

	return found
}

// InURLs returns the passwords in URLs of a text, and users in URLs that are long enough to be tokens. The password
// beside a token may be without meaning, such as x-oauth-basic.
func InURLs(text string, from Source) []Secret {
	var found []Secret

	for _, m := range urlPassword.FindAllStringSubmatch(text, -1) {
		if len(m[1]) >= minToken {
			found = append(found, Secret{Text: m[1], From: from})
		}

		found = append(found, Secret{Text: m[2], From: from})
	}

	return found
}

// InDetails returns the values of connection details as secrets. Values are Public if their names do not say that they
// are secret.
func InDetails(raw json.RawMessage) []Secret {
	var found []Secret

	all, _ := decoded(raw)
	details, _ := all.(map[string]any)

	for name, v := range details {
		walk(v, isDetail(name), isDetail, func(s string, secret bool) {
			from := Source{Key: name}
			found = append(append(found, Secret{Text: s, From: from, Public: !secret}), InURLs(s, from)...)
		})
	}

	// Of equal secrets the first one counts.
	slices.SortStableFunc(found, func(a, b Secret) int { return strings.Compare(a.From.Key, b.From.Key) })

	return found
}

// Scalars returns the scalars of JSON or YAML as text. For any other text it returns the text itself.
func Scalars(text []byte) []string {
	var found []string

	if v, ok := decoded(text); ok {
		walk(v, false, IsName, func(s string, _ bool) { found = append(found, s) })

		return found
	}

	if yamltext.Check(text) != nil {
		return []string{string(text)}
	}

	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var doc yaml.Node

		switch err := d.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return found
		case err != nil:
			return append(found, string(text))
		}

		found = append(found, scalars(&doc)...)
	}
}

func scalars(n *yaml.Node) []string {
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}

	var found []string

	for i, c := range n.Content {
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			found = append(found, scalars(c)...)
		}
	}

	return found
}

// decoded returns decoded JSON, with numbers as they are written.
func decoded(raw []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()

	return v, json.Valid(raw) && d.Decode(&v) == nil
}

// walk calls a function with each scalar of a value, and with true if its own name, or that of a value around it, says
// that it is secret.
func walk(v any, secret bool, named func(string) bool, scalar func(string, bool)) {
	switch v := v.(type) {
	case string:
		scalar(v, secret)
	case json.Number:
		scalar(v.String(), secret)
	case []any:
		for _, item := range v {
			walk(item, secret, named, scalar)
		}
	case map[string]any:
		for name, item := range v {
			walk(item, secret || named(name), named, scalar)
		}
	}
}

// pieces returns the lines of a text that are long enough to be secrets, without the space around them. Very long lines
// are cut at boundaries of characters. The armour of keys is left out.
func pieces(text string) []string {
	var all []string

	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if len(line) < minSecret || armour.MatchString(line) || slices.Contains(words, strings.ToLower(line)) {
			continue
		}

		for len(line) >= maxPiece+minSecret {
			n := maxPiece
			for n > maxPiece-utf8.UTFMax && !utf8.RuneStart(line[n]) {
				n--
			}

			all, line = append(all, line[:n]), line[n:]
		}

		all = append(all, line)
	}

	return all
}

// spellings returns the forms in which a piece may appear: as it is; in JSON as Go and Python write it; in URLs as the
// query of an HTML form, and as curl, browsers and Ansible's filter urlencode write it; and in base64. In the base64 of
// a longer text, such as user:password, a piece is at one of three offsets; the characters that it shares with its
// neighbors are left out.
func spellings(s string) []string {
	query := url.QueryEscape(s)
	blanks := strings.ReplaceAll(query, "+", "%20")
	all := []string{s, query, blanks, strings.ReplaceAll(blanks, "%2F", "/"), url.PathEscape(s)}

	if utf8.ValidString(s) {
		var b bytes.Buffer

		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(s) //nolint:errchkjson // A string can be encoded.

		text := strings.TrimSuffix(b.String(), "\n")
		all = append(all, text[1:len(text)-1], ascii(text[1:len(text)-1]))
	}

	for offset := range 3 {
		padded := append(make([]byte, offset), s...)
		from, to := (offset*8+5)/6, len(padded)*8/6 // A character has six bits.

		all = append(all, base64.RawStdEncoding.EncodeToString(padded)[from:to],
			base64.RawURLEncoding.EncodeToString(padded)[from:to])
	}

	slices.Sort(all)

	return slices.Compact(all)
}

// ascii escapes characters that are not ASCII as JSON does: in UTF-16.
func ascii(s string) string {
	var b strings.Builder

	for _, u := range utf16.Encode([]rune(s)) {
		if u < utf8.RuneSelf {
			b.WriteByte(byte(u))
		} else {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
	}

	return b.String()
}
