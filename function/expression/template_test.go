package expression

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func declarations() Declarations {
	return Declarations{
		Runs:     map[string]bool{"database": false, "cache": false, "replica": true},
		Required: map[string]bool{"network": false, "subnets": true, "later": false},
		Each:     true,
	}
}

func environment(t *testing.T) *Environment {
	t.Helper()

	return NewEnvironment(declarations())
}

func data() Data {
	xr := map[string]any{
		"apiVersion": "example.org/v1",
		"kind":       "App",
		"metadata":   map[string]any{"name": "app", "labels": map[string]any{"example.org/team": "blue"}},
		"spec": map[string]any{
			"size":   5.0,
			"ratio":  0.5,
			"large":  9007199254740993.0 * 2,
			"debug":  true,
			"zones":  []any{"a", "b"},
			"users":  []any{map[string]any{"name": "eve"}, map[string]any{"name": "{{ lookup('pipe', 'id') }}"}},
			"nested": map[string]any{"empty": map[string]any{}, "null": nil},
			"key":    "size",
		},
		"status": map[string]any{"address": "10.0.0.1"},
	}

	run := map[string]any{
		"ready":   true,
		"outputs": map[string]any{"endpoint": "db:5432", "port": 5432.0, "nodes": []any{"n1"}},
	}

	return Data{
		XR: xr,
		Runs: map[string]any{
			"database": run,
			"replica":  map[string]any{"a": run, "b": map[string]any{"ready": false}},
		},
		Required: map[string]any{
			"network": map[string]any{"metadata": map[string]any{"name": "net"}, "spec": map[string]any{}},
			"subnets": []any{map[string]any{"metadata": map[string]any{"name": "s1"}}, map[string]any{"metadata": map[string]any{"name": "s2"}}},
		},
		Each:        map[string]any{"key": "a", "value": map[string]any{"zone": "z1"}},
		Environment: map[string]any{"region": "eu"},
		Context:     map[string]any{"example.org/x": map[string]any{"y": 1.0}},
	}
}

