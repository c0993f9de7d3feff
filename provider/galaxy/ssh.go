package galaxy

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/shell"
)

// sshKeys returns the names of credentials that git uses as private keys: the names that
// ssh-keygen uses, the name in a Secret of type kubernetes.io/ssh-auth, and the key that the
// configuration names for Ansible.
func sshKeys(env map[string]string, files []inputs.File) []string {
	names := []string{"id_ed25519", "id_ecdsa", "id_rsa", "ssh-privatekey"}

	cfg := inputs.Inputs{Credentials: files}.AnsibleConfig()
	for _, mentioned := range []string{env["ANSIBLE_PRIVATE_KEY_FILE"], cfg.Get("defaults", "private_key_file")} {
		names = append(names, filepath.Base(mentioned)) // No credential has the name of an empty path.
	}

	return names
}

// sshCommand returns the command that git runs for ssh. It asks nothing, offers only keys among
// the credentials, and connects only to hosts that the credentials or the machine's own list of
// known hosts have: code from an unknown host would run in the provider. Files have absolute
// paths, since ssh does not take the home directory from the environment.
func sshCommand(keys []string, files []inputs.File, dir string) string {
	known := "/dev/null"

	var args []string

	for _, f := range files {
		file := filepath.Join(dir, f.Name)

		if f.Name == inputs.KnownHostsFile {
			known = file
		}

		if slices.Contains(keys, f.Name) {
			args = append(args, "IdentityFile="+sshQuote(file))
		}
	}

	if len(args) == 0 {
		args = []string{"IdentityFile=none"}
	}

	args = append(args, "UserKnownHostsFile="+sshQuote(known),
		"BatchMode=yes", "IdentitiesOnly=yes", "StrictHostKeyChecking=yes", "LogLevel=ERROR", "ConnectTimeout=30")

	var command strings.Builder
	command.WriteString("ssh")
	for _, a := range args {
		command.WriteString(" -o " + shell.Quote(a))
	}

	return command.String()
}

// sshQuote a path in an option of ssh, which expands percent signs.
func sshQuote(path string) string {
	return `"` + strings.ReplaceAll(path, "%", "%%") + `"`
}
