package plan

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// Member returns the name of the set and the key of a composed resource set[key]; false when its name has another form.
func Member(resource string) (set, key string, ok bool) {
	set, rest, ok := strings.Cut(resource, "[")
	key, closed := strings.CutSuffix(rest, "]")

	return set, key, ok && closed
}

// MemberName returns the composition resource name set[key] of a member of a set.
func MemberName(set, key string) string { return set + "[" + key + "]" }

// ObjectName returns the name of the AnsibleRun of an Operation with a composition resource name: nightly-backup-eu for
// nightlyBackup[eu].
func ObjectName(resource string) string {
	return strings.ToLower(capital.ReplaceAllString(strings.NewReplacer("[", "-", "]", "").Replace(resource), "-$0"))
}

var capital = regexp.MustCompile("[A-Z]")

// maxItems is the largest number of members of a set.
const maxItems = 1000

// itemKey matches valid keys. A key is part of a composition resource name, and of the message of a condition.
var itemKey = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:/@-]{0,127}$`)

// ForEach evaluates the items of a set of runs.
type ForEach struct {
	Items *expression.Template
	// Key is forEachKey; nil when a key is the key of the map, or the string in the list.
	Key *expression.Template
}

// An Item is an item of forEach, for which a set has a member.
type Item struct {
	Key   string
	value any
}

// Templates returns the templates of the items and their keys; none for a single run, which has a nil ForEach.
func (e *ForEach) Templates() []*expression.Template {
	switch {
	case e == nil:
		return nil
	case e.Key == nil:
		return []*expression.Template{e.Items}
	}

	return []*expression.Template{e.Items, e.Key}
}

// Evaluate returns the items: of a map sorted by key, of a list in its order. It returns false for optional.none(),
// which does not mean an empty list.
func (e *ForEach) Evaluate(ctx context.Context, data expression.Data) ([]Item, bool, []expression.Problem) {
	v, ok, problems := e.Items.Evaluate(ctx, data)
	if !ok || len(problems) > 0 {
		return nil, false, problems
	}

	items, problems := e.itemsOf(v)
	if len(problems) > 0 {
		return nil, true, problems
	}

	if len(items) > maxItems {
		return nil, true, []expression.Problem{
			expression.InvalidAt("forEach", errors.Errorf("has %d items, but a set can have at most %d", len(items), maxItems)),
		}
	}

	items, problems = e.withKeys(ctx, data, items)

	return items, true, problems
}

// itemsOf returns the items of a map or a list.
func (e *ForEach) itemsOf(v any) ([]Item, []expression.Problem) {
	var items []Item

	switch v := v.(type) {
	case map[string]any:
		for _, k := range manifest.SortedKeys(v) {
			items = append(items, Item{Key: k, value: v[k]})
		}
	case []any:
		for i := range v {
			key, ok := v[i].(string)
			if !ok && e.Key == nil {
				return nil, []expression.Problem{expression.InvalidAt("forEach["+strconv.Itoa(i)+"]",
					errors.New("is not a string; a list of anything else needs forEachKey"))}
			}

			items = append(items, Item{Key: key, value: v[i]})
		}
	default:
		return nil, []expression.Problem{expression.InvalidAt("forEach", errors.New("must be a map or a list"))}
	}

	return items, nil
}

// withKeys returns the items with the keys of forEachKey, if it is set. The problems are invalid and duplicate keys.
func (e *ForEach) withKeys(ctx context.Context, data expression.Data, items []Item) ([]Item, []expression.Problem) {
	var problems []expression.Problem

	seen := make(map[string]int, len(items))

	for i := range items {
		if e.Key != nil {
			key, ps := e.keyOf(ctx, items[i].DataWith(data))
			problems = append(problems, ps...)
			items[i].Key = key

			if len(ps) > 0 {
				continue
			}
		}

		switch key := items[i].Key; {
		case !itemKey.MatchString(key):
			problems = append(problems,
				expression.InvalidAt("forEach",
					errors.Errorf(
						"%.80q cannot be a key: it must be letters, digits and _.:/@-, start with a letter, a digit or _, and have at "+
							"most 128 characters", key)))
		case seen[key] == 1: // It is said once of each key.
			problems = append(problems,
				expression.InvalidAt("forEach", errors.Errorf("there is more than one item with key %q", key)))
		}

		seen[items[i].Key]++
	}

	return items, problems
}

func (e *ForEach) keyOf(ctx context.Context, data expression.Data) (string, []expression.Problem) {
	v, _, problems := e.Key.Evaluate(ctx, data)
	if len(problems) > 0 {
		return "", problems
	}

	switch v := v.(type) {
	case string:
		return v, nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	}

	return "", []expression.Problem{expression.InvalidAt("forEachKey",
		errors.Errorf("must be a string, and is %s for the item %s", manifest.Show(v), manifest.Show(data.Each["value"])))}
}

// DataWith returns data with the item as each.
func (i Item) DataWith(data expression.Data) expression.Data {
	data.Each = map[string]any{"value": i.value}
	if i.Key != "" {
		data.Each["key"] = i.Key
	}

	return data
}
