// Package redact keeps secrets out of reports. Data that contains a secret is withheld as a whole, which Set.In
// decides. In text for people, masks replace secrets. Both look for the same spellings of a secret: its lines as they
// are, escaped for JSON and URLs, and in base64.
package redact

import (
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
)

const (
	// mask replaces a secret.
	mask = "********"
	// minSecret is the length of the shortest secret, in bytes. Shorter values are easy to guess, and parts of many words.
	minSecret = 8
	// maxKey is the longest name of a secret in a message, in bytes.
	maxKey = 253
	// maxPiece is about the longest piece that is looked for, in bytes. Longer lines are cut into pieces, so that
	// comparisons take bounded time.
	maxPiece = 256
	// maxSecrets is how many pieces a Set looks for. Each takes about a kibibyte. A mebibyte of certificates has 16,000
	// lines.
	maxSecrets = 30_000
)

// words are common values of variable files that are no secrets. Masking them would make reports unreadable.
var words = []string{ //nolint:gochecknoglobals // A constant list.
	"production", "development", "localhost", "127.0.0.1", "password", "username", "postgres", "postgresql",
	"administrator", "disabled", "required", "optional", "internal", "external",
}

// A Source is the origin of a secret, as far as it is known.
type Source struct {
	// Secret is the name of the Secret.
	Secret string
	// Key in the Secret, or the name of the connection detail or the variable.
	Key string
}

// String describes the secret.
func (s Source) String() string {
	key := clip.Text(s.Key, maxKey)

	switch {
	case s.Secret != "":
		return "key " + key + " of Secret " + s.Secret
	case key != "":
		return "the value of " + key
	}

	return "a secret"
}

// A Secret is a text with lines that must not be shown.
type Secret struct {
	Text string
	From Source
	// Public is true for a secret that text must not show, but data may.
	Public bool
}

// A Set of secrets.
type Set struct {
	// known has the secret pieces. Those in public may be in data. Those in shown are visible anyway, and never secret.
	known, public, shown map[string]bool
	// parts has indexes of decreasing size, so that there are few, and so that an addition rebuilds few of them.
	parts []*index
	// longest is the length of the longest spelling.
	longest int
}

// New returns a set of secrets. Texts that are shown anyway are not secret.
func New(secrets []Secret, shown ...string) *Set {
	s := &Set{shown: map[string]bool{}, public: map[string]bool{}, known: map[string]bool{}}

	for _, text := range shown {
		for _, piece := range pieces(text) {
			s.shown[piece] = true
		}
	}

	s.Add(secrets...)

	return s
}

// Clone returns a copy to which secrets can be added.
func (s *Set) Clone() *Set {
	c := *s
	c.public, c.known, c.parts = maps.Clone(s.public), maps.Clone(s.known), slices.Clone(s.parts)

	return &c
}

// Excess is true for more than maxSecrets secrets. Then all text and all data counts as secret.
func (s *Set) Excess() bool { return len(s.known) > maxSecrets }

// Add adds secrets.
func (s *Set) Add(secrets ...Secret) {
	var forms []form

	for _, secret := range secrets {
		for _, piece := range pieces(secret.Text) {
			if secret.Public {
				s.public[piece] = true
			}

			if s.known[piece] || s.shown[piece] {
				continue
			}

			if s.known[piece] = true; s.Excess() {
				s.parts = nil

				return
			}

			for _, text := range spellings(piece) {
				forms = append(forms, form{text, piece, secret.From})
				s.longest = max(s.longest, len(text))
			}
		}
	}

	for n := len(s.parts) - 1; n >= 0 && len(s.parts[n].forms) <= len(forms); n-- {
		forms = slices.Concat(s.parts[n].forms, forms)
		s.parts = s.parts[:n]
	}

	if len(forms) > 0 {
		s.parts = append(s.parts, newIndex(forms))
	}
}

// In returns the source of the first secret in a piece of data; false if it contains none.
func (s *Set) In(data string) (Source, bool) {
	if s.Excess() {
		return Source{}, true
	}

	for i := range data {
		for _, x := range s.parts {
			for n := x.longest(data[i:]); n >= 0; n = x.prefix[n] {
				if f := x.forms[n]; !s.public[f.piece] {
					return f.from, true
				}
			}
		}
	}

	return Source{}, false
}

// Text returns a text with masks in place of secrets.
func (s *Set) Text(text string) string { return s.between(text, 0, len(text)) }

// Clip returns the start of a text with masks, of at most limit bytes. It does not scan the rest of the text.
func (s *Set) Clip(text string, limit int) string {
	if len(text) <= limit {
		return s.Text(text)
	}

	return clip.Text(strings.ToValidUTF8(s.between(text, 0, limit), "")+"…", limit)
}

// End returns the last limit bytes of a text, with masks. It does not scan the rest of the text.
func (s *Set) End(text string, limit int) string {
	return strings.ToValidUTF8(s.between(text, max(len(text)-limit, 0), len(text)), "")
}

// between returns the part of a text between two offsets, with masks. A secret that is partly inside gets a mask, and
// secrets that touch share one.
func (s *Set) between(text string, from, to int) string {
	if s.Excess() && text != "" {
		return mask
	}

	var b strings.Builder

	at, masked := from, -1
	for i := max(from-s.longest, 0); i < to; i++ {
		n := 0
		for _, x := range s.parts {
			if found := x.longest(text[i:min(i+s.longest, len(text))]); found >= 0 {
				n = max(n, len(x.forms[found].text))
			}
		}

		if n == 0 || i+n <= at {
			continue
		}

		if i > masked {
			b.WriteString(text[at:max(i, at)])
			b.WriteString(mask)
		}

		at, masked = i+n, i+n
	}

	if at < to {
		b.WriteString(text[at:to])
	}

	return b.String()
}
