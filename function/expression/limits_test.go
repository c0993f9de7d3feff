package expression

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/test/bomb"
)

// An XR may have values of up to about 1.5 MB, the limit of the API server. No such value makes an evaluation take much
// time or memory.
func TestRunaway(t *testing.T) {
	items := make([]any, 100_000)
	for i := range items {
		items[i] = float64(i)
	}

	x := strings.Repeat("x", 500_000)

	tags := map[string]any{}
	for _, last := range "abcdefghi" {
		tags[strings.Repeat("k", 50_000)+string(last)] = "x"
	}

	data := func() Data {
		return Data{XR: map[string]any{"spec": map[string]any{
			"items": items, "tags": tags, "x": x, "y": strings.Repeat("y", 500_000),
			"billion": 1e9, "precision": "%.999999999f",
			"halves": []any{0.5, 0.25}, "numbers": strings.Repeat("%f%f", 50_000), "exponent": "1e-2147483647", "nines": strings.Repeat("9", 100_000),
			"empty": slices.Repeat([]any{[]any{}}, 200_000), "deep": deep("a", 3000, x), "inexact": deep(strings.Repeat("k", 80), 3000, slices.Repeat([]any{1e17}, 50_000)),
			"zone": "America/New_York", "json": "[" + strings.Repeat("[],", 400_000) + "0]", "version": "1.0.0-" + strings.Repeat("1.", 50_000) + "1", "url": "https://example.org/?" + strings.Repeat("a=b&", 50_000),
		}}}
	}

	const (
		work = "this takes too much work"
		size = "the value is larger than 4 MiB"
	)

	cases := map[string]struct {
		reason string
		source string
		want   string
	}{
		"Nested":        {reason: "Nested comprehensions have a limit.", source: "xr.spec.items.map(a, xr.spec.items.filter(b, b > a))", want: work},
		"Range":         {reason: "A long list is rejected before it is created.", source: "lists.range(xr.spec.billion).size()", want: work},
		"Replace":       {reason: "replace is rejected before it creates a long string.", source: "xr.spec.x.replace('x', xr.spec.y)", want: work},
		"Join":          {reason: "join is rejected before it creates a long string.", source: "xr.spec.items.map(i, string(i)).join(xr.spec.x)", want: work},
		"Precision":     {reason: "format is rejected before it creates many digits.", source: "xr.spec.precision.format([1.5])", want: work},
		"Double":        {reason: "Each concatenation spends the work of its strings.", source: "xr.spec.items.map(i, xr.spec.x + xr.spec.y)", want: work},
		"Distinct":      {reason: "distinct compares each pair of items.", source: "xr.spec.items.distinct()", want: work},
		"Sets":          {reason: "Functions for sets compare each pair of items.", source: "sets.equivalent(xr.spec.items, xr.spec.items)", want: work},
		"Flatten":       {reason: "flatten spends the work of all nested lists.", source: "lists.range(1000).map(i, xr.spec.items).flatten()", want: work},
		"Written":       {reason: "matches spends the work of a large regular expression.", source: "xr.spec.x.matches('(x?){500}y')", want: work},
		"WrittenFind":   {reason: "find spends the work of the whole string.", source: "xr.spec.items.map(i, xr.spec.x.find('y$'))", want: work},
		"Again":         {reason: "findAll takes quadratic time if each search reads the rest of the string.", source: "xr.spec.x.findAll('x*y|x')", want: work},
		"AgainBehind":   {reason: "findAll also takes quadratic time for an expression with a word boundary.", source: "xr.spec.x.findAll('x*y|\\\\bx|x')", want: work},
		"Matches":       {reason: "findAll spends the work of many empty matches.", source: "xr.spec.x.findAll('').size()", want: work},
		"Index":         {reason: "indexOf compares the string at each position.", source: "xr.spec.x.indexOf(xr.spec.y)", want: work},
		"LastIndex":     {reason: "lastIndexOf compares the string at each position.", source: "xr.spec.x.lastIndexOf(xr.spec.y)", want: work},
		"Doubled":       {reason: "A list that is concatenated with itself spends the work of its length.", source: "[xr.spec.items]" + strings.Repeat(".map(a, a + a)", 30), want: work},
		"Numbers":       {reason: "format spends the work of long numbers.", source: "xr.spec.numbers.format(lists.range(50000).map(i, xr.spec.halves).flatten())", want: work},
		"Empty":         {reason: "An empty list spends the work of its allocation.", source: "[xr.spec.empty].flatten(2).size()", want: work},
		"Deep":          {reason: "format spends the work of a value at each of its levels.", source: "'%s'.format([xr.spec.deep])", want: work},
		"Inexact":       {reason: "The error of an inexact number is only written when it is reported.", source: "xr.spec.inexact == xr.spec.inexact", want: "xr.spec.inexact.kkk"},
		"Exponent":      {reason: "A quantity with a large exponent has as many digits.", source: "quantity(xr.spec.exponent).isInteger()", want: work},
		"Digits":        {reason: "A quantity with many digits is rejected.", source: "isQuantity(xr.spec.nines)", want: work},
		"Zone":          {reason: "A function with a time zone spends the work to read a file.", source: "lists.range(10000).map(i, timestamp('2026-01-01T00:00:00Z').getHours(xr.spec.zone))", want: work},
		"Version":       {reason: "A version spends the work of its string in each call.", source: "[semver(xr.spec.version)].map(v, lists.range(10000).filter(i, v.isLessThan(v)))", want: work},
		"URL":           {reason: "A URL spends the work of its string in each call.", source: "[url(xr.spec.url)].map(u, lists.range(10000).filter(i, u.getQuery() == {}))", want: work},
		"Size":          {reason: "size spends the work of the string.", source: "xr.spec.items.filter(i, size(xr.spec.x) > i)", want: work},
		"Default":       {reason: "An optional value spends the work of its string.", source: "xr.spec.items.filter(i, xr.spec.?x.orValue('').size() > i)", want: work},
		"Name":          {reason: "A computed key of the XR spends the work of its string.", source: "xr.spec.items.filter(i, xr.spec[?xr.spec.x].hasValue())", want: work},
		"Key":           {reason: "A computed key of a map literal spends the work of its string.", source: "xr.spec.items.exists(i, {'small': 1, 'large': 2}[xr.spec.x] == i)", want: work},
		"KeyOfMade":     {reason: "A computed key of a computed map spends the work of its string.", source: "lists.range(10000).filter(i, {'a': 1}.transformMap(k, v, v)[?xr.spec.x].hasValue())", want: work},
		"KeyOfOptional": {reason: "A computed key of an optional map spends the work of its string.", source: "xr.spec.items.filter(i, optional.of(xr.spec)[?xr.spec.x].hasValue())", want: work},
		"KeyOfKey":      {reason: "A computed key inside of a computed key spends the work of its string.", source: "xr.spec.items.exists(i, {'a': 1}[{'a': 'b'}[xr.spec.x]] == i)", want: work},
		"KeyMade":       {reason: "A computed key in a map literal spends the work of its string.", source: "xr.spec.items.filter(i, {xr.spec.x: i}.?a.hasValue())", want: work},
		"Keys":          {reason: "A comprehension over a map spends the work to sort its keys.", source: "lists.range(10000).filter(i, xr.spec.tags.exists(k, true))", want: work},
		"Failed":        {reason: "A call with an error as its argument spends work, since the comprehension continues.", source: "xr.spec.items.exists(i, {'a': 1}['b'] + i == i)", want: work},
		"CharAt":        {reason: "charAt spends the work of the whole string.", source: "xr.spec.items.map(i, xr.spec.x.charAt(i))", want: work},
		"JSON":          {reason: "json.unmarshal spends the work of its string.", source: "json.unmarshal(xr.spec.json)", want: work},
		"ReadAgain":     {reason: "An error of json.unmarshal ends the comprehension.", source: "xr.spec.items.map(i, json.unmarshal('[' + string(i) + xr.spec.version.substring(0, 1000) + ']'))", want: "the text is not JSON"},
		"WriteJSON":     {reason: "json.marshal spends the work of its value.", source: "lists.range(100).map(i, json.marshal(xr.spec.items))", want: work},
		"WriteShared":   {reason: "json.marshal spends the work of a string for each of its copies.", source: "json.marshal(lists.range(1000).map(i, xr.spec.x))", want: work},
		"Hash":          {reason: "A hash spends the work of its string.", source: "xr.spec.items.map(i, hash.sha256(xr.spec.x))", want: work},
		"Encode":        {reason: "base64.encode spends the work of its bytes.", source: "xr.spec.items.map(i, base64.encode(bytes(xr.spec.x)))", want: work},
		"Merge":         {reason: "merge spends the work of all entries.", source: "[xr.spec.items.map(i, string(i))].map(l, l.transformMapEntry(i, v, {v: v})).map(m, lists.range(1000).map(i, m.merge(m)))", want: work},
		"Greatest":      {reason: "Many short calls spend work.", source: "xr.spec.items.map(i, math.greatest(i, 1) + math.greatest([i, 1, 2]) + (xr.spec.x == xr.spec.y + xr.spec.x ? 1 : 0))", want: work},
		"SharedTexts":   {reason: "A string spends work for each of its copies in a list.", source: "xr.spec.items.map(i, xr.spec.x)", want: work},
		"SharedLists":   {reason: "A list spends work for each of its copies in a list.", source: "lists.range(1000).map(i, xr.spec.items)", want: work},
		"SharedObjects": {reason: "An object spends work for each of its copies in a list.", source: "lists.range(1000).map(i, xr.spec)", want: work},
		"Shared":        {reason: "A value that core cannot receive is a problem.", source: "[xr.spec.x].map(x, [x, x, x, x, x, x, x, x, x])", want: size},
	}

	e := environment(t)

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var problems []Problem

			// An evaluation within the limits takes at most a second, and little memory.
			bomb.Defuse(t, func() { _, problems = evaluateIn(t, e, tc.source, data()) })

			if len(problems) != 1 || problems[0].Kind != Invalid || !strings.HasPrefix(problems[0].Message, tc.want) || !strings.Contains(problems[0].Message, "xr.spec") {
				t.Errorf("\n%s\nEvaluate(...): want %s, got %v", tc.reason, tc.want, problems)
			}
		})
	}
}

