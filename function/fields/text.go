package fields

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A Text in the value of a field.
type Text struct {
	// Path of the text.
	Path *field.Path
	// Value of the text.
	Value string
	// Names is true for the name of another object: it is in the field name of a field that
	// ends in Ref.
	Names bool
	// Kind of that object, where it is written.
	Kind string
}

// Replace returns a copy of the value of a field in which each text is what replace makes of
// it. It is the one walk through references, also of those who only look.
func Replace(path *field.Path, name string, v any, replace func(Text) string) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = Replace(path.Index(i), "", v[i], replace)
		}

		return out
	case map[string]any:
		out := make(map[string]any, len(v))

		for _, k := range manifest.SortedKeys(v) {
			if s, ok := v[k].(string); ok && k == "name" && strings.HasSuffix(name, "Ref") {
				out[k] = replace(Text{Path: path.Child(k), Value: s, Names: true, Kind: manifest.Text(v, "kind")})
				continue
			}

			out[k] = Replace(path.Child(k), k, v[k], replace)
		}

		return out
	case string:
		return replace(Text{Path: path, Value: v})
	}

	return v
}

// References calls do for the names of other objects in the value of a field.
func References(path *field.Path, name string, v any, do func(Text)) {
	Replace(path, name, v, func(t Text) string {
		if t.Names && t.Value != "" {
			do(t)
		}

		return t.Value
	})
}
