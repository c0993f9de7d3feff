package content

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestCommands has URLs that the real git would take for a command, without any confinement. What a source may
// reach beside that is confined, which test/security proves.
func TestCommands(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	for reason, requirements := range map[string]string{
		"The transport of a collection is a command.": "collections: [{name: 'ext::sh -c \"touch% EVIL\"', type: git}]",
		"So is that of a role.":                       "roles: [{name: x, src: 'ext::sh -c \"touch% EVIL\"', scm: git}]",
		"A host is an option of ssh.":                 "roles: [{name: x, src: 'ssh://-oProxyCommand=touch$IFS/EVIL/x.git'}]",
	} {
		evil := filepath.Join(t.TempDir(), "evil")
		in := inputs.Inputs{Requirements: strings.ReplaceAll(requirements, "EVIL", evil)}

		_, _, err := newStore(t, Config{Dir: t.TempDir()}).Ensure(t.Context(), request(t, in))
		if _, there := os.Lstat(evil); there == nil || err == nil {
			t.Errorf("\n%s\nEnsure(...): it ran: %t, %v", reason, there == nil, err)
		}
	}
}
