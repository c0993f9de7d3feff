package events

import (
	"strings"
	"testing"
)

// TestHints says what to do about failures, and nothing where a hint would mislead.
func TestHints(t *testing.T) {
	const (
		grant    = "on the provider itself (localhost) content may do only what spec.confinement of its configuration, or a flag --read-path or --write-path, allows"
		terminal = "on the provider itself (localhost) content has no terminals unless a cluster scoped configuration has /dev/ptmx and /dev/pts in spec.confinement.writePaths"
		vault    = "the password is in a credential of the configuration, which ANSIBLE_VAULT_PASSWORD_FILE in its spec.vars, or vault_password_file in an ansible.cfg, names"
		itself   = "this address is the provider itself, which has no ssh: give that of the host, or, to run there, ansible_connection: local"
		become   = "the password is ansible_become_password, in an inventory or a file of variables"
		install  = "unless it is misspelt, its role or collection is to be in spec.requirements of the configuration, or in the requirements.yml of a project"
	)

	toLocalhost := map[string]any{"ansible_host": "localhost", "ansible_connection": "local"}
	toWeb := map[string]any{"ansible_host": "web", "ansible_connection": "ssh"}

	for name, tc := range map[string]struct {
		reason, host, message string
		delegated             map[string]any
		free                  bool
		want                  string
	}{
		"Denied":           {reason: "The hint names the setting that allows an access on localhost.", host: "localhost", message: "[Errno 13] Permission denied: b'/srv/page'", want: grant},
		"DeniedFile":       {reason: "Ansible's error for a denied file of a copy is None.", host: "localhost", message: "Failed to get information on remote file (/srv/page): None", want: grant},
		"DeniedElsewhere":  {reason: "Permissions on other hosts do not depend on the confinement.", host: "web", message: "Permission denied"},
		"DeniedDelegated":  {reason: "A task that is delegated to localhost runs there.", host: "web", delegated: toLocalhost, message: "Permission denied", want: grant},
		"DelegatedFrom":    {reason: "A task that localhost delegates runs on the other host.", host: "localhost", delegated: toWeb, message: "Permission denied"},
		"DeniedRead":       {reason: "Files for a host are read on the provider.", host: "web", message: "an error occurred while trying to read the file '/x': [Errno 13] Permission denied: b'/x'", want: grant},
		"DeniedLookup":     {reason: "Lookups run on the provider.", host: "web", message: "The lookup plugin 'ansible.builtin.file' failed: [Errno 13] Permission denied: '/x'", want: grant},
		"DeniedUnconfined": {reason: "Without confinement, the cause is another one.", host: "localhost", free: true, message: "Permission denied"},
		"NoTerminal":       {reason: "The error of ansible.builtin.expect sounds as if there were too few terminals.", host: "localhost", message: "out of pty devices", want: terminal},
		"NoPassword":       {reason: "The hint names the place of the password of ansible-vault.", host: "web", free: true, message: "Attempting to decrypt but no vault secrets found.", want: vault},
		"WrongPassword":    {reason: "The password may be wrong.", host: "web", message: "Decryption failed (no vault secrets were found that could decrypt).", want: vault},
		"NoPasswordOfFile": {reason: "The message may name the file.", host: "web", message: "A vault password or secret must be specified to decrypt vaulted.yml", want: vault},
		"OtherVault":       {reason: "The secrets of other vaults do not match.", host: "web", message: "cannot read the secret of the key vault"},
		"Itself":           {reason: "The provider has no ssh.", host: "web", message: "Failed to connect to the host via ssh: ssh: connect to host 127.0.0.1 port 22: Connection refused", want: itself},
		"Refused":          {reason: "Another host may be down.", host: "web", message: "ssh: connect to host 10.127.0.1 port 22: Connection refused"},
		"Sudo":             {reason: "The hint names the variable of the password of sudo.", host: "web", message: "Premature end of stream waiting for become success: sudo: a password is required", want: become},
		"Collection":       {reason: "The hint names the place of requirements.", host: "web", message: "couldn't resolve module/action 'community.nothing.foo'.", want: install},
	} {
		t.Run(name, func(t *testing.T) {
			res := map[string]any{"msg": tc.message + "\nmore"}
			if tc.delegated != nil {
				res["_ansible_delegated_vars"] = tc.delegated
			}

			want := tc.message + "\nmore"
			if tc.want != "" {
				want = strings.TrimSuffix(tc.message, ".") + "; " + tc.want + "\nmore"
			}

			stream := line(hostFailed, map[string]any{"host": tc.host, "res": res})
			if got := record(t, stream, Options{Confined: !tc.free}).Summary().Failures[0].Message; got != want {
				t.Errorf("%s\nwant %q, got %q", tc.reason, want, got)
			}
		})
	}
}
