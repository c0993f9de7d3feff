package docs

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestReasons looks for every reason that a run may end with in the table of
// reasons.
func TestReasons(t *testing.T) {
	_, table, _ := strings.Cut(needs.Read(t, "../../docs/lifecycle.md"), "\n## Reasons\n")
	table, _, _ = strings.Cut(table, "\n## ")

	reasons := reasonsIn(t, "../../provider")
	if len(reasons) == 0 {
		t.Error("The provider has no reasons: where are they?")
	}

	for _, reason := range reasons {
		if !strings.Contains(table, "`"+reason+"`") {
			t.Errorf("docs/lifecycle.md should explain the reason %s of runs.", reason)
		}
	}
}

// reasonsIn the packages below a directory: their constants named Reason….
func reasonsIn(t *testing.T, dir string) []string {
	t.Helper()

	var reasons []string

	needs.OK(t, filepath.WalkDir(dir, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".go" {
			return err
		}

		for _, m := range regexp.MustCompile(`(?m)^\s*Reason\w+ += "(\w+)"`).FindAllStringSubmatch(needs.Read(t, file), -1) {
			reasons = append(reasons, m[1])
		}

		return nil
	}))

	return reasons
}