// deep returns a value below this many nested objects, each with one field.
func deep(name string, levels int, value any) any {
	for range levels {
		value = map[string]any{name: value}
	}

	return value
}

// A comparison takes linear time in the size of a value, independently of its depth.
func TestDeep(t *testing.T) {
	items := slices.Repeat([]any{1.0}, 100_000)
	data := Data{XR: map[string]any{"spec": map[string]any{"deep": deep("a", 30_000, items)}}}

	bomb.Defuse(t, func() {
		if got, problems := evaluateIn(t, environment(t), "xr.spec.deep == xr.spec.deep", data); got != true {
			t.Errorf("Evaluate(...): want true, got %v, %v", got, problems)
		}
	})
}

// Each computed name of a resource is compiled once, even if it is nested in other computed names.
func TestNestedNames(t *testing.T) {
	e, source := environment(t), "xr.metadata.name"
	for range 18 {
		source = "resources['a-' + " + source + "].metadata.name"
	}

	bomb.Defuse(t, func() {
		if _, errs := e.Compile(field.NewPath("x"), "${"+source+"}"); len(errs) > 0 {
			t.Error(errs)
		}
	})
}

// The Budget limits the total work of expressions that are each within the limit of one expression.
func TestBudget(t *testing.T) {
	e := environment(t)

	data := Data{XR: map[string]any{"spec": map[string]any{"n": 1.0}}, Budget: &Budget{}}

	for range 1000 {
		v, problems := evaluateIn(t, e, "lists.range(10000).map(i, i + xr.spec.n).size()", data)
		if len(problems) == 0 {
			if v != 10000.0 {
				t.Fatalf("want 10000, got %v", v)
			}

			continue
		}

		want := []Problem{{Path: "x", Kind: Invalid, Message: "the expressions for this XR take too much work together: ${lists.range(10000).map(i, i + xr.spec.n).size()}"}}
		if diff := cmp.Diff(want, problems); diff != "" {
			t.Errorf("Evaluate(...): -want, +got:\n%s", diff)
		}

		return
	}

	t.Error("want the budget to be spent")
}

