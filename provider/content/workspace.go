package content

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/installed"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// trashSuffix ends the names of directories that are being removed.
const trashSuffix = ".trash"

// A workspace is the temporary directory of one installation, and its private one. It is locked
// for as long as its process lives, so that another process that shares the store does not take it
// for a leftover. Where processes on other nodes share the store, its lock file has the time until
// which the installation may take instead.
type workspace struct {
	galaxy.Workspace

	dir  string
	lock *os.File
}

func (s *Store) newWorkspace(digest string) (*workspace, error) {
	// The status shows the digest. Runs must not know the path, so it has a random part.
	name := digest + "-" + rand.Text()
	dir := filepath.Join(s.temp(), name)
	w := &workspace{Workspace: galaxy.Workspace{
		Private: filepath.Join(s.config.Private, name),
		Target:  filepath.Join(dir, "set"),
	}, dir: dir}

	var err error
	if w.lock, err = s.lock(workdir.LockFile(dir)); err != nil {
		return nil, errors.Wrap(err, "cannot lock a temporary directory")
	}

	for _, dir := range []string{w.Home(), w.Temp(), w.Collections(), w.Roles()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			w.remove()

			return nil, errors.Wrap(err, "cannot make a temporary directory")
		}
	}

	return w, nil
}

// lock a workspace by its lock file.
func (s *Store) lock(name string) (*os.File, error) {
	if !s.shared() {
		return workdir.Lock(name)
	}

	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}

	return f, setTime(name, s.config.now().Add(min(s.config.Lease, longestInstall)))
}

// abandoned is true for a workspace whose process is gone, by its lock file, which may be open for
// as long as the workspace is dealt with.
func (s *Store) abandoned(lock *os.File) bool {
	if !s.shared() {
		return unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
	}

	info, err := lock.Stat()

	return err == nil && s.config.now().After(info.ModTime().Add(settle))
}

// remove the workspace. What cannot be removed now is removed at the next start, by its lock
// file.
func (w *workspace) remove() {
	if errors.Join(workdir.Remove(w.Private), workdir.Remove(w.dir)) == nil {
		_ = os.Remove(w.lock.Name())
	}

	_ = w.lock.Close()
}

// removeLeftovers removes the workspaces of processes that are gone, and directories that were
// being removed. A leftover that cannot be removed stays, and does not keep the provider from
// starting.
func (s *Store) removeLeftovers() error {
	parent := s.temp()

	trash, err := filepath.Glob(filepath.Join(parent, "*"+trashSuffix))
	if err != nil {
		return errors.Wrap(err, "cannot look for leftovers")
	}

	remove(trash)

	locks, err := filepath.Glob(filepath.Join(parent, "*"+workdir.LockSuffix))
	if err != nil {
		return errors.Wrap(err, "cannot look for leftovers")
	}

	for _, name := range locks {
		lock, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if err != nil {
			continue
		}

		if s.abandoned(lock) && workdir.Remove(strings.TrimSuffix(name, workdir.LockSuffix)) == nil {
			_ = os.Remove(name)
		}

		_ = lock.Close()
	}

	return nil
}

// checkSet returns an error when the set in the workspace was replaced by a link. It removes
// what has the names of the store's own files: an installation may have put links or pipes
// there.
func (w *workspace) checkSet(project bool) error {
	dirs := []string{w.Set(), w.Collections(), w.Roles()}
	if project {
		dirs = append(dirs, w.Project())
	}

	for _, dir := range dirs {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			return errors.Errorf("%s was replaced while it was installed", filepath.Base(dir))
		}
	}

	for _, name := range []string{installed.File, markResolved, markUsed} {
		if err := os.RemoveAll(filepath.Join(w.Set(), name)); err != nil {
			return errors.Wrap(err, "cannot remove what is not content")
		}
	}

	return nil
}
