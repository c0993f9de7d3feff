package galaxy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWrite has links in the place of the files of a recipe.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	w := Workspace{Private: dir, Target: filepath.Join(dir, "set")}
	outside, inside := filepath.Join(dir, "outside"), filepath.Join(w.Home(), "password")

	for _, err := range []error{os.Mkdir(w.Home(), 0o700), os.WriteFile(outside, []byte("kept"), 0o600), os.Symlink(outside, inside)} {
		if err != nil {
			t.Fatal(err)
		}
	}

	if err := (Recipe{Files: map[string][]byte{"password": []byte("secret")}}).write(w); err != nil {
		t.Fatal(err)
	}

	for file, want := range map[string]string{outside: "kept", inside: "secret"} {
		got, _ := os.ReadFile(file)
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("\nCredentials should go nowhere else.\n%s: -want, +got:\n%s", file, diff)
		}
	}
}
