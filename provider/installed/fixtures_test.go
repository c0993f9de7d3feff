package installed

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()

	for name, text := range files {
		touch(t, dir, name, text)
	}
}

// touch writes a file below a directory, and returns its path.
func touch(t *testing.T, dir, name, text string) string {
	t.Helper()

	file := filepath.Join(dir, name)
	needs.OK(t, os.MkdirAll(filepath.Dir(file), 0o700))
	needs.OK(t, os.WriteFile(file, []byte(text), 0o600))

	return file
}
