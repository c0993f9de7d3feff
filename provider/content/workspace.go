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

// trashSuffix ends the names of directories that are being removed.
const trashSuffix = ".trash"

// A workspace is the temporary directory of one installation, and its private one.
type workspace struct {
	galaxy.Workspace

	dir string
}

func (s *Store) newWorkspace(digest string) (*workspace, error) {
	// Runs must not know the path, so it has a random part.
	name := digest + "-" + rand.Text()
	dir := filepath.Join(s.temp(), name)
	w := &workspace{Workspace: galaxy.Workspace{
		Private: filepath.Join(s.config.Private, name),
		Set:     filepath.Join(dir, "set"),
	}, dir: dir}

	if err := s.own(w.Home(), w.Temp(), w.Collections(), w.Roles()); err != nil {
		w.remove()

		return nil, err
	}

	return w, os.Chtimes(dir, time.Time{}, s.config.now())
}

// remove the workspace. What cannot be removed now is removed at the next start.
func (w *workspace) remove() {
	_ = workdir.Remove(w.Private)
	_ = workdir.Remove(w.dir)
}

// removeLeftovers removes the workspaces of processes that are gone, and directories that were
// being removed. A leftover that cannot be removed stays, and does not keep the provider from
// starting.
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
