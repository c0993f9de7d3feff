package runner

import (
	"runtime"
	"strings"
	"testing"

	k8sruntime "k8s.io/apimachinery/pkg/runtime"

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

// TestVarBombs writes variables that fill an object. Several runs do so at a time, in a
// process that may have little memory.
func TestVarBombs(t *testing.T) {
	// The race detector needs more than the 25 MiB of other builds; a tree of nodes took 350.
	const most = 100 * bomb.Secret

	for name, item := range map[string]string{"Numbers": "1", "Strings": `"x"`, "Lists": "[]", "Objects": "{}", "Nulls": "null"} {
		t.Run(name, func(t *testing.T) {
			raw := `{"x": [` + strings.Repeat(item+",", bomb.Secret/(len(item)+1)) + item + "]}"

			vars, err := decode(&k8sruntime.RawExtension{Raw: []byte(raw)})
			if err != nil {
				t.Fatal(err)
			}

			var before, after runtime.MemStats

			runtime.ReadMemStats(&before)

			_ = untemplated(vars)

			runtime.ReadMemStats(&after)

			if used := after.TotalAlloc - before.TotalAlloc; used > most {
				t.Errorf("It took %d MiB.", used>>20)
			}
		})
	}
}
