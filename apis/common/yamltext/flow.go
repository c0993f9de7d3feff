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

// unsafeTag keeps Ansible from templating the value that follows.
// https://docs.ansible.com/ansible/latest/playbook_guide/playbooks_advanced_syntax.html#unsafe-or-raw-strings
const unsafeTag = "!unsafe "

// literal matches strings that YAML would take for another type, such as a boolean or a number. They must not be
// tagged: ansible-core 2.19 forgets the quotes of a tagged string, and reads "yes" as a boolean and "1" as a number.
// All other strings must be tagged: even without a template, a string may be an expression, which a conditional
// evaluates.
var literal = regexp.MustCompile(`^(|~|=|<<|(?i:null|yes|no|true|false|on|off)|` +
	`[-+]?[0-9.][0-9_.:]*([eE][-+]?[0-9]+)?|[-+]?0[bx][0-9a-fA-F_]+|[-+]?\.(?i:inf|nan)|` +
	`[0-9]{4}-[0-9]+-[0-9]+([Tt \t]+[0-9:.]+[ \t]*(Z|[-+][0-9:]+)?)?)$`)

// Unsafe is a JSON value that Ansible must not template.
type Unsafe struct {
	Value any
}

// WriteFlow writes a JSON value, which may contain Unsafe values, in one line of YAML. It quotes all strings, so that
// no version of YAML takes them for another type. It uses no nodes of yaml.v3: these take some hundred times the memory
// of the values, which may be as large as an object.
func WriteFlow(b *strings.Builder, v any) {
	switch v := v.(type) {
	case Unsafe:
		switch value := v.Value.(type) {
		case map[string]any, []any: // The tag holds for all strings inside, and their quotes are kept.
			b.WriteString(unsafeTag)
		case string:
			if !literal.MatchString(value) {
				b.WriteString(unsafeTag)
			}
		}

		WriteFlow(b, v.Value)
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
		b.WriteString(Quote(v))
	case []any:
		b.WriteByte('[')

		for i, item := range v {
			separate(b, i)
			WriteFlow(b, item)
		}

		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')

		for i, k := range slices.Sorted(maps.Keys(v)) {
			separate(b, i)
			// PyYAML gives up on a key without a colon within 1024 characters, unless a "?" announces the key.
			b.WriteString("? ")
			b.WriteString(Quote(k))
			b.WriteString(" : ")
			WriteFlow(b, v[k])
		}

		b.WriteByte('}')
	default:
		fmt.Fprint(b, v) // A boolean, or an integer.
	}
}

// separate writes a comma before all items but the first.
func separate(b *strings.Builder, i int) {
	if i > 0 {
		b.WriteString(", ")
	}
}

// number formats a number for YAML: an integer, or a float with a point.
func number(v float64) string {
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if v != float64(int64(v)) && !strings.Contains(s, ".") {
		s += ".0"
	}

	return s
}
