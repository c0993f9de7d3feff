package docs

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestMachine compares the packages that CONTRIBUTING.md has installed with the one list of them.
func TestMachine(t *testing.T) {
	packages, err := exec.CommandContext(t.Context(), "../machine.sh", "list").Output()
	needs.OK(t, err)
	if want := "\napt-get install --yes " + string(packages); !strings.Contains(needs.Read(t, "../../CONTRIBUTING.md"), want) {
		t.Errorf("CONTRIBUTING.md should have the line that test/machine.sh list prints:%s", want)
	}
}
