package yamltext

import (
	"errors"
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
		"Empty":   {reason: "No text is no document.", none: true},
		"Comment": {reason: "Nor is a comment.", text: "# nothing\n", none: true},
		"Null":    {reason: "An empty document is null.", text: "---\n", root: yaml.ScalarNode},
		"One":     {reason: "One document is what is wanted.", text: "--- \na: 1\n", root: yaml.MappingNode},
		"Many":    {reason: "A second document is refused, with its line.", text: "a: 1\n---\nb: 2\n", err: "line 2: it must be a single document"},
		"Broken":  {reason: "A mistake is that of the parser.", text: "a: [", err: "yaml: line 1: did not find expected node content"},
		"After":   {reason: "Also behind a document.", text: "a: 1\n---\nb: [", err: "yaml: line 3: did not find expected node content"},
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
