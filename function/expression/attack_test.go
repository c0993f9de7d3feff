package expression

import (
	"strings"
	"testing"
)

// TestAttackYAML has an XR's author write what takes the parser the square of its length: seconds for half a megabyte.
func TestAttackYAML(t *testing.T) {
	const want = "the text is not YAML: has 1000 %TAG directives; at most 100 are read"

	if _, err := unmarshalYAML(strings.Repeat("%TAG !a! b\n", 1000) + "--- a\n"); err == nil || err.Error() != want {
		t.Errorf("want error %q, got %v", want, err)
	}
}
