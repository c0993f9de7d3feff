package runner

import (
	"bytes"
	"path"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// credentials returns the files of the credentials, in the working directory of the
// play.
func credentials(in inputs.Inputs) []file {
	files := make([]file, len(in.Credentials))
	for i, c := range in.Credentials {
		if bytes.HasPrefix(c.Data, []byte("-----BEGIN ")) {
			c = c.WithLineEnd()
		}

		files[i] = file{Path: path.Join(projectDir, c.Name), Data: c.Data}
	}

	return files
}
