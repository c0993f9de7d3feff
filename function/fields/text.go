package fields

import (
	"path"
	"regexp"
	"slices"
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
	// Content is what content there is to run: it has a key in allowed.
	Content
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
	// Of is what has the text: the kind of the object with a name, where it is written, the name of the variable with a
	// value, or the key of content in allowed.
	Of string
}

// Computes is true for a text that may hold expressions.
func (t Text) Computes() bool { return t.Meaning != Plain }

// Check a value that was computed for a text. Content is one of the values that these patterns allow.
func (t Text) Check(v any, allowed []string) error {
	s, ok := v.(string)

	switch t.Meaning {
	case Content:
		if !ok || !isContent(s) {
			return errors.Errorf("must be letters, digits and the characters _.+/- without . and .. between slashes, and is %s",
				manifest.Show(v))
		}

		if !slices.ContainsFunc(allowed, func(pattern string) bool { ok, _ := path.Match(pattern, s); return ok }) {
			return errors.Errorf("%q is not allowed; allowed for %s is %s", s, t.Of, strings.Join(allowed, ", "))
		}

		if strings.HasSuffix(t.Of, ".version") && isCommit(s) && !slices.Contains(allowed, s) {
			return errors.Errorf("%q may be a commit, which no pattern allows; to allow it, list it in allowed for %s", s, t.Of)
		}
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

// isContent is true for what may be a version, the name of a playbook, or a path: git, ansible-galaxy and Ansible take
// none for an option, and none leads out of a directory.
func isContent(s string) bool {
	return len(s) <= maxContent && content.MatchString(s) && path.Clean(s) == s
}

// isCommit is true for what git may take for a commit: its hash, in full or abbreviated, also behind any text and -g.
// The commit may be one of no branch or tag: a host serves those of all forks of a repository.
func isCommit(s string) bool {
	return regexp.MustCompile(`^(.*-g)?[0-9A-Fa-f]{4,64}$`).MatchString(s)
}

// Replace returns a copy of the value of a field in which each text is what replace makes of it. It is the one walk
// through references, also for callers that only read them.
func Replace(at *field.Path, name string, v any, replace func(Text) any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = Replace(at.Index(i), name, v[i], replace)
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
				t := textOf(name, k, v)
				t.Path, t.Value = at.Child(k), s
				out[k] = replace(t)

				continue
			}

			out[k] = Replace(at.Child(k), k, v[k], replace)
		}

		return out
	case string:
		t := textOf("", name, nil)
		t.Path, t.Value = at, v

		return replace(t)
	}

	return v
}

// Keys of allowed: what content an XR may choose. None of it is a source.
const (
	AllowedProjectVersion  = "project.version"
	AllowedPlaybook        = "playbook"
	AllowedPlaybooks       = "playbooks"
	AllowedRolesVersion    = "roles.version"
	AllowedInventoriesPath = "inventories.path"
)

// textOf a field of an object, and what it means. Name is that of the field with the object, or of its list; empty
// for the fields of a run.
func textOf(name, field string, object map[string]any) Text {
	_, isVariable := object["name"].(string)

	switch {
	case name == "" && (field == AllowedPlaybook || field == AllowedPlaybooks):
		return Text{Meaning: Content, Of: field}
	case name == "project" && field == "version":
		return Text{Meaning: Content, Of: AllowedProjectVersion}
	case name == "roles" && field == "version":
		return Text{Meaning: Content, Of: AllowedRolesVersion}
	case name == Inventories && field == "path":
		return Text{Meaning: Content, Of: AllowedInventoriesPath}
	case field == "name" && strings.HasSuffix(name, "Ref"):
		return Text{Meaning: Name, Of: manifest.Text(object, "kind")}
	case field == "value" && isVariable:
		return Text{Meaning: Value, Of: manifest.Text(object, "name")}
	}

	return Text{}
}
