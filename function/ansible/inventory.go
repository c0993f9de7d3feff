package ansible

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// unsafeTag keeps Ansible from templating the string that follows.
// https://docs.ansible.com/ansible/latest/playbook_guide/playbooks_advanced_syntax.html#unsafe-or-raw-strings
const unsafeTag = "!unsafe "

// literal strings cannot be templates. All strings that YAML would take for
// a boolean or a number are among them, and must not be tagged:
// ansible-core 2.19 forgets the quotes of a tagged string, and makes a boolean
// of "yes" and a number of "1".
var literal = regexp.MustCompile(`^[A-Za-z0-9 \t.:+_~<=-]*$`)

// Inventory returns an inventory as YAML, by the names of its groups. The values are
// JSON or Unsafe. Objects are blocks; the rest is in the flow style, which Ansible
// would take for JSON if it were all of the text.
func Inventory(groups map[string]any) string {
	var b strings.Builder

	b.WriteString("---\n")
	writeBlock(&b, groups, "")

	return b.String()
}

// WithNames returns the groups of an inventory as those of the provider's own inventory plugin, which refuses names
// that the run has from elsewhere.
func WithNames(groups map[string]any, names []string) map[string]any {
	all := make([]any, len(names))
	for i, name := range names {
		all[i] = name
	}

	return map[string]any{"plugin": "crossplane.ansible.computed", "names": all, "inventory": groups}
}

// writeBlock writes the members of an object, a line or a block each.
func writeBlock(b *strings.Builder, m map[string]any, indent string) {
	for _, k := range manifest.SortedKeys(m) {
		b.WriteString(indent)
		b.WriteString(yamltext.Quote(k))
		b.WriteByte(':')

		switch v := m[k].(type) {
		case map[string]any:
			if len(v) == 0 {
				b.WriteString(" {}\n")
				continue
			}

			b.WriteByte('\n')
			writeBlock(b, v, indent+"  ")
		default:
			b.WriteByte(' ')
			writeFlow(b, v, false)
			b.WriteByte('\n')
		}
	}
}

// writeFlow writes a JSON value in one line.
func writeFlow(b *strings.Builder, v any, unsafe bool) {
	switch v := v.(type) {
	case Unsafe:
		writeFlow(b, v.Value, true)
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case float64:
		b.WriteString(number(v))
	case string:
		if unsafe && !literal.MatchString(v) {
			b.WriteString(unsafeTag)
		}

		b.WriteString(yamltext.Quote(v))
	case []any:
		b.WriteByte('[')

		for i, item := range v {
			if i > 0 {
				b.WriteString(", ")
			}

			writeFlow(b, item, unsafe)
		}

		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')

		for i, k := range manifest.SortedKeys(v) {
			if i > 0 {
				b.WriteString(", ")
			}

			// PyYAML gives up on a key that is not followed by a colon within
			// 1024 characters, unless it is announced. Ansible templates no
			// keys, but their strings would be trusted.
			b.WriteString("? ")
			writeFlow(b, k, unsafe)
			b.WriteString(" : ")
			writeFlow(b, v[k], unsafe)
		}

		b.WriteByte('}')
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

// Unsafe is a JSON value from an XR, which Ansible must not template.
type Unsafe struct {
	Value any
}
