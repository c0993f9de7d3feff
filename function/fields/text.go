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

// A Meaning says what a text in a Referring field is, and so whether it may hold expressions.
type Meaning int

const (
	// Plain texts are literal.
	Plain Meaning = iota
	// Name texts are names of other objects: the field name of a field that ends in Ref.
	Name
	// Content texts select the content to run. They have a key in allowed.
	Content
	// Value texts are values of environment variables.
	Value
)

// Inventories is the name of the field with the inventories, in the input and in an AnsibleRun.
const Inventories = "inventories"

// A Text is a string in the value of a field.
type Text struct {
	Path    *field.Path
	Value   string
	Meaning Meaning
	// Of depends on the Meaning. For a Name, it is the kind of the object if the reference has one. For a Value, it is
	// the name of the environment variable. For Content, it is the key in allowed.
	Of string
}

// Computes is true for a text that may hold expressions.
func (t Text) Computes() bool { return t.Meaning != Plain }

// Check validates a value that was computed for a text. Content must match one of the allowed patterns, which are those
// of path.Match.
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

// isContent is true for a version, the name of a playbook, or a relative path. git, ansible-galaxy and Ansible take
// none of these for an option, and the path does not leave its directory.
func isContent(s string) bool {
	return len(s) <= maxContent && content.MatchString(s) && path.Clean(s) == s
}

// isCommit is true for a version that git may read as a commit: a hash, full or abbreviated, or the output of git
// describe, which ends in -g and a hash. Hosts serve the commits of all forks of a repository, so a commit may be
// outside of its branches and tags.
func isCommit(s string) bool {
	return regexp.MustCompile(`^(.*-g)?[0-9A-Fa-f]{4,64}$`).MatchString(s)
}

// Replace returns a copy of the value of a field with each Text replaced. Callers that only read the texts use it, too.
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
				out[k] = v[k] // The YAML of an inventory is compiled as a whole.
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

// Keys of allowed: the parts of the content that an XR may select. An XR never selects a source.
const (
	AllowedProjectVersion  = "project.version"
	AllowedPlaybook        = "playbook"
	AllowedPlaybooks       = "playbooks"
	AllowedRolesVersion    = "roles.version"
	AllowedInventoriesPath = "inventories.path"
)

// textOf returns the Meaning of the string in a field of an object. name is the field with the object, or with the list
// of objects; it is empty when the object is a run.
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
