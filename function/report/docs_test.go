package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestReasons compares the table of reasons in docs/function.md with the reasons of the condition, in the order of
// their severity.
func TestReasons(t *testing.T) {
	_, table, _ := strings.Cut(needs.Read(t, "../../docs/function.md"), "\n### Reasons of AnsibleRunsReady\n")
	table, _, _ = strings.Cut(table, "\n### ")

	var documented []string

	for _, row := range regexp.MustCompile(`(?m)^\| (?:True|False) \| ([^|]*) \|`).FindAllStringSubmatch(table, -1) {
		for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[1], -1) {
			documented = append(documented, m[1])
		}
	}

	reasons := []string{ansiblerun.ReasonInvalidInput, ansiblerun.ReasonTooLarge}
	for _, r := range severity() {
		reasons = append(reasons, string(r))
	}

	reasons = append(reasons, ansiblerun.ReasonInvalidStatus, ReasonAvailable)

	if diff := cmp.Diff(reasons, documented); diff != "" {
		t.Errorf("docs/function.md should explain these reasons, in this order.\n-want, +got:\n%s", diff)
	}
}
