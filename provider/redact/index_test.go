package redact

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/bomb"
)

// TestMatch compares with what looks at each form.
func TestMatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	word := func(most int) string {
		b := make([]byte, minSecret+rng.IntN(most))
		for i := range b {
			b[i] = "aaab"[rng.IntN(4)]
		}

		return string(b)
	}

	for range 2000 {
		x := index{}
		forms := make([]string, 1+rng.IntN(20))

		for i := range forms {
			forms[i] = word(8)
			x.add(forms[i])
		}

		x.sort()

		text, want := word(12), 0
		for _, f := range forms {
			if strings.HasPrefix(text, f) {
				want = max(want, len(f))
			}
		}

		if got := x.match(text); got != want {
			t.Fatalf("match(%q) of %q: want %d, got %d", text, forms, want, got)
		}
	}
}

// TestPrefixes has a secret of which each line nearly starts with the one before,
// and a text that nearly is each of them, everywhere.
func TestPrefixes(t *testing.T) {
	var b strings.Builder
	for n := minSecret; b.Len() < bomb.Secret; n++ {
		b.WriteString(strings.Repeat("a", n) + "0\n")
	}

	bomb.Defuse(t, func() { New([]byte(b.String())).String(strings.Repeat("a", 256<<10)) })
}
