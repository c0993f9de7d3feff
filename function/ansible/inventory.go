package ansible

import (
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// Inventory returns an inventory in YAML. The keys are the names of groups; the values are JSON or yamltext.Unsafe.
// Objects are in block style, other values in flow style. Ansible reads a text that is all in flow style as JSON.
func Inventory(groups map[string]any) string {
	var b strings.Builder

	b.WriteString("---\n")
	writeBlock(&b, groups, "")

	return b.String()
}

// WithNames returns the configuration of the inventory plugin crossplane.ansible.computed for groups of an inventory.
// The plugin refuses an inventory if another one of the run already has one of the names.
func WithNames(groups map[string]any, names []string) map[string]any {
	all := make([]any, len(names))
	for i, name := range names {
		all[i] = name
	}

	return map[string]any{"plugin": "crossplane.ansible.computed", "names": all, "inventory": groups}
}

// writeBlock writes an object in block style.
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
