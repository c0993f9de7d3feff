package content

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/installed"
)

// Processes on many nodes may share a store. Each of them may end, or stand still, at any moment,
// so that nobody ever waits for another one, and nothing is locked:
//
//   - A set is installed in a workspace, and gets its place by one rename. Of those who install
//     the same set at the same time the first one wins, and the others use its set.
//   - Who gets a set marks it with the time until which it is in use, whatever becomes of the
//     process. After that, the set is used if it still has its manifest.
//   - A set that is to go first loses its manifest, so that nobody finds it. It goes after the
//     pause settle, if it is not in use. Whoever found it at the last moment has marked it by then.
//   - A workspace is marked with the time until which its installation may take. After that
//     anybody removes it.
const (
	// settle is how long a node may take to see what others have done, and how far the clocks of
	// nodes may differ.
	settle = 10 * time.Minute
	// longestInstall is how long an installation may take at most in a store that is shared.
	longestInstall = 24 * time.Hour
)

// shared is true for a store that other processes use, too.
func (s *Store) shared() bool { return s.config.Lease > 0 }

// inUse is true for a set that a run uses, as far as is known. The store is locked.
func (s *Store) inUse(e *entry) bool {
	return e.uses > 0 || s.shared() && s.config.now().Before(e.used.Add(settle))
}

// hold a set in a store that is shared for the longest that a run may use it. It is false if that
// is not possible. The store is locked.
func (s *Store) hold(e *entry) bool {
	if !s.shared() {
		return true
	}

	// Not all file systems keep fractions of a second.
	until := s.config.now().Add(s.config.Lease).Truncate(time.Second)

	if e.used = marked(e.dir, markUsed); e.used.Before(until) {
		mark(e.dir, markUsed, until)
		e.used = marked(e.dir, markUsed)
	}

	return !e.used.Before(until)
}

// condemned is true for a set that may be removed. In a store that is shared it keeps a set from
// being found first, and is true for a set that nobody could find for a while. The store is locked.
func (s *Store) condemned(e *entry) bool {
	if !s.shared() {
		return true
	}

	if e.used = marked(e.dir, markUsed); s.inUse(e) {
		return false
	}

	e.damaged = true

	// That it lost its manifest is the last change of its directory.
	err := os.Rename(filepath.Join(e.dir, installed.File), filepath.Join(e.dir, condemnedFile))
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}

	return s.config.now().After(timeOf(e.dir).Add(settle))
}

// loadOthers loads what others have installed meanwhile. The store is locked.
func (s *Store) loadOthers() error {
	if !s.shared() {
		return nil
	}

	return s.load()
}
