package galaxy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestWriteCredentials has links in place of the credentials.
func TestWriteCredentials(t *testing.T) {
	dir := t.TempDir()
	w := Workspace{Private: dir, Set: filepath.Join(dir, "set")}
	outside, inside := filepath.Join(dir, "outside"), filepath.Join(w.Home(), "password")

	for _, err := range []error{os.Mkdir(w.Home(), 0o700), os.WriteFile(outside, []byte("kept"), 0o600), os.Symlink(outside, inside)} {
		needs.OK(t, err)
	}

	in := &installation{w: w, req: Request{Credentials: []inputs.File{{Name: "password", Data: []byte("secret")}}}}
	needs.OK(t, in.writeCredentials())

	for file, want := range map[string]string{outside: "kept", inside: "secret"} {
		got, _ := os.ReadFile(file)
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("\nCredentials should not be written through links.\n%s: -want, +got:\n%s", file, diff)
		}
	}
}
