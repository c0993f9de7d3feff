package expression

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func withLocals(t *testing.T, values map[string]any) (*Environment, *Locals, field.ErrorList) {
	t.Helper()

	d := declarations()
	d.Each = false
	d.Locals = NewLocals(values)
	d.Schema = objectOf(map[string]any{"spec": objectOf(map[string]any{
		"size": typed(Integer), "whole": typed(Number), "unset": typed(String), "key": typed(String), "zones": listOf(typed(String)),
	})})

	e := NewEnvironment(d)
	errs := e.CompileLocals(field.NewPath("locals"))

	// Another Environment with the same Locals knows their types.
	d.Each = true

	return NewEnvironment(d), d.Locals, errs
}

func TestLocals(t *testing.T) {
	values := map[string]any{
		"fqdn":    "${xr.metadata.name + '.' + locals.domain}",
		"domain":  "example.org",
		"double":  "${locals.size * 2}",
		"size":    "${xr.spec.size}",
		"whole":   "${xr.spec.whole}",
		"three":   int64(3),
		"spec":    "${xr.spec}",
		"tree":    map[string]any{"zones": "${xr.spec.zones}", "sizes": []any{int64(1), "${locals.size}"}, "left": "${xr.spec.?unset}"},
		"none":    "${xr.spec.?unset}",
		"unset":   "${xr.spec.unset}",
		"pending": "${runs.cache.outputs}",
		"outputs": "${runs.database.outputs}",
		"status":  "${xr.status.?address}",
		"failed":  "${fail('no')}",
		"digest":  "${hash.md5('')}",
		"time":    "${duration('90s')}",
		"huge":    "${lists.range(100000000)}",
	}

	value := func(v any) []any { return []any{v} }
	problem := func(k Kind, m string) []any { return []any{Problem{Path: "x", Kind: k, Message: m}} }

	cases := map[string]struct {
		reason string
		source string
		want   []any
	}{
		"Text":         {reason: "A local may refer to another one.", source: "locals.fqdn", want: value("app.example.org")},
		"Typed":        {reason: "An integer stays an integer.", source: "locals.double + locals.size + locals.three", want: value(18.0)},
		"Double":       {reason: "A double without a fraction stays a double.", source: "locals.whole * 1.5", want: value(3.0)},
		"Object":       {reason: "The fields of an object keep the types of the schema.", source: "locals.spec.whole * 1.5", want: value(3.0)},
		"Tree":         {reason: "A local may be an object with expressions.", source: "locals.tree", want: value(map[string]any{"zones": []any{"a", "b"}, "sizes": []any{1.0, 5.0}})},
		"Below":        {reason: "Expressions may select fields of a local.", source: "locals.tree.sizes.map(s, s + 1)", want: value([]any{2.0, 6.0})},
		"Bytes":        {reason: "Bytes and durations are strings, as in variables.", source: "locals.digest + locals.time", want: value("1B2M2Y8AsgTpgAmY7PhCfg==90s")},
		"None":         {reason: "A local that is optional.none() is missing.", source: "locals.?none.orValue('other')", want: value("other")},
		"HasNone":      {reason: "has tests the existence of a local, or of a field of it.", source: "has(locals.none) || has(locals.tree.left)", want: value(false)},
		"NoneNeeded":   {reason: "An expression that needs a missing local has a problem.", source: "locals.none", want: problem(NotSet, "locals.none is not set; write locals.?none if it may be missing")},
		"NotSet":       {reason: "The problem of a local is the problem of the expression.", source: "locals.unset", want: problem(NotSet, "locals.unset: xr.spec.unset is not set; write xr.spec.?unset if it may be missing")},
		"Optional":     {reason: "orValue does not replace a local with a problem.", source: "locals.?unset.orValue('a')", want: problem(NotSet, "locals.unset: xr.spec.unset is not set; write xr.spec.?unset if it may be missing")},
		"Or":           {reason: "|| does not ignore a local with a problem.", source: "locals.unset == 'a' || true", want: problem(NotSet, "locals.unset: xr.spec.unset is not set; write xr.spec.?unset if it may be missing")},
		"Pending":      {reason: "A pending local makes the expression pending.", source: "locals.pending.x", want: problem(Pending, "locals.pending: runs.cache is not there yet")},
		"PendingBelow": {reason: "A missing field of the outputs of a run is pending.", source: "locals.outputs.user", want: problem(Pending, "locals.outputs.user is not there yet")},
		"NotSetBelow":  {reason: "A missing field of an object of the input is not pending.", source: "locals.tree.other", want: problem(NotSet, "locals.tree.other is not set; write locals.tree.?other if it may be missing")},
		"Failed":       {reason: "The message of fail stays plain.", source: "locals.failed", want: []any{Problem{Path: "x", Kind: Invalid, Message: "locals.failed: no", Plain: true}}},
		"Work":         {reason: "The limit of one expression applies to a local.", source: "locals.huge.size()", want: problem(Invalid, "locals.huge: this takes too much work: ${lists.range(100000000)}")},
	}

	e, locals, errs := withLocals(t, values)
	if len(errs) > 0 {
		t.Fatal(errs)
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := data()
			xr, _ := d.XR.(map[string]any)
			xr["spec"] = map[string]any{"size": 5.0, "whole": 2.0, "zones": []any{"a", "b"}}
			d.Locals = locals.For(d)

			for range 2 {
				v, problems := evaluateIn(t, e, tc.source, d)

				got := value(v)
				if len(problems) > 0 {
					got = []any{problems[0]}
				}

				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("\n%s\nEvaluate(...): -want, +got:\n%s", tc.reason, diff)
				}
			}
		})
	}
}

