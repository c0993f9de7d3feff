package expression

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

const schemaApp = `
type: object
properties:
  spec:
    type: object
    required: [size]
    properties:
      size: {type: integer}
      ratio: {type: number}
      ratios: {type: array, items: {type: number}}
      weights: {type: object, additionalProperties: {type: number}}
      name: {type: string}
      created: {type: string, format: date-time}
      debug: {type: boolean}
      port: {x-kubernetes-int-or-string: true}
      maybe: {type: string, nullable: true}
      my-field: {type: string}
      users: {type: array, items: {type: object, properties: {name: {type: string}, share: {type: number}}}}
      labels: {type: object, additionalProperties: {type: string}}
      database: {type: object, properties: {engine: {type: string}, size: {type: integer}}}
      open: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {share: {type: number}}}
      empty: {type: object}
  status:
    type: object
    properties:
      address: {type: string}
`

func schema(t *testing.T) map[string]any {
	t.Helper()

	s := map[string]any{}
	needs.OK(t, yaml.Unmarshal([]byte(schemaApp), &s))

	return s
}

func withSchema(t *testing.T) *Environment {
	t.Helper()

	return NewEnvironment(Declarations{
		Runs: map[string]bool{"database": false}, Schema: schema(t), Each: true, Item: objectOf(map[string]any{"share": typed(Number)}),
	})
}