func TestEvaluate(t *testing.T) {
	type want struct {
		v        any
		ok       bool
		problems []Problem
	}

	value := func(v any) want { return want{v: v, ok: true} }
	problem := func(k Kind, message string) want {
		return want{problems: []Problem{{Path: "vars.x", Kind: k, Message: message}}}
	}

	cases := map[string]struct {
		reason string
		value  any
		want   want
	}{
		"Literal":           {reason: "A literal is itself.", value: "text", want: value("text")},
		"LiteralNumber":     {reason: "Numbers are doubles.", value: int64(5), want: value(5.0)},
		"LiteralTree":       {reason: "Any YAML can be a literal.", value: map[string]any{"a": []any{true, nil, "x"}}, want: value(map[string]any{"a": []any{true, nil, "x"}})},
		"EmptyList":         {reason: "An empty list is a value.", value: []any{}, want: value([]any{})},
		"EmptyObject":       {reason: "An empty object is a value.", value: map[string]any{}, want: value(map[string]any{})},
		"Escaped":           {reason: "$${ is a literal ${.", value: "$${HOME}", want: value("${HOME}")},
		"EscapedBeside":     {reason: "$${ is a literal ${ beside an expression, too.", value: "$${a}${xr.metadata.name}", want: value("${a}app")},
		"Dollar":            {reason: "A $ alone is a $.", value: "$5 $x $$", want: value("$5 $x $$")},
		"RangeAt":           {reason: "A macro iterates over the list at a computed index.", value: "${xr.spec.users[xr.spec.users.size() - 2].map(i, i)}", want: value([]any{"name"})},
		"Int":               {reason: "A whole-string expression keeps its type.", value: "${xr.spec.size}", want: value(5.0)},
		"Bool":              {reason: "A whole-string expression keeps its type.", value: "${xr.spec.debug}", want: value(true)},
		"List":              {reason: "A whole-string expression keeps its type.", value: "${xr.spec.zones}", want: value([]any{"a", "b"})},
		"Object":            {reason: "A whole-string expression keeps its type.", value: "${runs.database.outputs}", want: value(map[string]any{"endpoint": "db:5432", "port": 5432.0, "nodes": []any{"n1"}})},
		"Null":              {reason: "Null is a value.", value: "${null}", want: value(nil)},
		"IntIsInt":          {reason: "A number without a fraction is an integer.", value: "${xr.spec.size / 2}", want: value(2.0)},
		"DoubleIsDouble":    {reason: "A number with a fraction is a double.", value: "${xr.spec.ratio * 3.0}", want: value(1.5)},
		"Interpolated":      {reason: "The value of an expression in a longer string is a part of the string.", value: "db-${xr.metadata.name}-${xr.spec.size}-${xr.spec.ratio}-${xr.spec.debug}", want: value("db-app-5-0.5-true")},
		"TextOfNumbers":     {reason: "Numbers in a string have no exponent and no superfluous digits.", value: "${xr.spec.size * 1000000000000} ${xr.spec.ratio / 3.0} ${1e21} ${-0.5}", want: value("5000000000000 0.16666666666666666 1000000000000000000000 -0.5")},
		"Unicode":           {reason: "Strings may have characters of any script.", value: "é€${'ü' + xr.metadata.name + '\\u00e9'}", want: value("é€üappé")},
		"Braces":            {reason: "An expression may contain braces.", value: `${{"a": {"b": 1}}.a.b}`, want: value(1.0)},
		"BraceInString":     {reason: "Braces in string literals do not end the expression.", value: `${"}" + '}' + r"\}" + """}"}""" }`, want: value(`}}\}}"}`)},
		"EscapedQuote":      {reason: "Escaped quotes do not end a string.", value: `${"\"}"}`, want: value(`"}`)},
		"Comment":           {reason: "Braces in comments do not end the expression.", value: "${1 + // }\n1}", want: value(2.0)},
		"Computed":          {reason: "Lists may be computed.", value: `${xr.spec.users.map(u, {"name": u.name, "uid": 1000})}`, want: value([]any{map[string]any{"name": "eve", "uid": 1000.0}, map[string]any{"name": "{{ lookup('pipe', 'id') }}", "uid": 1000.0}})},
		"Label":             {reason: "A key that is not an identifier is selected in brackets.", value: `${xr.metadata.labels["example.org/team"]}`, want: value("blue")},
		"Libraries":         {reason: "The libraries of Kubernetes are available.", value: `${[cidr("10.0.0.0/8").containsIP("10.1.1.1"), "a-b".split("-"), quantity("1Gi").isGreaterThan(quantity("1Mi")), semver("1.2.3").major(), url("https://a:1/").getPort(), "a1".find("[0-9]"), [3,1].sort()]}`, want: value([]any{true, []any{"a", "b"}, true, 1.0, "1", "1", []any{1.0, 3.0}})},
		"Duration":          {reason: "Durations become strings.", value: `${duration("90s")}`, want: value("90s")},
		"Bytes":             {reason: "Bytes become base64.", value: `${b"abc"}`, want: value("YWJj")},
		"Optional":          {reason: "An optional with a value becomes the value.", value: "${xr.spec.?size}", want: value(5.0)},
		"None":              {reason: "optional.none() omits the field.", value: "${xr.spec.?unset}", want: want{}},
		"NoneInside":        {reason: "optional.none() is left out of objects and lists.", value: map[string]any{"a": "${xr.spec.?unset}", "b": []any{"${optional.none()}", "x"}}, want: value(map[string]any{"b": []any{"x"}})},
		"NoneInExpression":  {reason: "optional.none() is left out of computed lists.", value: "${[?xr.spec.?unset, 1]}", want: value([]any{1.0})},
		"NoneInString":      {reason: "optional.none() cannot be a part of a string.", value: "a-${xr.spec.?unset}", want: problem(Invalid, "there is no value to put into the string; use orValue: ${xr.spec.?unset}")},
		"OrValue":           {reason: "An optional may have a default.", value: "${xr.spec.?unset.orValue(3)}", want: value(3.0)},
		"RunPending":        {reason: "A run that is not observed is pending.", value: "${runs.cache.outputs.x}", want: problem(Pending, "runs.cache is not there yet")},
		"OutputPending":     {reason: "A missing output is pending.", value: "${runs.database.outputs.user}", want: problem(Pending, "runs.database.outputs.user is not there yet")},
		"IndexPending":      {reason: "A missing item of an output is pending.", value: "${runs.database.outputs.nodes[1]}", want: problem(Pending, "runs.database.outputs.nodes[1] is not there yet")},
		"IndexElsewhere":    {reason: "A missing item of a computed list has no place in the data.", value: "${xr.spec.users.filter(u, u.name == 'bob')[0].name}", want: problem(Invalid, "index out of bounds: 0, here: xr.spec.users.filter(u, u.name == 'bob')[0]▸.name")},
		"StatusPending":     {reason: "A missing field of the status is pending.", value: "${xr.status.port}", want: problem(Pending, "xr.status.port is not there yet")},
		"NotSet":            {reason: "The author of an XR can set a missing field of the spec.", value: "${xr.spec.unset}", want: problem(NotSet, "xr.spec.unset is not set; write xr.spec.?unset if it may be missing")},
		"NotSetParent":      {reason: "The message names what is missing.", value: "${xr.spec.nested.gone.deeper}", want: problem(NotSet, "xr.spec.nested.gone is not set; write xr.spec.nested.?gone if it may be missing")},
		"NotSetInString":    {reason: "A missing field in a longer string has the same problem.", value: "a-${xr.spec.unset}", want: problem(NotSet, "xr.spec.unset is not set; write xr.spec.?unset if it may be missing")},
		"NotSetKey":         {reason: "The message has a key that is not an identifier in brackets.", value: `${xr.metadata.labels["a/b"]}`, want: problem(NotSet, `xr.metadata.labels["a/b"] is not set; write xr.metadata.labels[?"a/b"] if it may be missing`)},
		"NotSetAmongOthers": {reason: "Of several paths, the message names the missing one.", value: "${has(xr.spec.a) ? xr.spec.a : xr.spec.b}", want: problem(NotSet, "xr.spec.b is not set; write xr.spec.?b if it may be missing")},
		"TooLarge":          {reason: "An integer beyond 2^53-1 is an error with its path.", value: "${xr.spec.large + 1}", want: problem(Invalid, "xr.spec.large is an integer beyond 2^53-1, which is not exact here; make it a string, here: xr.spec▸.large + 1")},
		"TooLargeInside":    {reason: "An object with an integer beyond 2^53-1 is an error.", value: "${xr.spec}", want: problem(Invalid, "xr.spec.large is an integer beyond 2^53-1, which is not exact here; make it a string: ${xr.spec}")},
		"TooLargeResult":    {reason: "A computed integer beyond 2^53-1 is an error.", value: "${9007199254740991 + 2}", want: problem(Invalid, "9007199254740993 is beyond 2^53-1, which is not exact; make it a string: ${9007199254740991 + 2}")},
		"NoOverload":        {reason: "Other errors are invalid values.", value: "${xr.spec.size + xr.spec.key}", want: problem(Invalid, "no such overload, here: xr.spec.size ▸+ xr.spec.key")},
		"Opaque":            {reason: "Not every value has a form in JSON.", value: `${quantity("1Gi")}`, want: problem(Invalid, "a value of type kubernetes.Quantity cannot be used as it is; make it a string or a number: ${quantity(\"1Gi\")}")},
		"KeyNotString":      {reason: "Keys in JSON are strings.", value: "${{1: 2}}", want: problem(Invalid, "the keys of a map must be strings, not 1: ${{1: 2}}")},
		"KeyOfNoMap":        {reason: "The key of a map must be a string, a number or a boolean.", value: "${{1: 2, dyn(b''): 3}}", want: problem(Invalid, "the keys of a map must be strings, numbers or booleans, here: {1: 2, dyn▸(b''): 3}")},
		"ListInString":      {reason: "A list cannot be a part of a string.", value: "a${xr.spec.zones}", want: problem(Invalid, "a list, a map or null cannot be put into a string: ${xr.spec.zones}")},
		"CostLimit":         {reason: "The work of an expression is limited.", value: "${lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, a + b + c >= 0)))}", want: problem(Invalid, "this takes too much work: ${lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, a + b + c >= 0)))}")},
		"EachKey":           {reason: "A run of forEach has a key.", value: "db-${each.key}", want: value("db-a")},
		"EachValue":         {reason: "A run of forEach has a value.", value: "${each.value.zone}", want: value("z1")},
		"EachNotSet":        {reason: "The author of an XR can set a missing field of an item.", value: "${each.value.size}", want: problem(NotSet, "each.value.size is not set; write each.value.?size if it may be missing")},
		"Required":          {reason: "A resource that is selected by name is an object.", value: "${required.network.metadata.name}", want: value("net")},
		"RequiredList":      {reason: "Resources that are selected by labels are a list.", value: "${required.subnets.map(s, s.metadata.name)}", want: value([]any{"s1", "s2"})},
		"RequiredPending":   {reason: "A missing required resource is pending.", value: "${required.later.spec.x}", want: problem(Pending, "required.later is not there yet")},
		"RequiredField":     {reason: "A missing field of a required resource is pending.", value: "${required.network.spec.cidr}", want: problem(Pending, "required.network.spec.cidr is not there yet")},
		"Environment":       {reason: "Expressions can use the environment.", value: "${environment.region}", want: value("eu")},
		"NoEnvironment":     {reason: "A missing field of the environment is pending, since the author of an XR cannot set it.", value: "${environment.zone}", want: problem(Pending, "environment.zone is not there yet")},
		"Context":           {reason: "Expressions can use the context.", value: `${context["example.org/x"].y}`, want: value(1.0)},
		"NoContext":         {reason: "A missing key of the context is pending, since the author of an XR cannot set it.", value: `${context["example.org/y"]}`, want: problem(Pending, `context["example.org/y"] is not there yet`)},
		"RunsOfForEach":     {reason: "A run with forEach is a map by key.", value: `${runs.replica["a"].outputs.endpoint}`, want: value("db:5432")},
		"RunsOfForEachAll":  {reason: "A macro iterates over the keys of a run with forEach.", value: `${runs.replica.map(k, k).sort()}`, want: value([]any{"a", "b"})},
		"RunsOfForEachTwo":  {reason: "A macro iterates over the keys and members of a run with forEach.", value: `${runs.replica.transformMap(k, r, r.ready)}`, want: value(map[string]any{"a": true, "b": false})},
		"RunOfForEach":      {reason: "A member that is not observed is pending.", value: `${runs.replica["c"].outputs.endpoint}`, want: problem(Pending, `runs.replica.c is not there yet`)},
		"JinjaIsText":       {reason: "Jinja2 in a value is not evaluated.", value: "${xr.spec.users[1].name}", want: value("{{ lookup('pipe', 'id') }}")},
		"ExpressionInValue": {reason: "An expression in a value is not evaluated.", value: `${"$" + "{xr.spec.size}"}`, want: value("${xr.spec.size}")},
	}

	e := environment(t)

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tmpl, errs := e.Compile(field.NewPath("vars", "x"), tc.value)
			if len(errs) > 0 {
				t.Fatalf("\n%s\nCompile(...): %v", tc.reason, errs)
			}

			v, ok, problems := tmpl.Evaluate(context.Background(), data())

			if diff := cmp.Diff(tc.want, want{v: v, ok: ok, problems: problems}, cmp.AllowUnexported(want{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("\n%s\nEvaluate(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// mistakesOf returns the mistakes in a value, each with its path on a line.
func mistakesOf(e *Environment, value any) string {
	_, errs := e.Compile(field.NewPath("x"), value)

	lines := make([]string, len(errs))
	for i, err := range errs {
		lines[i] = err.Field + ": " + err.Detail
	}

	return strings.Join(lines, "\n")
}

func TestCompile(t *testing.T) {
	cases := map[string]struct {
		reason string
		value  any
		want   string
	}{
		"Undeclared": {reason: "The error shows its position in the expression.", value: "${xr.spec.size + foo}", want: `x: undeclared reference to 'foo', here: xr.spec.size + ▸foo`},
		"Many": {reason: "All mistakes are reported with their paths.", value: map[string]any{"a": "${foo}", "b": []any{"x", "${bar} ${baz}"}}, want: `x.a: undeclared reference to 'foo', here: ▸foo` + "\n" +
			`x.b[1]: undeclared reference to 'bar', here: ▸bar` + "\n" +
			`x.b[1]: undeclared reference to 'baz', here: ▸baz`},
		"Lines":                {reason: "The message stays one line.", value: "${xr.spec.a\n  + foo\n  + 1}", want: "x: undeclared reference to 'foo', here: xr.spec.a   + ▸foo   + 1"},
		"Syntax":               {reason: "A syntax error shows its position.", value: "${1 +}", want: `x: syntax error: it ends too early, here: 1 +▸`},
		"NoSuchRun":            {reason: "The message names a misspelt run.", value: "${runs.databse.outputs.x}", want: `x: there is no run "databse" (did you mean "database"?), here: runs▸.databse.outputs.x`},
		"NoSuchRunField":       {reason: "The fields of a run are checked.", value: "${runs.database.output.x}", want: `x: runs.database has no field "output" (did you mean "outputs"?), here: runs.database▸.output.x`},
		"NoSuchXRField":        {reason: "The top-level fields of an XR are checked.", value: "${xr.spce.x}", want: `x: xr has no field "spce" (did you mean "spec"?), here: xr▸.spce.x`},
		"AllRuns":              {reason: "runs cannot be used as a whole, not even with dyn.", value: "${dyn(runs).x}", want: `x: runs must be followed by a name, as in runs.database`},
		"Shadowed":             {reason: "A variable that hides a root would hide a dependency.", value: "${[1].map(runs, runs)}", want: `x: a variable of the expression must not be called runs`},
		"NoSuchRequired":       {reason: "The message names a misspelt required resource.", value: "${required.netwrok.spec.x}", want: `x: there is no required resource "netwrok" (did you mean "network"?), here: required▸.netwrok.spec.x`},
		"NoSuchEachField":      {reason: "The fields of each are checked.", value: "${each.name}", want: `x: each has no field "name", here: each▸.name`},
		"NoSuchFieldOfForEach": {reason: "The fields of members of a run with forEach are checked.", value: `${runs.replica["a"].output}`, want: `x: undefined field 'output', here: runs.replica["a"]▸.output`},
		"AllRequired":          {reason: "required cannot be used as a whole.", value: "${dyn(required).x}", want: `x: required must be followed by a name, as in required.network`},
		"NoEnd":                {reason: "An expression needs an end.", value: "a ${xr.spec", want: `x: the expression "${xr.spec" has no end: a } or a closing quote is missing`},
		"NoEndOfString":        {reason: "A string in an expression needs an end.", value: `${"}`, want: `x: the expression "${\"}" has no end: a } or a closing quote is missing`},
		"Empty":                {reason: "An empty expression is a syntax error.", value: "${}", want: `x: syntax error: it ends too early, here: ▸`},
		"NotQuoted":            {reason: "YAML splits an expression without quotes at a colon.", value: []any{map[string]any{`${xr.spec.debug ? "a" `: `"b"}`}}, want: `x[0]: YAML has split an expression at its colon: an expression with a colon needs quotes around it, as in '${…}'`},
		"ComputedName":         {reason: "Names of fields cannot contain expressions.", value: map[string]any{"${xr.spec.key}": 1}, want: `x: the names of fields are literal: they cannot hold an expression`},
		"Ternary":              {reason: "An incomplete conditional is a syntax error at the end.", value: "${xr.spec.a ? 1}", want: "x: syntax error: it ends too early, here: xr.spec.a ? 1▸"},
		"Bracket":              {reason: "A missing parenthesis is a syntax error at the end.", value: "${(1}", want: "x: syntax error: it ends too early, here: (1▸"},
		"Two":                  {reason: "The position is that of the superfluous name.", value: "${xr.spec.a b}", want: "x: syntax error: extraneous input 'b', here: xr.spec.a ▸b"},
		"Filter":               {reason: "The message says how to write the Jinja2 idiom in CEL.", value: "${xr.spec.a | default('x')}", want: "x: syntax error: token recognition error at: '| '; there are no filters: write functions, and xr.spec.?field.orValue(…) for a default, here: xr.spec.a ▸| default('x')"},
		"And":                  {reason: "The message says how to write the Jinja2 idiom in CEL.", value: "${xr.spec.a and xr.spec.b}", want: "x: syntax error: mismatched input 'and'; write &&, here: xr.spec.a ▸and xr.spec.b"},
		"Defined":              {reason: "The message says how to write the Jinja2 idiom in CEL.", value: "${xr.spec.a is defined}", want: "x: syntax error: mismatched input 'is'; write has(xr.spec.field) for is defined, here: xr.spec.a ▸is defined"},
		"If":                   {reason: "The message says how to write the Jinja2 idiom in CEL.", value: "${1 if xr.spec.a else 2}", want: "x: syntax error: mismatched input 'if'; write condition ? value : other, here: 1 ▸if xr.spec.a else 2"},
		"None":                 {reason: "The message says how to write the Jinja2 idiom in CEL.", value: "${xr.spec.a == None}", want: "x: undeclared reference to 'None'; write null, here: xr.spec.a == ▸None"},
		"True":                 {reason: "The message says how to write the Jinja2 idiom in CEL.", value: "${True}", want: "x: undeclared reference to 'True'; write true, here: ▸True"},
		"Len":                  {reason: "The message says how to write the Jinja2 idiom in CEL.", value: "${len(xr.spec.a)}", want: "x: undeclared reference to 'len'; write size(…), here: len▸(xr.spec.a)"},
	}

	e := environment(t)

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, mistakesOf(e, tc.value)); diff != "" {
				t.Errorf("\n%s\nCompile(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
