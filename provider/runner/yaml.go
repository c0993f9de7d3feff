package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
)

// longKey is the length of a key above which YAML wants it to be announced.
// PyYAML gives up on a key that is not followed by a colon within 1024
// characters.
const longKey = 200

// unsafeTag keeps Ansible from templating any string in the value that follows.
// It must not tag a single string: ansible-core 2.19 forgets the quotes of such
// a string, and makes a boolean of "yes" and a number of "1".
const unsafeTag = "!unsafe "

// writeYAML writes a value decoded from JSON with numbers kept as json.Number,
// in the flow style of YAML, which is JSON where nothing else is needed:
// escapes are YAML's, since PyYAML takes no surrogate pairs. Only printable
// ASCII is written as it is.
func writeYAML(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case string:
		b.WriteString(yamltext.Quote(v))
	case json.Number:
		b.WriteString(number(v.String()))
	case []any:
		b.WriteByte('[')

		for i, item := range v {
			separate(b, i)
			writeYAML(b, item)
		}

		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')

		for i, k := range slices.Sorted(maps.Keys(v)) {
			separate(b, i)
			writeKey(b, k)
			writeYAML(b, v[k])
		}

		b.WriteByte('}')
	case nil:
		b.WriteString("null")
	default:
		fmt.Fprint(b, v)
	}
}

func separate(b *bytes.Buffer, i int) {
	if i > 0 {
		b.WriteString(", ")
	}
}

func writeKey(b *bytes.Buffer, k string) {
	q := yamltext.Quote(k)
	if len(q) > longKey {
		b.WriteString("? ")
		b.WriteString(q)
		b.WriteString(" : ")

		return
	}

	b.WriteString(q)
	b.WriteString(": ")
}

// number returns a JSON number as PyYAML reads numbers: integers of any size as
// they are; a float has a point, and its exponent a sign.
func number(n string) string {
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(n), "e")
	if !scientific {
		return n
	}

	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}

	if !strings.HasPrefix(exponent, "-") && !strings.HasPrefix(exponent, "+") {
		exponent = "+" + exponent
	}

	return mantissa + "e" + exponent
}
