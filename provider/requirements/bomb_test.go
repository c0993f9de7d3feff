package requirements

import (
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
	"github.com/crossplane-ansible/crossplane-ansible/test/bomb"
)

// TestBombs reads requirements, and what content says of itself, of which no more is to be made than was written.
func TestBombs(t *testing.T) {
	for name, text := range bomb.All("collections", bomb.Secret) {
		t.Run(name, func(t *testing.T) {
			bomb.Defuse(t, func() {
				_, _ = Parse(text)
				_, _ = yamltext.Scalars([]byte(text))
			})
		})
	}
}
