package workdir

import (
	"os"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// WriteFile makes a new file of mode 0600 in place of whatever has its name. It never writes through a link.
func WriteFile(path string, data []byte) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}

	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}

	_, err = f.Write(data)

	return errors.Join(err, f.Close())
}
