package content

import (
	"cmp"
	"crypto/rand"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// tidy removes the sets that have to go: damaged and superseded ones, and then the least recently used ones while all
// take too much space. Sets in use stay. It returns directories to be removed when the store, which is locked, is not
// locked any more.
func (s *Store) tidy() (dirs []string) {
	var (
		idle  []*entry
		bytes int64
	)

	newest := map[string]int{}
	for _, e := range s.entries {
		if !e.damaged {
			newest[e.digest] = max(newest[e.digest], e.number)
		}
	}

	for _, e := range s.entries {
		switch {
		case s.inUse(e):
			bytes += e.manifest.Tree.Bytes
		case e.damaged:
			dirs = append(dirs, s.evict(e, RemovedDamaged)...)
		case e.number < newest[e.digest]:
			dirs = append(dirs, s.evict(e, RemovedSuperseded)...)
		default:
			bytes += e.manifest.Tree.Bytes
			idle = append(idle, e)
		}
	}

	return append(dirs, s.evictOldest(idle, bytes-s.config.maxSize)...)
}

// freeSpace evicts sets after an installation found the disk full: half as many bytes as are
// free now. How much an installation needs is not known before it has ended, and each attempt
// takes its time. It is false when there is nothing to evict.
func (s *Store) freeSpace(digest string) bool {
	free, err := available(s.config.Dir)
	if err != nil {
		return false
	}

	s.mu.Lock()
	idle := slices.Collect(maps.Values(s.entries))
	dirs := s.evictOldest(slices.DeleteFunc(idle, func(e *entry) bool { return s.inUse(e) || e.digest == digest }),
		max(free/2, 1))
	s.mu.Unlock()
	remove(dirs)

	return len(dirs) > 0
}

// evictOldest evicts the least recently used of some sets, until they take so many bytes.
func (s *Store) evictOldest(idle []*entry, bytes int64) (dirs []string) {
	slices.SortFunc(idle, func(a, b *entry) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.dir, b.dir)) })

	for _, e := range idle {
		if bytes <= 0 {
			break
		}

		bytes -= e.manifest.Tree.Bytes
		dirs = append(dirs, s.evict(e, RemovedForSpace)...)
	}

	return dirs
}

// evict a set. One that is half removed must not be found, not even after a restart.
func (s *Store) evict(e *entry, why Removal) []string {
	trash := filepath.Join(s.temp(), rand.Text()+trashSuffix)
	err := os.Rename(e.dir, trash)

	delete(s.entries, e.dir)
	s.config.Observer.Removed(why)
	s.observeSize()

	if err != nil {
		return nil
	}

	return []string{trash}
}

// available returns the free space on the disk of a directory, in bytes.
func available(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, errors.Wrap(err, "cannot tell how much is free on the disk")
	}

	return int64(s.Bavail) * s.Bsize, nil //nolint:gosec // No disk has that many blocks.
}

// observeSize tells the observer how much is stored. The store is locked.
func (s *Store) observeSize() {
	var bytes int64
	for _, e := range s.entries {
		bytes += e.manifest.Tree.Bytes
	}

	s.config.Observer.Stored(len(s.entries), bytes)
}

// remove directories. What cannot be removed now is a leftover at the next
// start.
func remove(dirs []string) {
	for _, dir := range dirs {
		_ = workdir.Remove(dir)
	}
}
