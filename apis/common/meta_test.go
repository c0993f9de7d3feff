package common

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestOwnConditions reads the sources of this package: content could set a type that is missing, and the provider would
// remove such a condition from objects like those of content.
func TestOwnConditions(t *testing.T) {
	files, err := filepath.Glob("*.go")
	needs.OK(t, err)

	found := 0

	for _, file := range files {
		text, err := os.ReadFile(file)
		needs.OK(t, err)

		for _, m := range regexp.MustCompile(`ConditionType = "(\w+)"`).FindAllSubmatch(text, -1) {
			found++

			if !slices.Contains(OwnConditions(), xpv2.ConditionType(m[1])) {
				t.Errorf("OwnConditions() should have %q of %s", m[1], file)
			}
		}
	}

	if found < 2 || !slices.IsSorted(OwnConditions()) {
		t.Errorf("OwnConditions() should be sorted, and the sources should have them: found %d", found)
	}
}
