package galaxy

import (
	"os"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestVersion(t *testing.T) {
	needs.Ansible(t)

	got, err := Version(t.Context(), Exec, os.Environ())
	if err != nil {
		t.Fatal(err)
	}

	if !strings.HasPrefix(got, "core 2.") {
		t.Errorf("\nThe version is that of ansible-core.\nVersion(...): %q", got)
	}
}
