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

// Values of options of Ansible that untrusted authors of XRs may choose. Ansible reads a limit that begins with @ as a
// file, and one that begins with ~ as a regular expression of Python: neither matches.
var (
	content = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+/-]*$`)
	tag     = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:-]*$`)
	limit   = regexp.MustCompile(
		`^[!&]?[A-Za-z0-9_*?\[][A-Za-z0-9_.*?\[\]-]*([,:][!&]?[A-Za-z0-9_*?\[][A-Za-z0-9_.*?\[\]-]*)*$`)
)

const (
	// maxLimit is the longest limit, in bytes. Linux allows twice as much for an argument.
	maxLimit = 64 << 10
	// maxContent is the longest version, playbook or path, in bytes.
	maxContent = 253
)

// listOf returns a check of a list with 1 to 1000 items. An empty list does not mean "not set" to Ansible or
// Crossplane.
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

// arePolicies checks computed management policies. Only a literal list may be empty.
func arePolicies(v any) error {
	list, _ := v.([]any)
	return cmp.Or(listOf(isPolicy)(v), CheckPolicies(list))
}

// CheckPolicies checks that crossplane-runtime supports a set of management policies. It does not reconcile an object
// with an unsupported set.
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
