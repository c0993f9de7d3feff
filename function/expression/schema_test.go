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
		// want is the mistake; empty for none.
		want string
	}{
		"Field":               {reason: "A field in the schema is valid.", source: "xr.spec.size + 1"},
		"Misspelt":            {reason: "A field that is not in the schema is a mistake.", source: "xr.spec.sise", want: `xr.spec has no field "sise" (did you mean "size"?), here: xr.spec▸.sise`},
		"MisspeltDeep":        {reason: "A nested field that is not in the schema is a mistake.", source: "xr.spec.database.engin", want: `xr.spec.database has no field "engin" (did you mean "engine"?), here: xr.spec.database▸.engin`},
		"MisspeltItem":        {reason: "An unknown field of an item is a mistake.", source: "xr.spec.users.map(u, u.nmae)", want: `undefined field 'nmae', here: xr.spec.users.map(u, u▸.nmae)`},
		"MisspeltOptional":    {reason: "An optional field must be in the schema.", source: "xr.spec.?sise.orValue(1)", want: `xr.spec has no field "sise" (did you mean "size"?), here: xr.spec▸.?sise.orValue(1)`},
		"MisspeltHas":         {reason: "A field in has must be in the schema.", source: "has(xr.spec.sise)", want: `xr.spec has no field "sise" (did you mean "size"?), here: has▸(xr.spec.sise)`},
		"MisspeltIndex":       {reason: "A literal name in brackets must be in the schema.", source: `xr.spec["sise"] + 1`, want: `xr.spec has no field "sise" (did you mean "size"?), here: xr.spec▸["sise"] + 1`},
		"MisspeltOptIndex":    {reason: "An optional name in brackets must be in the schema.", source: `xr.spec[?"sise"].orValue(1)`, want: `xr.spec has no field "sise" (did you mean "size"?), here: xr.spec▸[?"sise"].orValue(1)`},
		"MisspeltBelowIndex":  {reason: "A field below a name in brackets must be in the schema.", source: `xr.spec["database"]["engin"]`, want: `undefined field 'engin', here: xr.spec["database"]▸["engin"]`},
		"Index":               {reason: "A field in the schema is valid in brackets.", source: `xr.spec["size"] + xr.spec[?"database"].?size.orValue(1)`},
		"IndexAnywhere":       {reason: "Names in brackets are valid for maps, for unknown fields and when they are computed.", source: `xr.spec.labels["a"] + xr.spec["my-field"] + xr.spec.open["x"]["y"] + xr.spec[xr.spec.name] + {"a": "b"}["a"] + [{"c": "d"}].map(m, m["c"])[0]`},
		"MisspeltMetadata":    {reason: "The fields of metadata are checked.", source: "xr.metadata.nam", want: `xr.metadata has no field "nam" (did you mean "name"?), here: xr.metadata▸.nam`},
		"MisspeltStatus":      {reason: "The fields of the status are checked.", source: "xr.status.adress", want: `xr.status has no field "adress" (did you mean "address"?), here: xr.status▸.adress`},
		"Labels":              {reason: "Any key of a map is valid.", source: "xr.spec.labels.team + xr.metadata.labels['x']"},
		"Crossplane":          {reason: "The fields that Crossplane adds are valid.", source: "xr.spec.crossplane.compositionRef.name + xr.status.conditions[0].type"},
		"Open":                {reason: "Any field is valid with x-kubernetes-preserve-unknown-fields.", source: "xr.spec.open.x.y"},
		"Empty":               {reason: "Any field of an object without properties is valid.", source: "xr.spec.empty.x"},
		"IntOrString":         {reason: "The type of an integer or string is checked during evaluation.", source: "string(xr.spec.port) + 'x'"},
		"Null":                {reason: "A nullable field can be compared to null.", source: "xr.spec.maybe == null"},
		"StringFormat":        {reason: "A string with a format is a string.", source: "xr.spec.created + 'x'"},
		"WrongType":           {reason: "An operator with operands of wrong types is a mistake.", source: "xr.spec.size + xr.spec.name", want: `found no matching overload for '_+_' applied to '(int, string)', here: xr.spec.size ▸+ xr.spec.name`},
		"IntAndDouble":        {reason: "Integers and doubles do not mix.", source: "xr.spec.ratio * 2", want: `found no matching overload for '_*_' applied to '(double, int)', here: xr.spec.ratio ▸* 2`},
		"WrongFunction":       {reason: "A function with an argument of a wrong type is a mistake.", source: "xr.spec.size.startsWith('x')", want: `found no matching overload for 'startsWith' applied to 'int.(string)', here: xr.spec.size.startsWith▸('x')`},
		"Ternary":             {reason: "Alternatives may have different types, as without the schema.", source: "has(xr.spec.size) ? xr.spec.size : 'none'"},
		"OrValue":             {reason: "A default may have another type.", source: "xr.spec.?size.orValue('none')"},
		"Equal":               {reason: "Values of different types may be compared.", source: "xr.spec.size == 'none'"},
		"ObjectIsMap":         {reason: "An object with a schema can be used as a map.", source: "xr.spec.map(k, k) + ['size' in xr.spec.database ? 'a' : xr.spec['my-field']]"},
		"ObjectIsMapTypo":     {reason: "An expression with an object as a map has its fields checked.", source: "xr.spec.map(k, xr.spec.sise)", want: `xr.spec has no field "sise" (did you mean "size"?), here: xr.spec.map(k, xr.spec▸.sise)`},
		"OtherMistake":        {reason: "A mistake outside of the schema is found.", source: "runs.databse.ready", want: `there is no run "databse" (did you mean "database"?), here: runs▸.databse.ready`},
		"MistakeAndTolerable": {reason: "A mistake is reported without errors that are no mistakes.", source: "[xr.spec['my-field'], xr.spec.sise]", want: `xr.spec has no field "sise" (did you mean "size"?), here: [xr.spec['my-field'], xr.spec▸.sise]`},
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
		"Items":       {reason: "A number in a list is a double.", source: "xr.spec.ratios.map(r, r / 2.0)", want: []any{0.5, 1.25}},
		"Values":      {reason: "A number in a map is a double.", source: "xr.spec.weights.a / 2.0", want: 0.5},
		"Deep":        {reason: "A number in an item of a list is a double.", source: "xr.spec.users[0].share / 2.0", want: 0.5},
		"Known":       {reason: "A number in the schema is a double beside unknown fields.", source: "xr.spec.open.share / 8.0", want: 0.5},
		"Unknown":     {reason: "An unknown field without a fraction is an integer.", source: "xr.spec.open.n / 3", want: 1.0},
		"IntOrString": {reason: "An integer or string without a fraction is an integer.", source: "string(xr.spec.port)", want: "80"},
		"Metadata":    {reason: "The fields of metadata have their types.", source: "xr.metadata.generation + 1", want: 3.0},
		"AsMap":       {reason: "An object with a schema can be used as a map.", source: "xr.spec.database.map(k, k + xr.spec['my-field'])", want: []any{"enginex"}},
		"Whole":       {reason: "A list of objects is unchanged.", source: "xr.spec.users", want: []any{map[string]any{"name": "eve", "share": 1.0}}},
		"Null":        {reason: "Null is null.", source: "xr.spec.maybe == null ? 'a' : 'b'", want: "a"},
		"Unset":       {reason: "Fields of the schema may be unset.", source: "xr.spec.?name.orValue('none')", want: "none"},
		"Item":        {reason: "The schema of an item applies to each.value.", source: "each.value.share / 2.0", want: 0.5},
		"Mixed":       {reason: "Alternatives may have different types.", source: "has(xr.spec.name) ? xr.spec.name : 5", want: 5.0},
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