func TestLocalsMistakes(t *testing.T) {
	values := map[string]any{
		"a": "${locals.b + 'x'}", "b": "${locals.c}", "c": map[string]any{"deep": []any{"${has(locals.a)}"}},
		"self":  "${locals.?self}",
		"typo":  "${locals.domian}",
		"each":  "${each.key}",
		"all":   "${locals}",
		"typed": "${locals.domain + 1}", "domain": "example.org",
		"field": "${locals.spec.sise}", "spec": "${xr.spec}",
		"late": "${locals.zone.size() + locals.zone}", "zone": "${xr.spec.key}",
	}

	want := []string{
		`locals.a: Invalid value: "${locals.b + 'x'}": a local cannot depend on itself: a → b → c → a`,
		`locals.self: Invalid value: "${locals.?self}": a local cannot depend on itself: self → self`,
		`locals.typo: Invalid value: "${locals.domian}": there is no local "domian" (did you mean "domain"?)`,
		`locals.each: Invalid value: "${each.key}": each is there only in a run with forEach, and in no local`,
		`locals.all: Invalid value: "${locals}": locals must be followed by a name`,
		`locals.typed: Invalid value: "${locals.domain + 1}": found no matching overload for '_+_' applied to '(string, int)'`,
		`locals.field: Invalid value: "${locals.spec.sise}": locals.spec has no field "sise" (did you mean "size"?)`,
		`locals.late: Invalid value: "${locals.zone.size() + locals.zone}": found no matching overload for '_+_' applied to '(int, string)'`,
	}

	_, _, errs := withLocals(t, values)
	for _, w := range want {
		found := false
		for _, err := range errs {
			found = found || strings.HasPrefix(err.Error(), w)
		}

		if !found {
			t.Errorf("want %s, got:\n%v", w, errs)
		}
	}

	if len(errs) != len(want) {
		t.Errorf("want %d mistakes, got %d: %v", len(want), len(errs), errs)
	}
}

// The references of a local are references of the expression that uses it.
func TestLocalsUses(t *testing.T) {
	e, _, errs := withLocals(t, map[string]any{
		"db": "${runs.database.outputs.endpoint}", "net": "${required.?network.hasValue()}", "both": "${locals.db + string(locals.net)}",
	})
	if len(errs) > 0 {
		t.Fatal(errs)
	}

	for source, want := range map[string]map[string]bool{
		"${locals.both}":                                 {"database": true},
		"${locals.db} ${runs.?cache.hasValue()}":         {"database": true, "cache": false},
		"${has(runs.database) ? locals.db : ''}":         {"database": false},
		"${runs.replica.size() > 0 ? locals.net : true}": {"replica": true},
	} {
		tmpl, errs := e.Compile(field.NewPath("x"), source)
		if len(errs) > 0 {
			t.Fatal(errs)
		}

		if diff := cmp.Diff(want, tmpl.Runs()); diff != "" {
			t.Errorf("%s: Runs(): -want, +got:\n%s", source, diff)
		}

		if strings.Contains(source, "net") || strings.Contains(source, "both") {
			if diff := cmp.Diff(map[string]bool{"network": false}, tmpl.Required()); diff != "" {
				t.Errorf("%s: Required(): -want, +got:\n%s", source, diff)
			}
		}
	}
}

// If several locals have a problem, each evaluation returns the same one.
func TestLocalsInOrder(t *testing.T) {
	values := map[string]any{
		"one": "${resources['one-' + xr.spec.unset].metadata.name}",
		"two": "${resources['two-' + xr.spec.key].metadata.name}",
	}

	for range 20 {
		e, locals, errs := withLocals(t, values)
		if len(errs) > 0 {
			t.Fatal(errs)
		}

		tmpl, errs := e.Compile(field.NewPath("vars"), "${locals.two + locals.one}")
		if len(errs) > 0 {
			t.Fatal(errs)
		}

		data := Data{XR: map[string]any{"spec": map[string]any{}}}
		data.Locals = locals.For(data)

		_, problems := tmpl.Resources(t.Context(), data)
		if len(problems) == 0 || !strings.Contains(problems[0].Message, "xr.spec.unset") {
			t.Fatalf("Resources(...): want the problem of the first local by name, got %v", problems)
		}
	}
}
