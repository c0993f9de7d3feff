package yamltext

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// unsafeTag keeps Ansible from templating the string that follows.
// https://docs.ansible.com/ansible/latest/playbook_guide/playbooks_advanced_syntax.html#unsafe-or-raw-strings
const unsafeTag = "!unsafe "

// literal strings cannot be templates. All strings that YAML would take for
// a boolean or a number are among them, and must not be tagged:
// ansible-core 2.19 forgets the quotes of a tagged string, and makes a boolean
// of "yes" and a number of "1".
var literal = regexp.MustCompile(`^[A-Za-z0-9 \t.:+_~<=-]*$`)

// Unsafe is a JSON value, which Ansible must not template.
type Unsafe struct {
	Value any
}

// WriteFlow writes a JSON value, in which there may be Unsafe ones, in one line. Strings are quoted, so that no version
// of YAML takes them for anything else. Nodes of yaml.v3 would take some hundred times the memory of the values, which
// may fill an object.
func WriteFlow(b *strings.Builder, v any) { writeFlow(b, v, false) }

func writeFlow(b *strings.Builder, v any, unsafe bool) {
	switch v := v.(type) {
	case Unsafe:
		writeFlow(b, v.Value, true)
	case nil:
		b.WriteString("null")
	case float64:
		b.WriteString(number(v))
	case json.Number:
		// PyYAML wants a point in a number with an exponent.
		if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), "eE") {
			b.WriteString(number(f))
		} else {
			b.WriteString(v.String())
		}
	case string:
		if unsafe && !literal.MatchString(v) {
			b.WriteString(unsafeTag)
		}

		b.WriteString(Quote(v))
	case []any:
		b.WriteByte('[')

		for i, item := range v {
			separate(b, i)
			writeFlow(b, item, unsafe)
		}

		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')

		for i, k := range slices.Sorted(maps.Keys(v)) {
			separate(b, i)
			// PyYAML gives up on a key that is not followed by a colon within
			// 1024 characters, unless it is announced. Ansible templates no
			// keys, but their strings would be trusted.
			b.WriteString("? ")
			writeFlow(b, k, unsafe)
			b.WriteString(" : ")
			writeFlow(b, v[k], unsafe)
		}

		b.WriteByte('}')
	default:
		fmt.Fprint(b, v) // A boolean, or an integer.
	}
}

// separate an item from the one before.
func separate(b *strings.Builder, i int) {
	if i > 0 {
		b.WriteString(", ")
	}
}

// number as YAML reads it: an integer, or a float with a point.
func number(v float64) string {
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if v != float64(int64(v)) && !strings.Contains(s, ".") {
		s += ".0"
	}

	return s
}
