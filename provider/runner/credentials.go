package runner

import (
	"bytes"
	"path"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// fileKnownHosts is the credential with the keys of hosts that ssh trusts.
const fileKnownHosts = "known_hosts"

// credentials returns the files of the credentials, in the working directory of the
// play. A private key gets the line end without which ssh does not read it, and which is
// easily lost on the way into a Secret.
func credentials(in inputs.Inputs) []file {
	files := make([]file, len(in.Credentials))
	for i, c := range in.Credentials {
		data := c.Data
		if bytes.HasPrefix(data, []byte("-----BEGIN ")) && !bytes.HasSuffix(data, []byte("\n")) {
			data = append(bytes.Clone(data), '\n')
		}

		files[i] = file{Path: path.Join(projectDir, c.Name), Data: data}
	}

	return files
}
