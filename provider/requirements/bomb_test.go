package requirements

import (
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
	"github.com/crossplane-ansible/crossplane-ansible/test/bomb"
)

// TestBombs parses small requirements and metadata that would take a lot of memory or time.
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
