package runner

import (
	"bytes"
	"path"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// Names of credentials that this package gives a meaning to.
const (
	fileConfig     = "ansible.cfg"
	fileKnownHosts = "known_hosts"
)

// credentials returns the files of the credentials in the working directory of
// the play. A private key gets the line end that it must have, and that is
// easily lost on the way into a Secret: without it ssh takes it for no key.
func credentials(in inputs.Inputs) []File {
	files := make([]File, len(in.Credentials))
	for i, c := range in.Credentials {
		data := c.Data
		if bytes.HasPrefix(data, []byte("-----BEGIN ")) && !bytes.HasSuffix(data, []byte("\n")) {
			data = append(bytes.Clone(data), '\n')
		}

		files[i] = File{Path: path.Join(projectDir, c.Name), Data: data, Mode: modeFile}
	}

	return files
}
