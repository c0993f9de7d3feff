package config

import (
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/bomb"
)

// TestBombs parses small texts that would take a lot of memory or time.
func TestBombs(t *testing.T) {
	for name, text := range bomb.All("x", bomb.Secret) {
		t.Run(name, func(t *testing.T) {
			bomb.Defuse(t, func() { _, _ = checkVars([]byte(text)) })
		})
	}
}
