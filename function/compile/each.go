package compile

import (
	"context"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// maxItems is how many runs a set can have.
const maxItems = 1000

// compileEach of a run; nil for a single run.
func compileEach(env *expression.Environment, t template) (*ForEach, field.ErrorList) {
	items, ok := t.object["forEach"]
	if !ok {
		if _, ok := t.object["forEachKey"]; ok {
			return nil, field.ErrorList{field.Forbidden(t.path.Child("forEachKey"), "only with forEach")}
		}

		return nil, nil
	}

	e := &ForEach{}
	e.Items, _ = env.Compile(field.NewPath("forEach"), items)

	key, keyed := t.object["forEachKey"]
	if keyed {
		e.key, _ = env.Compile(field.NewPath("forEachKey"), key)
	}

	path := t.path.Child("forEach")

	switch is := e.Items.ItemType(); {
	case !e.Items.Is(expression.Object, expression.Array) || items == nil:
		return e, field.ErrorList{field.Invalid(path, items, "must be a map, a list, or an expression that is one of them")}
	case !keyed && e.Items.Type() == expression.Array && is != "" && is != expression.String:
		return e, field.ErrorList{field.Invalid(path, items, "is a list of type "+string(is)+", which needs forEachKey")}
	case keyed:
		return e, mistyped(t.path.Child("forEachKey"), e.key, expression.String, expression.Integer, expression.Number)
	}

	return e, nil
}

// Evaluate returns the items: of a map in the order of the keys, of a list in its order. It
// is false when the value is optional.none(), which is not meant as an empty list.
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
		return nil, true, []expression.Problem{Invalid("forEach", errors.Errorf("has %d items, but at most %d can be", len(items), maxItems))}
	}

	items, problems = e.withKeys(ctx, data, items)

	return items, true, problems
}

// itemsOf a map or a list.
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
			if !ok && e.key == nil {
				return nil, []expression.Problem{Invalid("forEach["+strconv.Itoa(i)+"]", errors.New("is not a string; a list of anything else needs forEachKey"))}
			}

			items = append(items, Item{Key: key, value: v[i]})
		}
	default:
		return nil, []expression.Problem{Invalid("forEach", errors.New("must be a map or a list"))}
	}

	return items, nil
}

// withKeys returns the items with the keys that forEachKey gives them, if it is set. The
// problems are keys that are not valid or not unique.
func (e *ForEach) withKeys(ctx context.Context, data expression.Data, items []Item) ([]Item, []expression.Problem) {
	var problems []expression.Problem

	seen := make(map[string]bool, len(items))

	for i := range items {
		if e.key != nil {
			key, ps := e.keyOf(ctx, items[i].DataWith(data))
			problems = append(problems, ps...)
			items[i].Key = key

			if len(ps) > 0 {
				continue
			}
		}

		switch key := items[i].Key; {
		case !itemKey.MatchString(key):
			problems = append(problems, Invalid("forEach", errors.Errorf("%.80q cannot be a key: it must be letters, digits and _.:/@-, start with a letter, a digit or _, and have at most 128 characters", key)))
		case seen[key]:
			problems = append(problems, Invalid("forEach", errors.Errorf("there is more than one item with key %q", key)))
		}

		seen[items[i].Key] = true
	}

	return items, problems
}

func (e *ForEach) keyOf(ctx context.Context, data expression.Data) (string, []expression.Problem) {
	v, _, problems := e.key.Evaluate(ctx, data)
	if len(problems) > 0 {
		return "", problems
	}

	switch v := v.(type) {
	case string:
		return v, nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	}

	return "", []expression.Problem{Invalid("forEachKey", errors.New("must be a string"))}
}

// DataWith returns data in which expressions see the item.
func (i Item) DataWith(data expression.Data) expression.Data {
	data.Each = map[string]any{"value": i.value}
	if i.Key != "" {
		data.Each["key"] = i.Key
	}

	return data
}
