package inputs

import (
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestAttacks has values that try to inject text into a playbook or the environment.
func TestAttacks(t *testing.T) {
	fine := common.AnsibleRunParameters{PlaybookInline: "- hosts: all"}
	for _, name := range []string{
		"..", "/etc/x", "-e", "a.b\n- hosts: all", "a.b\x00", "{{ lookup('pipe', 'id') }}",
	} {
		const want = "must be namespace.collection.role"

		if got := needs.Message(Inputs{Roles: []common.Role{{Name: name}}}.Validate()); !strings.Contains(got, want) {
			t.Errorf("Validate(): %q: want %q, got %q", name, want, got)
		}
	}

	for want, names := range map[string][]string{
		"must be the name": {"A\x00B"},
		"runs a program":   {"SSH_ASKPASS"},
		"can make git run": {"GIT_CONFIG_PARAMETERS", "GIT_EXEC_PATH", "GIT_ALLOW_PROTOCOL", "GIT_TEMPLATE_DIR", "GIT_EDITOR"},
		"is set by the provider": {
			"LD_AUDIT", "PYTHONSTARTUP", "PYTHONWARNINGS", "BASH_ENV", "BASH_FUNC_git%%", "ENV", "HOME", "XDG_CONFIG_HOME", "AWX_ISOLATED_DATA_DIR",
			"OPENSSL_CONF", "GODEBUG", "GCONV_PATH", "GLIBC_TUNABLES",
		},
	} {
		for _, name := range names {
			if got := needs.Message(Inputs{Parameters: fine, Env: map[string]string{name: "x"}}.Validate()); !strings.Contains(got, want) {
				t.Errorf("Validate(): %s: want %q, got %q", name, want, got)
			}
		}
	}
}
