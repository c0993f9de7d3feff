package config

import (
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/bomb"
)

// TestBombs reads variables of which no more is to be made than was written.
func TestBombs(t *testing.T) {
	for name, text := range bomb.All("x", bomb.Secret) {
		t.Run(name, func(t *testing.T) {
			bomb.Defuse(t, func() { _, _ = checkVars([]byte(text)) })
		})
	}
}
