// Package vaulted encrypts texts for tests with the real ansible-vault.
package vaulted

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// Text encrypted with a password by ansible-vault, given as the path of the program. The id
// is that of the password; without one the text has none.
func Text(tb testing.TB, program, id, password, text string) string {
	tb.Helper()

	dir := tb.TempDir()
	file := filepath.Join(dir, "password")
	needs.Write(tb, dir, map[string]string{"password": password})

	// Tests look for passwords in files.
	defer os.Remove(file) //nolint:errcheck // The directory goes with the test.

	args := []string{"encrypt", "--output=-", "--vault-id=" + id + "@" + file}
	if id != "" {
		args = append(args, "--encrypt-vault-id="+id)
	}

	cmd := exec.CommandContext(tb.Context(), program, append(args, "-")...)
	cmd.Stdin = strings.NewReader(text)

	out, err := cmd.Output()
	needs.OK(tb, err)

	return string(out)
}
