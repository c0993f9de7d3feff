package content

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// trashSuffix is the suffix of the names of directories that are being removed.
const trashSuffix = ".trash"

// newWorkspace makes the directories of one installation: a temporary directory with the set, and a private directory.
func (s *Store) newWorkspace(digest string) (galaxy.Workspace, error) {
	// Runs must not know the path, so that it has a random part.
	name := digest + "-" + rand.Text()
	w := galaxy.Workspace{Private: filepath.Join(s.config.Private, name), Set: filepath.Join(s.temp(), name, "set")}

	if err := s.makeDirectories(w.Home(), w.Temp(), w.Collections(), w.Roles()); err != nil {
		return w, err
	}

	return w, os.Chtimes(filepath.Dir(w.Set), time.Time{}, s.config.now())
}

// discard removes a workspace. Files that cannot be removed are leftovers at the next start.
func discard(w galaxy.Workspace) {
	_ = workdir.Remove(w.Private)
	_ = workdir.Remove(filepath.Dir(w.Set))
}

// removeLeftovers removes workspaces that no process can be using, and directories that were being removed. Leftovers
// that cannot be removed stay, and are not an error.
func (s *Store) removeLeftovers() error {
	left, err := os.ReadDir(s.temp())
	if err != nil {
		return errors.Wrap(err, "cannot look for leftovers")
	}

	for _, e := range left {
		dir := filepath.Join(s.temp(), e.Name())
		if strings.HasSuffix(e.Name(), trashSuffix) || !s.leased(timeOf(dir), longestInstall) {
			_ = workdir.Remove(dir)
		}
	}

	return nil
}