func TestCompileWithSchema(t *testing.T) {
	cases := map[string]struct {
		reason string
		source string
		// want a mistake; none without one.
		want string
	}{
		"Field":               {reason: "A field of the schema is there.", source: "xr.spec.size + 1"},
		"Misspelt":            {reason: "Others are not.", source: "xr.spec.sise", want: `xr.spec has no field "sise" (did you mean "size"?), here: xr.spec▸.sise`},
		"MisspeltDeep":        {reason: "At any depth.", source: "xr.spec.database.engin", want: `xr.spec.database has no field "engin" (did you mean "engine"?), here: xr.spec.database▸.engin`},
		"MisspeltItem":        {reason: "In lists, too.", source: "xr.spec.users.map(u, u.nmae)", want: `undefined field 'nmae', here: xr.spec.users.map(u, u▸.nmae)`},
		"MisspeltOptional":    {reason: "An optional field has to be one.", source: "xr.spec.?sise.orValue(1)", want: `xr.spec has no field "sise" (did you mean "size"?), here: xr.spec▸.?sise.orValue(1)`},
		"MisspeltHas":         {reason: "A field that is asked for has to be one.", source: "has(xr.spec.sise)", want: `xr.spec has no field "sise" (did you mean "size"?), here: has▸(xr.spec.sise)`},
		"MisspeltIndex":       {reason: "A name in brackets is a name.", source: `xr.spec["sise"] + 1`, want: `xr.spec has no field "sise" (did you mean "size"?), here: xr.spec▸["sise"] + 1`},
		"MisspeltOptIndex":    {reason: "Also an optional one.", source: `xr.spec[?"sise"].orValue(1)`, want: `xr.spec has no field "sise" (did you mean "size"?), here: xr.spec▸[?"sise"].orValue(1)`},
		"MisspeltBelowIndex":  {reason: "And what is below it.", source: `xr.spec["database"]["engin"]`, want: `undefined field 'engin', here: xr.spec["database"]▸["engin"]`},
		"Index":               {reason: "A field of the schema is there in brackets.", source: `xr.spec["size"] + xr.spec[?"database"].?size.orValue(1)`},
		"IndexAnywhere":       {reason: "So is what the schema does not know, and whatever is computed.", source: `xr.spec.labels["a"] + xr.spec["my-field"] + xr.spec.open["x"]["y"] + xr.spec[xr.spec.name] + {"a": "b"}["a"] + [{"c": "d"}].map(m, m["c"])[0]`},
		"MisspeltMetadata":    {reason: "Metadata is known.", source: "xr.metadata.nam", want: `xr.metadata has no field "nam" (did you mean "name"?), here: xr.metadata▸.nam`},
		"MisspeltStatus":      {reason: "So is the status.", source: "xr.status.adress", want: `xr.status has no field "adress" (did you mean "address"?), here: xr.status▸.adress`},
		"Labels":              {reason: "A map has any key.", source: "xr.spec.labels.team + xr.metadata.labels['x']"},
		"Crossplane":          {reason: "What Crossplane adds is there.", source: "xr.spec.crossplane.compositionRef.name + xr.status.conditions[0].type"},
		"Open":                {reason: "What preserves unknown fields has any field.", source: "xr.spec.open.x.y"},
		"Empty":               {reason: "An object of which nothing is known may hold anything.", source: "xr.spec.empty.x"},
		"IntOrString":         {reason: "What may be an integer or a string is looked at when it is there.", source: "string(xr.spec.port) + 'x'"},
		"Null":                {reason: "What may be null can be compared to it.", source: "xr.spec.maybe == null"},
		"StringFormat":        {reason: "A string is a string whatever its format.", source: "xr.spec.created + 'x'"},
		"WrongType":           {reason: "What cannot work is a mistake.", source: "xr.spec.size + xr.spec.name", want: `found no matching overload for '_+_' applied to '(int, string)', here: xr.spec.size ▸+ xr.spec.name`},
		"IntAndDouble":        {reason: "Integers and doubles do not mix.", source: "xr.spec.ratio * 2", want: `found no matching overload for '_*_' applied to '(double, int)', here: xr.spec.ratio ▸* 2`},
		"WrongFunction":       {reason: "A function needs what it is for.", source: "xr.spec.size.startsWith('x')", want: `found no matching overload for 'startsWith' applied to 'int.(string)', here: xr.spec.size.startsWith▸('x')`},
		"Ternary":             {reason: "Values of different types may stand for each other: without the schema they could.", source: "has(xr.spec.size) ? xr.spec.size : 'none'"},
		"OrValue":             {reason: "So may a default.", source: "xr.spec.?size.orValue('none')"},
		"Equal":               {reason: "So may what is compared.", source: "xr.spec.size == 'none'"},
		"ObjectIsMap":         {reason: "An object is a map all the same.", source: "xr.spec.map(k, k) + ['size' in xr.spec.database ? 'a' : xr.spec['my-field']]"},
		"ObjectIsMapTypo":     {reason: "And has the schema's fields all the same.", source: "xr.spec.map(k, xr.spec.sise)", want: `xr.spec has no field "sise" (did you mean "size"?), here: xr.spec.map(k, xr.spec▸.sise)`},
		"OtherMistake":        {reason: "Mistakes that have nothing to do with the schema are found.", source: "runs.databse.ready", want: `there is no run "databse" (did you mean "database"?), here: runs▸.databse.ready`},
		"MistakeAndTolerable": {reason: "Only mistakes are reported.", source: "[xr.spec['my-field'], xr.spec.sise]", want: `xr.spec has no field "sise" (did you mean "size"?), here: [xr.spec['my-field'], xr.spec▸.sise]`},
	}

	e := withSchema(t)

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := strings.TrimPrefix(mistakesOf(e, "${"+tc.source+"}"), "x: ")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nCompile(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestEvaluateWithSchema(t *testing.T) {
	data := Data{XR: map[string]any{
		"metadata": map[string]any{"generation": 2.0},
		"spec": map[string]any{
			"size": 3.0, "ratio": 2.0, "ratios": []any{1.0, 2.5}, "weights": map[string]any{"a": 1.0}, "port": 80.0, "my-field": "x",
			"users": []any{map[string]any{"name": "eve", "share": 1.0}}, "open": map[string]any{"share": 4.0, "n": 4.0},
			"database": map[string]any{"engine": "pg"}, "maybe": nil,
		},
	}, Each: map[string]any{"value": map[string]any{"share": 1.0}}}

	cases := map[string]struct {
		reason string
		source string
		want   any
	}{
		"Integer":     {reason: "An integer is an integer.", source: "xr.spec.size / 2", want: 1.0},
		"Number":      {reason: "A number is a double, whatever its value.", source: "xr.spec.ratio / 4.0", want: 0.5},
		"Items":       {reason: "So are those in a list.", source: "xr.spec.ratios.map(r, r / 2.0)", want: []any{0.5, 1.25}},
		"Values":      {reason: "So are those in a map.", source: "xr.spec.weights.a / 2.0", want: 0.5},
		"Deep":        {reason: "So are those below.", source: "xr.spec.users[0].share / 2.0", want: 0.5},
		"Known":       {reason: "What is known beside unknown fields is known.", source: "xr.spec.open.share / 8.0", want: 0.5},
		"Unknown":     {reason: "Unknown fields are integers where they are integral.", source: "xr.spec.open.n / 3", want: 1.0},
		"IntOrString": {reason: "So is what may be a string.", source: "string(xr.spec.port)", want: "80"},
		"Metadata":    {reason: "Metadata has its types.", source: "xr.metadata.generation + 1", want: 3.0},
		"AsMap":       {reason: "An object is a map all the same.", source: "xr.spec.database.map(k, k + xr.spec['my-field'])", want: []any{"enginex"}},
		"Whole":       {reason: "A whole object is as it was.", source: "xr.spec.users", want: []any{map[string]any{"name": "eve", "share": 1.0}}},
		"Null":        {reason: "Null is null.", source: "xr.spec.maybe == null ? 'a' : 'b'", want: "a"},
		"Unset":       {reason: "Fields of the schema may be unset.", source: "xr.spec.?name.orValue('none')", want: "none"},
		"Item":        {reason: "What is known of an item is known where it is used.", source: "each.value.share / 2.0", want: 0.5},
		"Mixed":       {reason: "Values of different types stand for each other.", source: "has(xr.spec.name) ? xr.spec.name : 5", want: 5.0},
	}

	e := withSchema(t)

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, problems := evaluateIn(t, e, tc.source, data)
			if diff := cmp.Diff(tc.want, got); diff != "" || len(problems) > 0 {
				t.Errorf("\n%s\nEvaluate(...): %v, -want, +got:\n%s", tc.reason, problems, diff)
			}
		})
	}
}
