package fields

import (
	"cmp"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansible"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// Names that people without trust may choose for options of Ansible. A limit that
// begins with @ is a file, and one with ~ a regular expression of Python.
var (
	content = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+/-]*$`)
	tag     = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:-]*$`)
	limit   = regexp.MustCompile(
		`^[!&]?[A-Za-z0-9_*?\[][A-Za-z0-9_.*?\[\]-]*([,:][!&]?[A-Za-z0-9_*?\[][A-Za-z0-9_.*?\[\]-]*)*$`)
)

// maxLimit is how long a limit may be, in bytes. The system takes twice that of an
// option.
const (
	maxLimit   = 64 << 10
	maxContent = 253
)

// listOf checks all items of a list, which must not be empty: an empty list would mean
// something else to Ansible and to Crossplane.
func listOf(check func(any) error) func(any) error {
	const most = 1000

	return func(v any) error {
		list, _ := v.([]any)
		if len(list) == 0 || len(list) > most {
			return errors.Errorf("must be a list of 1 to %d items, or optional.none()", most)
		}

		for i := range list {
			if err := check(list[i]); err != nil {
				return errors.Wrapf(err, "[%d]", i)
			}
		}

		return nil
	}
}

// arePolicies checks management policies. An empty list is written, not computed.
func arePolicies(v any) error {
	list, _ := v.([]any)
	return cmp.Or(listOf(isPolicy)(v), CheckPolicies(list))
}

// CheckPolicies checks that Crossplane supports a set of management policies: it does nothing with an object that has
// another one.
func CheckPolicies(list []any) error {
	has := func(action string) bool { return slices.Contains(list, any(action)) }
	all := !slices.ContainsFunc(list, func(action any) bool { return action != "*" })
	alone := !has("Create") && (has("Update") || has("LateInitialize"))

	if all || !has("*") && has("Observe") && (!has("Delete") || !alone) {
		return nil
	}

	return errors.Errorf(`Crossplane does not support this set: write "*" alone, or Observe with others, and Delete only `+
		"with Create, or with Observe alone, and not %s", manifest.Show(list))
}

func isPolicy(v any) error {
	known := []any{"Observe", "Create", "Update", "Delete", "LateInitialize", "*"}
	if _, ok := v.(string); ok && slices.Contains(known, v) {
		return nil
	}

	return errors.Errorf("must be one of Observe, Create, Update, Delete, LateInitialize and *, and is %s",
		manifest.Show(v))
}

func isTag(v any) error {
	if s, ok := v.(string); ok && tag.MatchString(s) && len(s) <= ansible.MaxName {
		return nil
	}

	return errors.Errorf("must be a tag of letters, digits and _.:- that begins with a letter, a digit or _, and is %s",
		manifest.Show(v))
}

func isLimit(v any) error {
	if s, ok := v.(string); ok && len(s) <= maxLimit && limit.MatchString(s) {
		return nil
	}

	return errors.Errorf(
		"must be names or patterns of hosts and groups, of letters, digits and _.-*?[] with , : & and ! between them, as "+
			"in web:&eu, and is %s", manifest.Show(v))
}

func isText(v any) error {
	if _, ok := v.(string); !ok {
		return errors.New("must be a string")
	}

	return nil
}

func isLabel(v any) error {
	if s, ok := v.(string); ok && len(validation.IsValidLabelValue(s)) > 0 {
		return errors.Errorf("%.80q cannot be the value of a label", s)
	}

	return isText(v)
}
