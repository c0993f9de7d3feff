package yamltext

import (
	"errors"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"
)

func TestParse(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		root   yaml.Kind
		none   bool
		err    string
	}{
		"Empty":   {reason: "An empty text has no document.", none: true},
		"Comment": {reason: "A comment is no document.", text: "# nothing\n", none: true},
		"Null":    {reason: "An empty document is null.", text: "---\n", root: yaml.ScalarNode},
		"One":     {reason: "One document is returned.", text: "--- \na: 1\n", root: yaml.MappingNode},
		"Many":    {reason: "A second document is refused, with its line.", text: "a: 1\n---\nb: 2\n", err: "line 2: it must be a single document"},
		"Broken":  {reason: "An error of the parser is returned.", text: "a: [", err: "yaml: line 1: did not find expected node content"},
		"After":   {reason: "An error after the first document is returned.", text: "a: 1\n---\nb: [", err: "yaml: line 3: did not find expected node content"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root, err := Parse(tc.text)

			got := ""
			if err != nil {
				got = err.Error()
			}

			if got != tc.err || (err == nil && (root == nil) != tc.none) || root != nil && root.Kind != tc.root {
				t.Errorf("\n%s\nParse(...): got %v, %v", tc.reason, root, err)
			}

			if many := name == "Many"; many != errors.Is(err, ErrMany) {
				t.Errorf("\n%s\nParse(...): want ErrMany: %t", tc.reason, many)
			}
		})
	}
}

func TestQuote(t *testing.T) {
	for s, want := range map[string]string{"": `""`, `a"b\c`: `"a\"b\\c"`, "é\n": `"\u00e9\u000a"`, "𝄞": `"\U0001d11e"`, `5%TAG\`: `"5\u0025TAG\\"`, "5%": `"5%"`} {
		if got := Quote(s); got != want {
			t.Errorf("Quote(%q): want %s, got %s", s, want, got)
		}

		back := ""
		if err := yaml.Unmarshal([]byte(want), &back); err != nil || back != s {
			t.Errorf("Unmarshal(%s): want %q, got %q, %v", want, s, back, err)
		}
	}
}

func TestWriteFlow(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		value  any
		want   string
	}{
		"Expression": {reason: "A text that may be an expression is tagged.", value: "secret == guess", want: `!unsafe "secret == guess"`},
		"Variable":   {reason: "A name, which is an expression, is tagged.", value: "secret", want: `!unsafe "secret"`},
		"Difference": {reason: "A text that only begins like a number is tagged.", value: "1 - secret", want: `!unsafe "1 - secret"`},
		"Boolean":    {reason: "A word that Ansible would read as a boolean is not tagged.", value: "Yes", want: `"Yes"`},
		"Number":     {reason: "Digits that Ansible would read as a number are not tagged.", value: "-1.5e+3", want: `"-1.5e+3"`},
		"Date":       {reason: "A text that Ansible would read as a date is not tagged.", value: "2001-12-14 21:59:43.10 -5", want: `"2001-12-14 21:59:43.10 -5"`},
		"Empty":      {reason: "An empty text, which Ansible would read as null, is not tagged.", value: "", want: `""`},
		"Mapping":    {reason: "The tag of a mapping holds for all strings in it.", value: map[string]any{"a": []any{"yes", "b == c"}}, want: `!unsafe {? "a" : ["yes", "b == c"]}`},
		"List":       {reason: "The tag of a list holds for all strings in it.", value: []any{"1", "a"}, want: `!unsafe ["1", "a"]`},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder

			WriteFlow(&b, Unsafe{Value: tc.value})

			if got := b.String(); got != tc.want {
				t.Errorf("\n%s\nWriteFlow(%v): want %s, got %s", tc.reason, tc.value, tc.want, got)
			}
		})
	}
}
