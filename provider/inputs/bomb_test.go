package inputs

import (
	"strings"
	"testing"

	bombs "github.com/crossplane-ansible/crossplane-ansible/test/bomb"
)

// TestBombs parses an ansible.cfg that must not need much more memory than its size. A run
// parses it several times.
func TestBombs(t *testing.T) {
	fill := func(s string) string { return strings.Repeat(s, bombs.Secret/len(s)) }

	for name, text := range map[string]string{
		"Lines":    "[defaults]\nx = y\n" + fill(" y\n"),
		"Sections": fill("[a]\nx = y\n"),
		"Headers":  fill("[\n"),
		"Comments": fill(" ;"),
		"Blanks":   fill(" "),
	} {
		t.Run(name, func(t *testing.T) {
			in := Inputs{Credentials: []File{{Name: AnsibleConfigFile, Data: []byte(text)}}}

			bombs.Defuse(t, func() {
				for range 4 {
					in.AnsibleConfig()
				}
			})
		})
	}
}
