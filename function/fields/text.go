package fields

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
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
	// Within is true for the path of an inventory within the project.
	Within bool
}

// Computes is true for a text that may hold expressions, although its field is otherwise literal.
func (t Text) Computes() bool { return t.Names || t.Within }

// IsPath is true for a text with expressions that is a path: it begins with the name of a directory. No name of
// an object does.
func IsPath(text string) bool {
	prefix, _, _ := strings.Cut(text, "${")

	return strings.Contains(prefix, "/")
}

// CheckPath says what a path must be that was computed from a text with these literal parts. Each expression is
// a name, or a part of one, so that no value leads to another directory, or to a file of another type.
func CheckPath(literal string, v any) error {
	s, ok := v.(string)

	same := func(c string) bool { return strings.Count(s, c) == strings.Count(literal, c) }
	if ok && len(s) <= maxPath && path.MatchString(s) && same("/") && same(".") {
		return nil
	}

	return errors.Errorf("must be a path whose computed parts are of letters, digits, _ and -, and is %s", manifest.Show(v))
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
			if s, ok := v[k].(string); ok && k == "path" && v["source"] == string(common.FileSourceProject) {
				out[k] = replace(Text{Path: path.Child(k), Value: s, Within: true})
				continue
			}

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

// References calls do for the names of other objects in the value of a field, and for the paths of inventories
// within the project.
func References(path *field.Path, name string, v any, do func(Text)) {
	Replace(path, name, v, func(t Text) string {
		if t.Computes() && t.Value != "" {
			do(t)
		}

		return t.Value
	})
}