// A canceled evaluation ends with a problem.
func TestCanceled(t *testing.T) {
	e := environment(t)

	tmpl, errs := e.Compile(field.NewPath("x"), "${lists.range(10000).map(i, i).size()}")
	if len(errs) > 0 {
		t.Fatal(errs)
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()

	_, _, problems := tmpl.Evaluate(ctx, Data{})

	want := []Problem{{Path: "x", Kind: Invalid, Message: "there was no time left for this: ${lists.range(10000).map(i, i).size()}"}}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("Evaluate(...): -want, +got:\n%s", diff)
	}
}

// Functions with limited work have their usual results.
func TestGuarded(t *testing.T) {
	cases := map[string]struct {
		source string
		want   any
	}{
		"Range":       {source: "lists.range(3)", want: []any{0.0, 1.0, 2.0}},
		"Distinct":    {source: "[1, 2, 1].distinct()", want: []any{1.0, 2.0}},
		"Replace":     {source: "'abab'.replace('a', 'c')", want: "cbcb"},
		"ReplaceN":    {source: "'abab'.replace('a', 'c', 1)", want: "cbab"},
		"Join":        {source: "xr.spec.zones.join()", want: "ab"},
		"JoinWith":    {source: "xr.spec.zones.join('-')", want: "a-b"},
		"Flatten":     {source: "[[1], [[2]]].flatten()", want: []any{1.0, []any{2.0}}},
		"FlattenDeep": {source: "[[1], [[2]]].flatten(2)", want: []any{1.0, 2.0}},
		"FindAll":     {source: "'abcb'.findAll('b', 1)", want: []any{"b"}},
		"Matches":     {source: "xr.spec.key.matches('^s')", want: true},
		"MatchesFn":   {source: "matches(xr.spec.key, '^s')", want: true},
		"Format":      {source: "'%s %.2f %d'.format([xr.spec.key, 1.234, 5])", want: "size 1.23 5"},
		"SetsIn":      {source: "sets.contains([1, 2], [1])", want: true},
		"SetsEqual":   {source: "sets.equivalent(xr.spec.zones, ['b', 'a', 'a'])", want: true},
		"Concat":      {source: "xr.spec.zones + ['c'] + xr.spec.zones", want: []any{"a", "b", "c", "a", "b"}},
		"In":          {source: "'a' in xr.spec.zones && !('c' in xr.spec.zones) && 'size' in xr.spec", want: true},
		"Equal":       {source: "xr.spec.zones == ['a', 'b'] && ['a', 'b'] == xr.spec.zones && xr.metadata == {'name': 'app', 'labels': {'example.org/team': 'blue'}}", want: true},
		"NotEqual":    {source: "xr.spec.zones != xr.spec.users && xr.spec.nested != xr.spec.zones && xr.spec.nested != {'empty': {}}", want: true},
		"Types":       {source: "[type(xr.spec) == map, type(xr.spec.zones) == list, type(xr.spec.size) == int, type(xr.spec.ratio) == double, type(xr.spec.nested['null']) == null_type]", want: []any{true, true, true, true, true}},
		"Merge":       {source: "{'a': 1, 'b': 1}.merge({'b': 2, 'c': 2})", want: map[string]any{"a": 1.0, "b": 2.0, "c": 2.0}},
		"MergeData":   {source: "[xr.spec.nested.merge({'null': 'x'}), {'a': 1}.merge(xr.metadata.labels), {}.merge({})]", want: []any{map[string]any{"empty": map[string]any{}, "null": "x"}, map[string]any{"a": 1.0, "example.org/team": "blue"}, map[string]any{}}},
		"Hash":        {source: "['%x'.format([hash.sha256('a')]), '%x'.format([hash.md5('a')]), hash.md5('')]", want: []any{"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb", "0cc175b9c0f1b6a831c399e269772661", "1B2M2Y8AsgTpgAmY7PhCfg=="}},
		"Base64":      {source: "[base64.encode(b'ab'), base64.encode(bytes(xr.spec.key)), string(base64.decode('YWI=')), string(base64.decode('YWI'))]", want: []any{"YWI=", "c2l6ZQ==", "ab", "ab"}},
		"JSON":        {source: "json.unmarshal('{\"a\": [1, 1.5, 1e3, null, true, \"x\"], \"b\": {}}')", want: map[string]any{"a": []any{1.0, 1.5, 1000.0, nil, true, "x"}, "b": map[string]any{}}},
		"JSONUsed":    {source: "[json.unmarshal('{\"a\": 1}').a + 1, json.unmarshal('[2]')[0] * xr.spec.size, json.unmarshal('{\"b\": 1, \"a\": 1}').map(k, k).size()]", want: []any{2.0, 10.0, 2.0}},
		"JSONMissing": {source: "json.unmarshal('{}').?a.orValue('none')", want: "none"},
		"JSONText":    {source: "json.marshal({'b': xr.spec.zones, 'a': xr.spec.size, ?'c': xr.spec.?unset, 'd': '<&>', 'e': b'ab'})", want: `{"a":5,"b":["a","b"],"d":"<&>","e":"YWI="}`},
		"Math":        {source: "[math.least(3, xr.spec.size), math.greatest(1, 2, 3), math.ceil(1.2), math.floor(1.8), math.round(1.5), math.abs(-1), math.sqrt(4.0)]", want: []any{3.0, 3.0, 2.0, 1.0, 2.0, 1.0, 2.0}},
		"NotFailed":   {source: "xr.spec.size > 9 ? fail('too large') : xr.spec.size", want: 5.0},
		"SumAndMin":   {source: "[xr.spec.zones.max(), xr.spec.zones.indexOf('b'), xr.spec.zones.isSorted()]", want: []any{"b", 1.0, true}},
		"Slices":      {source: "[xr.spec.zones.slice(1, 2), xr.spec.zones.reverse(), xr.spec.users.sortBy(u, u.name).map(u, u.name)]", want: []any{[]any{"b"}, []any{"b", "a"}, []any{"eve", "{{ lookup('pipe', 'id') }}"}}},
	}

	e := environment(t)

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, problems := evaluateIn(t, e, tc.source, data())
			if diff := cmp.Diff(tc.want, got); diff != "" || len(problems) > 0 {
				t.Errorf("Evaluate(...): %v, -want, +got:\n%s", problems, diff)
			}
		})
	}
}

