package fields

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A Meaning says what a text is that may hold expressions, although the field around it is literal.
type Meaning int

const (
	// Plain texts are literal.
	Plain Meaning = iota
	// Name of another object: it is in the field name of a field that ends in Ref.
	Name
	// Path of an inventory in the project.
	Path
	// Value of an environment variable.
	Value
)

// Inventories of a run are under this name in the input and in an AnsibleRun.
const Inventories = "inventories"

// A Text in the value of a field.
type Text struct {
	// Path of the text.
	Path *field.Path
	// Value of the text.
	Value string
	// Meaning of the text.
	Meaning Meaning
	// Of is what has the text: the kind of the object with a name, where it is written, or the name of the variable
	// with a value.
	Of string
}

// Computes is true for a text that may hold expressions.
func (t Text) Computes() bool { return t.Meaning != Plain }

// Key of a text among those that hold expressions.
func (t Text) Key() Key { return Key{t.Meaning, t.Value} }

// A Key is the same for texts that become the same.
type Key struct {
	Meaning Meaning
	Text    string
}

// Compare keys, for their order.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Meaning, o.Meaning), strings.Compare(k.Text, o.Text))
}

// Check a value that was computed from a text with these literal parts.
func (m Meaning) Check(literal string, v any) error {
	s, ok := v.(string)

	switch m {
	case Path:
		return CheckPath(literal, v)
	case Value:
		if !ok || strings.Contains(s, "\x00") {
			return errors.Errorf("must be a string without NUL, and is %s", manifest.Show(v))
		}
	case Plain, Name:
		if !ok || len(validation.IsDNS1123Subdomain(s)) > 0 {
			return errors.Errorf("%s cannot be the name of an object", manifest.Show(v))
		}
	}

	return nil
}

// CheckPath says what a path must be that was computed from a text with these literal parts. Each expression is
// a name, or a part of one, so that no value leads to another directory, or to a file of another type.
func CheckPath(literal string, v any) error {
	s, ok := v.(string)

	same := func(c string) bool { return strings.Count(s, c) == strings.Count(literal, c) }
	if ok && len(s) <= maxPath && path.MatchString(s) && same("/") && same(".") {
		return nil
	}

	return errors.Errorf("must be a path with computed parts of letters, digits, _ and -, and is %s",
		manifest.Show(v))
}

// Replace returns a copy of the value of a field in which each text is what replace makes of it. It is the one walk
// through references, also for callers that only read them.
func Replace(path *field.Path, name string, v any, replace func(Text) string) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = Replace(path.Index(i), name, v[i], replace)
		}

		return out
	case map[string]any:
		out := make(map[string]any, len(v))

		for _, k := range manifest.SortedKeys(v) {
			if name == Inventories && k == "yaml" {
				out[k] = v[k] // It is compiled as a whole.
				continue
			}

			if s, ok := v[k].(string); ok {
				t := meant(name, k, v)
				t.Path, t.Value = path.Child(k), s
				out[k] = replace(t)

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

// meant says what the text in a field of an object is. Name is that of the field with the object.
func meant(name, field string, object map[string]any) Text {
	_, isVariable := object["name"].(string)

	switch {
	case field == "path" && name == Inventories:
		return Text{Meaning: Path}
	case field == "name" && strings.HasSuffix(name, "Ref"):
		return Text{Meaning: Name, Of: manifest.Text(object, "kind")}
	case field == "value" && isVariable:
		return Text{Meaning: Value, Of: manifest.Text(object, "name")}
	}

	return Text{}
}

// References calls do for the texts in the value of a field that may hold expressions.
func References(path *field.Path, name string, v any, do func(Text)) {
	Replace(path, name, v, func(t Text) string {
		if t.Computes() && t.Value != "" {
			do(t)
		}

		return t.Value
	})
}
