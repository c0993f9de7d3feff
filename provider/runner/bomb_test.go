package runner

import (
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/bomb"
)

// TestBombs reads inventories of which no more is to be made than was written.
func TestBombs(t *testing.T) {
	for name, text := range bomb.All("plugin", bomb.Secret) {
		t.Run(name, func(t *testing.T) {
			bomb.Defuse(t, func() {
				if got := inventoryName([]byte(text)); got != "hosts" {
					t.Errorf("inventoryName(...): got %q", got)
				}
			})
		})
	}
}
