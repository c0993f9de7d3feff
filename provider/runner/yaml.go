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

// unsafeTag keeps Ansible from templating any string in a mapping. It must not tag a
// single string: ansible-core 2.19 forgets the quotes of such a string, and makes a
// boolean of "yes" and a number of "1".
// https://docs.ansible.com/ansible/latest/playbook_guide/playbooks_advanced_syntax.html#unsafe-or-raw-strings
const unsafeTag = "!unsafe "

// longKey is the length of a key from which on it is announced by a question mark.
// PyYAML gives up on any other key without a colon within 1024 characters.
const longKey = 200

// untemplated returns a file of variables with strings that Ansible does not template. It is
// YAML: JSON has no tags, and in JSON Ansible takes some mappings for encrypted values.
func untemplated(vars map[string]any) []byte {
	var b bytes.Buffer

	b.WriteString(unsafeTag)
	writeYAML(&b, vars)
	b.WriteByte('\n')

	return b.Bytes()
}

// writeYAML writes a value decoded from JSON, in which numbers are json.Number. Strings are
// quoted, so that no version of YAML takes them for anything else. Nodes of yaml.v3 would
// take some hundred times the memory of the values, which may fill an object.
func writeYAML(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
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
			writeKey(b, yamltext.Quote(k))
			writeYAML(b, v[k])
		}

		b.WriteByte('}')
	default:
		fmt.Fprint(b, v)
	}
}

// separate an item from the one before.
func separate(b *bytes.Buffer, i int) {
	if i > 0 {
		b.WriteString(", ")
	}
}

func writeKey(b *bytes.Buffer, quoted string) {
	if len(quoted) > longKey {
		b.WriteString("? " + quoted + " : ")
		return
	}

	b.WriteString(quoted + ": ")
}

// number is a JSON number as PyYAML reads numbers: integers of any size as they are; a
// float has a point, and its exponent a sign.
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
