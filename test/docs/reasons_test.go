package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReasons looks for every reason that a run may end with in the table of
// reasons.
func TestReasons(t *testing.T) {
	text, err := os.ReadFile("../../docs/lifecycle.md")
	if err != nil {
		t.Fatal(err)
	}

	_, table, _ := strings.Cut(string(text), "\n## Reasons\n")
	table, _, _ = strings.Cut(table, "\n## ")

	for _, dir := range []string{"job", "runner"} {
		reasons := reasonsIn(t, "../../provider/"+dir)
		if len(reasons) == 0 {
			t.Errorf("provider/%s has no reasons: where are they?", dir)
		}

		for _, reason := range reasons {
			if !strings.Contains(table, "`"+reason+"`") {
				t.Errorf("docs/lifecycle.md should explain the reason %s of runs.", reason)
			}
		}
	}
}

// reasonsIn a package: its constants named Reason….
func reasonsIn(t *testing.T, dir string) []string {
	t.Helper()

	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}

	var reasons []string

	for _, file := range files {
		code, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			t.Fatal(err)
		}

		for _, m := range regexp.MustCompile(`(?m)^\s*Reason\w+ += "(\w+)"`).FindAllStringSubmatch(string(code), -1) {
			reasons = append(reasons, m[1])
		}
	}

	return reasons
}
