package runner

import (
	"path"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// Names of credentials that this package gives a meaning to.
const (
	fileConfig     = "ansible.cfg"
	fileKnownHosts = "known_hosts"
)

// credentials returns the files of the credentials in the working directory of
// the play.
func credentials(in inputs.Inputs) []File {
	files := make([]File, len(in.Credentials))
	for i, c := range in.Credentials {
		files[i] = File{Path: path.Join(projectDir, c.Name), Data: c.Data, Mode: modeFile}
	}

	return files
}

func credential(in inputs.Inputs, name string) ([]byte, bool) {
	for _, c := range in.Credentials {
		if c.Name == name {
			return c.Data, true
		}
	}

	return nil, false
}
