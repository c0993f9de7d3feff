package input

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestRead(t *testing.T) {
	cases := map[string]struct {
		reason string
		// vars and field are YAML: the variables of a run, and another field of it.
		vars, field string
		want        any
		errs        []string
	}{
		"Integer":       {reason: "An integral number is an integer, even if it is written as 1.0.", vars: "x: 1.0", want: map[string]any{"x": int64(1)}},
		"Negative":      {reason: "Integers may be negative.", vars: "x: -3", want: map[string]any{"x": int64(-3)}},
		"Double":        {reason: "Other numbers are doubles.", vars: "x: 1.5", want: map[string]any{"x": 1.5}},
		"Small":         {reason: "The smallest double is exact.", vars: "x: 5e-324", want: map[string]any{"x": 5e-324}},
		"Largest":       {reason: "Integers are exact up to 2^53-1.", vars: "x: 9007199254740991", want: map[string]any{"x": int64(9007199254740991)}},
		"Rounded":       {reason: "2^53+1 is refused, since it is rounded to 2^53.", vars: "x: 9007199254740993", errs: []string{`runs[0].vars.x: Invalid value: 9007199254740992: integers are exact up to 2^53-1 only; write it as a string`}},
		"TooLarge":      {reason: "A larger number is refused, since it may be rounded.", vars: "x: [9007199254740994]", errs: []string{`runs[0].vars.x[0]: Invalid value: 9007199254740994: integers are exact up to 2^53-1 only; write it as a string`}},
		"FarTooLarge":   {reason: "A number beyond int64 is refused.", vars: "x: 1e300", errs: []string{`runs[0].vars.x: Invalid value: 1e+300: integers are exact up to 2^53-1 only; write it as a string`}},
		"TooNegative":   {reason: "A negative number below -2^53+1 is refused.", vars: "x: -9223372036854775808", errs: []string{`runs[0].vars.x: Invalid value: -9.223372036854776e+18: integers are exact up to 2^53-1 only; write it as a string`}},
		"Text":          {reason: "A string is not changed.", vars: `x: "1.0 ü € \u0000 $5"`, want: map[string]any{"x": "1.0 ü € \x00 $5"}},
		"LikeANumber":   {reason: "A string that looks like a number stays a string.", vars: `x: "007"`, want: map[string]any{"x": "007"}},
		"Expression":    {reason: "An expression is not changed.", vars: `x: "$${a}${xr.spec.x}"`, want: map[string]any{"x": "$${a}${xr.spec.x}"}},
		"Escaped":       {reason: "In a literal field, $${ becomes ${.", field: `hosts: "$${x}"`, want: "${x}"},
		"Misspelt":      {reason: "An unknown field is refused as misspelt, also with an expression.", field: `forEachkey: "${each.value.a}"`, errs: []string{`runs[0].forEachkey: Forbidden: there is no such field (did you mean "forEachKey"?)`}},
		"Literal":       {reason: "An expression in a literal field is refused.", field: `hosts: "a${xr.spec.x}"`, errs: []string{`runs[0].hosts: Invalid value: "a${xr.spec.x}": this field is literal, it cannot hold an expression; pass the value in vars, or write $${ for the text ${`}},
		"NumberInField": {reason: "A fraction in a field of integers is refused.", field: `forks: 2.5`, errs: []string{`runs[0].forks: Invalid value: 2.5: must be an integer`}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := "apiVersion: ansible.fn.crossplane.io/v1alpha1\nkind: AnsibleRuns\nruns:\n- name: a\n  role: a.b.c\n"
			if tc.vars != "" {
				text += "  vars: {" + tc.vars + "}\n"
			}

			in := map[string]any{}
			needs.OK(t, yaml.Unmarshal([]byte(text+"  "+tc.field), &in))

			got, errs := Read(in)

			var messages []string
			for _, err := range errs {
				messages = append(messages, err.Error())
			}

			if diff := cmp.Diff(tc.errs, messages); diff != "" {
				t.Fatalf("\n%s\nRead(...): -want, +got:\n%s", tc.reason, diff)
			}

			if tc.errs != nil {
				return
			}

			run, _ := got["runs"].([]any)[0].(map[string]any)

			v := run["vars"]
			if tc.vars == "" {
				v = run["hosts"]
			}

			if diff := cmp.Diff(tc.want, v); diff != "" {
				t.Errorf("\n%s\nRead(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
