package cost

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is found is what Go finds.
func TestFindAll(t *testing.T) {
	patterns := []string{"", "a", "a*", "a*?", "a|b*", "b*|a", "^a", "(?m)^.", `\b`, `\bx`, `\B`, "$", "(?m)$", "x*", "é", "é*", "[^,]+", "a*b|a", "(a)(b)?", `\z`, "(?s).", "(?s).*", "aa|a"}
	texts := []string{"", "a", "aa", "ab", "aab aab", "béé,éx\nx,,a", "x\ny\n", "€5,€6", "\xff", "a\xffb", "aaaa b aaaa"}

	for _, source := range patterns {
		p, err := compilePattern(source, func(uint64) {})
		if err != nil {
			t.Fatal(err)
		}

		for _, text := range texts {
			want := append([]string{}, regexp.MustCompile(source).FindAllString(text, -1)...)
			if diff := cmp.Diff(want, p.findAll(text, func(uint64) {})); diff != "" {
				t.Errorf("findAll(%q) of %q: -want, +got:\n%s", source, text, diff)
			}
		}
	}
}
