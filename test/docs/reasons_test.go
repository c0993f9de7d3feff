package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestReasons looks for every reason that a run may end with in the table of
// reasons.
func TestReasons(t *testing.T) {
	text, err := os.ReadFile("../../docs/lifecycle.md")
	needs.OK(t, err)

	_, table, _ := strings.Cut(string(text), "\n## Reasons\n")
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

	if err := filepath.WalkDir(dir, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".go" {
			return err
		}

		code, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			return err
		}

		for _, m := range regexp.MustCompile(`(?m)^\s*Reason\w+ += "(\w+)"`).FindAllStringSubmatch(string(code), -1) {
			reasons = append(reasons, m[1])
		}

		return nil
	}); err != nil {
		t.Fatal(err)
	}

	return reasons
}
