package redact

import (
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/bomb"
)

// TestBombs reads Secrets of which no more is to be made than was written.
func TestBombs(t *testing.T) {
	for name, text := range bomb.All("x", bomb.Secret/4) {
		t.Run(name, func(t *testing.T) {
			bomb.Defuse(t, func() { _ = New([]byte(text)).String("x is y") })
		})
	}
}