// Comprehensions iterate over maps in the order of the keys.
func TestOrder(t *testing.T) {
	cases := map[string]struct {
		reason string
		source string
		want   any
	}{
		"Data":    {reason: "A macro iterates over a map of the XR in order.", source: "xr.spec.m.map(k, k)", want: []any{"a", "b", "c", "d", "e", "f"}},
		"Two":     {reason: "A macro with two variables iterates in order.", source: "xr.spec.m.transformList(k, v, k + v)", want: []any{"a1", "b1", "c1", "d1", "e1", "f1"}},
		"Literal": {reason: "A macro iterates over a map literal in order.", source: "{'d': 1, 'a': 1, 'c': 1, 'b': 1}.map(k, k)", want: []any{"a", "b", "c", "d"}},
		"Made":    {reason: "A macro iterates over a computed map in order.", source: "xr.spec.m.transformMap(k, v, v + '!').transformList(k, v, k)", want: []any{"a", "b", "c", "d", "e", "f"}},
		"Ints":    {reason: "Numeric keys are sorted as numbers.", source: "{10: 1, 9: 1, 1: 1}.map(k, k)", want: []any{1.0, 9.0, 10.0}},
		"Mixed":   {reason: "Keys of several types are sorted by type.", source: "{'a': 1, 2: 1, true: 1, 'b': 1, 3u: 1}.map(k, string(k))", want: []any{"true", "2", "3", "a", "b"}},
	}

	e := environment(t)
	data := Data{XR: map[string]any{"spec": map[string]any{"m": map[string]any{"f": "1", "a": "1", "e": "1", "b": "1", "d": "1", "c": "1"}}}}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				got, problems := evaluateIn(t, e, tc.source, data)
				if diff := cmp.Diff(tc.want, got); diff != "" || len(problems) > 0 {
					t.Fatalf("\n%s\nEvaluate(...): %v, -want, +got:\n%s", tc.reason, problems, diff)
				}
			}
		})
	}
}
