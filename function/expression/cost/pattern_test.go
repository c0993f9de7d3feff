package cost

import (
	"regexp"
	regexpsyntax "regexp/syntax"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The size of a regular expression is about that of the program that Go makes of it,
// known before Go makes it.
func TestPatternSize(t *testing.T) {
	for _, source := range []string{
		`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`, `^\p{L}{1,63}$`, `(?i)^[a-z_][a-z0-9_-]*$`, "x{1000}", "((x{10}){10}){10}y{1000}",
		"(x?){500}", "(x{1000,}|y)", `\pL\pN`, `(\pL\pN){10}`,
	} {
		p, err := compilePattern(source, uncounted)
		if err != nil {
			t.Fatal(err)
		}

		re, err := regexpsyntax.Parse(source, regexpsyntax.Perl)
		if err != nil {
			t.Fatal(err)
		}

		program, err := regexpsyntax.Compile(re.Simplify())
		if err != nil {
			t.Fatal(err)
		}

		if n := uint64(len(program.Inst)); n > 2*p.size+3 {
			t.Errorf("compilePattern(%s): want the size of a program of %d instructions, got %d", source, n, p.size)
		}
	}
}

// What is found is what Go finds.
func TestFindAll(t *testing.T) {
	patterns := []string{"", "a", "a*", "a*?", "a|b*", "b*|a", "^a", "(?m)^.", `\b`, `\bx`, `\B`, "$", "(?m)$", "x*", "é", "é*", "[^,]+", "a*b|a", "(a)(b)?", `\z`, "(?s).", "(?s).*", "aa|a"}
	texts := []string{"", "a", "aa", "ab", "aab aab", "béé,éx\nx,,a", "x\ny\n", "€5,€6", "\xff", "a\xffb", "aaaa b aaaa"}

	for _, source := range patterns {
		p, err := compilePattern(source, uncounted)
		if err != nil {
			t.Fatal(err)
		}

		for _, text := range texts {
			want := append([]string{}, regexp.MustCompile(source).FindAllString(text, -1)...)
			if diff := cmp.Diff(want, p.findAll(text, uncounted)); diff != "" {
				t.Errorf("findAll(%q) of %q: -want, +got:\n%s", source, text, diff)
			}
		}
	}
}
