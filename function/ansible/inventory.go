package ansible

import (
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// Inventory returns an inventory as YAML, by the names of its groups. The values are
// JSON or yamltext.Unsafe. Objects are blocks; the rest is in the flow style, which Ansible
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
			yamltext.WriteFlow(b, v)
			b.WriteByte('\n')
		}
	}
}
