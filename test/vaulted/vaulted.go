// Package vaulted encrypts texts for tests with the real ansible-vault.
package vaulted

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Text encrypted with a password by ansible-vault, given as the path of the program. The id
// is that of the password; without one the text has none.
func Text(tb testing.TB, program, id, password, text string) string {
	tb.Helper()

	file := filepath.Join(tb.TempDir(), "password")
	if err := os.WriteFile(file, []byte(password), 0o600); err != nil {
		tb.Fatal(err)
	}

	// Tests look for passwords in files.
	defer os.Remove(file) //nolint:errcheck // The directory goes with the test.

	args := []string{"encrypt", "--output=-", "--vault-id=" + id + "@" + file}
	if id != "" {
		args = append(args, "--encrypt-vault-id="+id)
	}

	cmd := exec.CommandContext(tb.Context(), program, append(args, "-")...)
	cmd.Stdin = strings.NewReader(text)

	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("ansible-vault: %v", err)
	}

	return string(out)
}
