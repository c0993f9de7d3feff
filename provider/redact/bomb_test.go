package redact

import (
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/bomb"
)

// TestBombs reads Secrets of which no more is to be made than was written. Each of
// their lines is looked for in many forms, so that these are smaller.
func TestBombs(t *testing.T) {
	for name, text := range bomb.All("x", bomb.Secret/16) {
		t.Run(name, func(t *testing.T) {
			bomb.Defuse(t, func() { _ = New([]byte(text)).String("x is y") })
		})
	}
}
