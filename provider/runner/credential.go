package runner

import (
	"path"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// Names of credentials that this package gives a meaning to.
const (
	fileConfig     = "ansible.cfg"
	fileKnownHosts = "known_hosts"
)

// reservedNames are taken: by the playbook, and by what ansible-runner finds in
// a private data directory.
var reservedNames = []string{ //nolint:gochecknoglobals // A constant list.
	playbookFile, "args", "artifacts", "cmdline", "daemon.log", "env", "envvars", "extravars", "fact_cache",
	"inventory", "passwords", "pid", "project", "settings", "ssh_key",
}

// dotNames are the hidden files that are known to hold credentials.
var dotNames = []string{ //nolint:gochecknoglobals // A constant list.
	".aws", ".boto", ".docker", ".git-credentials", ".gitconfig", ".htpasswd", ".kubeconfig", ".my.cnf", ".netrc",
	".pgpass", ".vault", ".vault-pass", ".vault-password", ".vault_pass", ".vault_password", ".vault_pass.txt",
	".vault_password.txt", ".vault-pass.txt", ".vault-password.txt",
}

// ValidateCredential returns an error unless a credential may have the name in
// the working directory of a play.
func ValidateCredential(name string) error {
	switch {
	case name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00\n"):
		return errors.Errorf("credential %q: the filename must be the name of a file, without a path", name)
	case slices.Contains(reservedNames, name):
		return errors.Errorf("credential %q: the filename is reserved", name)
	case strings.HasPrefix(name, ".") && !slices.Contains(dotNames, name):
		return errors.Errorf("credential %q: the filename must not start with a dot, other than %s", name, strings.Join(dotNames, ", "))
	case strings.HasPrefix(name, "-"):
		return errors.Errorf("credential %q: the filename must not start with a dash", name)
	}

	return nil
}

// credentials returns the files of the credentials in the working directory of
// the play.
func credentials(in inputs.Inputs) ([]File, error) {
	files := make([]File, 0, len(in.Credentials))
	seen := map[string]bool{}

	for _, c := range in.Credentials {
		if err := ValidateCredential(c.Name); err != nil {
			return nil, err
		}

		if seen[c.Name] {
			return nil, errors.Errorf("credential %q: the filename is given twice", c.Name)
		}

		seen[c.Name] = true
		files = append(files, File{Path: path.Join(projectDir, c.Name), Data: c.Data, Mode: modeFile})
	}

	return files, nil
}

func credential(in inputs.Inputs, name string) ([]byte, bool) {
	for _, c := range in.Credentials {
		if c.Name == name {
			return c.Data, true
		}
	}

	return nil, false
}
