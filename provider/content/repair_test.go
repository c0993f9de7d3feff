package content

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/installed"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestRepair has damaged sets.
func TestRepair(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		reason  string
		damage  func(dir string) error
		damaged bool
	}{
		"Nothing":    {reason: "An unchanged set is used.", damage: func(string) error { return nil }},
		"NoManifest": {reason: "A set without a manifest is replaced.", damage: func(dir string) error { return os.Remove(dir + "/" + installed.File) }, damaged: true},
		"Missing":    {reason: "A missing set is installed again.", damage: os.RemoveAll, damaged: true},
		"OtherSchema": {reason: "A set of another schema is replaced.", damage: func(dir string) error {
			m, err := installed.Read(dir)
			if err != nil {
				return err
			}

			m.Schema--

			return m.Write(dir)
		}, damaged: true},
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/Restarted=%t", name, restarted), func(t *testing.T) {
				src, dir := &source{files: 3}, t.TempDir()
				s := newStore(t, Config{Dir: dir, Installer: src.installer()})

				first, release := ensure(t, s, requires(t, "x"))
				release()
				needs.OK(t, tc.damage(first.Dir))

				if restarted {
					s = newStore(t, Config{Dir: dir, Installer: src.installer()})
				}

				second, _ := ensure(t, s, requires(t, "x"))

				if diff := cmp.Diff(tc.damaged, src.tries.Load() == 2); diff != "" {
					t.Errorf("\n%s\nEnsure(...): -want installed again, +got:\n%s", tc.reason, diff)
				}

				if names, err := os.ReadDir(filepath.Dir(second.Dir)); err != nil || len(names) != 1 {
					t.Errorf("\nThe damaged set should be removed: got %v, %v", names, err)
				}

				if m, err := installed.Read(second.Dir); err != nil || len(m.Collections) != 1 {
					t.Errorf("\nThe set in use should be intact.\nEnsure(...): %+v, %v", m, err)
				}
			})
		}
	}
}
