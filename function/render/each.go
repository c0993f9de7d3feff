package render

import (
	"context"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// maxItems of forEach.
const maxItems = 1000

// itemKey is what the key of an item looks like. It becomes part of the name of
// a composed resource, and of a line of a condition.
var itemKey = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:/@-]{0,127}$`)

// each says what a set of runs is made of.
type each struct {
	items *expression.Template
	// key is nil when keys follow from the items.
	key *expression.Template
}

// An item of a set.
type item struct {
	key   string
	value any
}

// compileEach of a run; nil for a single run.
func compileEach(env *expression.Environment, t template) (*each, field.ErrorList) {
	items, ok := t.object["forEach"]
	if !ok {
		if _, ok := t.object["forEachKey"]; ok {
			return nil, field.ErrorList{field.Forbidden(t.path.Child("forEachKey"), "only with forEach")}
		}

		return nil, nil
	}

	e := &each{}
	e.items, _ = env.Compile(field.NewPath("forEach"), items)

	key, keyed := t.object["forEachKey"]
	if keyed {
		e.key, _ = env.Compile(field.NewPath("forEachKey"), key)
	}

	path := t.path.Child("forEach")

	switch is := e.items.ItemType(); {
	case !e.items.Is(expression.Object, expression.Array) || items == nil:
		return e, field.ErrorList{field.Invalid(path, items, "must be a map, a list, or an expression that is one of them")}
	case !keyed && e.items.Type() == expression.Array && is != "" && is != expression.String:
		return e, field.ErrorList{field.Invalid(path, items, "is a list of type "+string(is)+", which needs forEachKey")}
	case keyed:
		return e, mistyped(t.path.Child("forEachKey"), e.key, expression.String, expression.Integer, expression.Number)
	}

	return e, nil
}

func (e *each) templates() []*expression.Template {
	switch {
	case e == nil:
		return nil
	case e.key == nil:
		return []*expression.Template{e.items}
	}

	return []*expression.Template{e.items, e.key}
}

// evaluate the items, in the order of their keys if they come from a map, and
// in their own otherwise. There are none, and none is meant (false), when the value
// is optional.none().
func (e *each) evaluate(ctx context.Context, data expression.Data) ([]item, bool, []expression.Problem) {
	v, ok, problems := e.items.Evaluate(ctx, data)
	if !ok || len(problems) > 0 {
		return nil, false, problems
	}

	items, problems := e.itemsOf(v)
	if len(problems) > 0 {
		return nil, true, problems
	}

	if len(items) > maxItems {
		return nil, true, []expression.Problem{invalid("forEach", errors.Errorf("has %d items, but at most %d can be", len(items), maxItems))}
	}

	items, problems = e.keyed(ctx, data, items)

	return items, true, problems
}

// itemsOf a map or a list.
func (e *each) itemsOf(v any) ([]item, []expression.Problem) {
	var items []item

	switch v := v.(type) {
	case map[string]any:
		for _, k := range manifest.SortedKeys(v) {
			items = append(items, item{key: k, value: v[k]})
		}
	case []any:
		for i := range v {
			key, ok := v[i].(string)
			if !ok && e.key == nil {
				return nil, []expression.Problem{invalid("forEach["+strconv.Itoa(i)+"]", errors.New("is not a string; a list of anything else needs forEachKey"))}
			}

			items = append(items, item{key: key, value: v[i]})
		}
	default:
		return nil, []expression.Problem{invalid("forEach", errors.New("must be a map or a list"))}
	}

	return items, nil
}

// keyed returns the items with the keys that they are to have.
func (e *each) keyed(ctx context.Context, data expression.Data, items []item) ([]item, []expression.Problem) {
	var problems []expression.Problem

	seen := make(map[string]bool, len(items))

	for i := range items {
		if e.key != nil {
			key, ps := e.keyOf(ctx, items[i].in(data))
			problems = append(problems, ps...)
			items[i].key = key

			if len(ps) > 0 {
				continue
			}
		}

		switch key := items[i].key; {
		case !itemKey.MatchString(key):
			problems = append(problems, invalid("forEach", errors.Errorf("%.80q cannot be a key: it must be letters, digits and _.:/@-, start with a letter, a digit or _, and have at most 128 characters", key)))
		case seen[key]:
			problems = append(problems, invalid("forEach", errors.Errorf("there is more than one item with key %q", key)))
		}

		seen[items[i].key] = true
	}

	return items, problems
}

func (e *each) keyOf(ctx context.Context, data expression.Data) (string, []expression.Problem) {
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

	return "", []expression.Problem{invalid("forEachKey", errors.New("must be a string"))}
}

// in returns data in which expressions see the item.
func (i item) in(data expression.Data) expression.Data {
	data.Each = map[string]any{"value": i.value}
	if i.key != "" {
		data.Each["key"] = i.key
	}

	return data
}

// allMembers of a set, after its resource name in AnnotationDependsOn.
const allMembers = "[]"

// member returns the resource name of the set and the key of a composed
// resource, if it is the member of a set.
func member(resource string) (set, key string, ok bool) {
	set, rest, ok := strings.Cut(resource, "[")
	key, closed := strings.CutSuffix(rest, "]")

	return set, key, ok && closed
}

// memberOf a set with a key, by composition resource name.
func memberOf(set, key string) string { return set + "[" + key + "]" }

// key of a composed resource that belongs to the set.
func (run *run) key(resource string) (string, bool) {
	set, key, ok := member(resource)
	return key, ok && set == run.resource
}

// makes is true when a composed resource comes from the run.
func (run *run) makes(resource string) bool {
	if run.each == nil {
		return run.resource == resource
	}

	_, ok := run.key(resource)

	return ok
}

// asks is true when each item is asked whether it is wanted.
func (run *run) asks() bool { return run.each != nil && run.when.Each() }

// set renders the runs of a set. Those whose items are gone are not among them.
func (r *rendering) set(ctx context.Context, run *run, out Run) []Run {
	needs := map[string]bool{}
	for _, t := range run.each.templates() {
		maps.Copy(needs, t.Runs())
	}

	if out, ok := r.await(ctx, run, out, r.data, needs, run.each.templates()...); ok {
		return r.whole(run, out)
	}

	items, meant, problems := run.each.evaluate(ctx, r.data)
	if len(problems) == 0 && len(items) == 0 && r.exists(run, run.resource) {
		problems = r.absent(run.each.items, meant)
	}

	if len(problems) > 0 {
		return r.whole(run, r.hold(out, problems))
	}

	if problems := r.crowd(run, len(items)); len(problems) > 0 {
		return r.whole(run, r.hold(out, problems))
	}

	runs, names := make([]Run, 0, len(items)), make(map[string]bool, len(items))
	for _, i := range items {
		names[memberOf(run.resource, i.key)] = true
	}

	for _, i := range items {
		one := Run{Name: memberOf(run.name, i.key), Resource: memberOf(run.resource, i.key)}
		data := i.in(r.data)

		if problems := r.adopt(ctx, run, one.Resource, data, names); len(problems) > 0 {
			runs = append(runs, r.hold(one, problems))
			continue
		}

		if run.asks() {
			if decided, ok := r.decide(ctx, run, one, data); ok {
				runs = append(runs, decided)
				continue
			}
		}

		runs = append(runs, r.render(ctx, run, one, data))
	}

	return runs
}

// absent says what is not there of the items of a set that has none, and whether
// none is meant. A list that is not there removes nothing, however that is written;
// an empty one does.
func (r *rendering) absent(items *expression.Template, meant bool) []expression.Problem {
	what := "the list"

	for _, path := range items.Defaulted() {
		if _, ok, err := unstructured.NestedFieldNoCopy(r.observed.XR, path...); !ok || err != nil {
			what, meant = "xr."+strings.Join(path, "."), false
			break
		}
	}

	if meant {
		return nil
	}

	return []expression.Problem{{
		Path: "forEach", Kind: expression.NotSet,
		Message: what + " is not there, so that the set stays as it is; a list that is empty removes its members, and so does when: false",
	}}
}

// whole returns what became of a run, and of all members that it has if it is a
// set: they share its reason, and are left as they are.
func (r *rendering) whole(run *run, out Run) []Run {
	runs := []Run{out}
	if run.each == nil || out.Reason == Skipped {
		return runs
	}

	if run.previous != nil {
		r.uncertain[run] = true
	}

	for _, resource := range manifest.SortedKeys(r.observed.Resources) {
		key, ok := run.key(resource)
		if ok && isAnsibleRun(r.observed.Resources[resource]) {
			runs = append(runs, r.keep(Run{Name: memberOf(run.name, key), Resource: resource, Reason: out.Reason}))
		}
	}

	return runs
}
