package galaxy

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/shell"
)

// sshKeys returns the names of credentials that git uses as private keys: the names of ssh-keygen, the name in a Secret
// of type kubernetes.io/ssh-auth, and the key that the configuration names for Ansible.
func sshKeys(env map[string]string, files []inputs.File) []string {
	names := []string{"id_ed25519", "id_ecdsa", "id_rsa", "ssh-privatekey"}

	cfg := inputs.Inputs{Credentials: files}.AnsibleConfig()
	for _, mentioned := range []string{env["ANSIBLE_PRIVATE_KEY_FILE"], cfg.Get("defaults", "private_key_file")} {
		names = append(names, filepath.Base(mentioned)) // The base of an empty path is ".", which is no credential.
	}

	return names
}

// sshCommand returns the command that git runs for ssh. It is not interactive, and offers only keys among the
// credentials. It connects only to hosts in the known_hosts of the credentials or of the machine: code from an unknown
// host would run in the provider. Files have absolute paths, since ssh does not take the home directory from the
// environment.
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

// sshQuote quotes a path in an option of ssh, which expands percent signs.
func sshQuote(path string) string {
	return `"` + strings.ReplaceAll(path, "%", "%%") + `"`
}
