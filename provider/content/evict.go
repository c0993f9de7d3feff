package content

import (
	"cmp"
	"crypto/rand"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

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
			bytes += e.manifest.Bytes
		case e.damaged:
			dirs = append(dirs, s.evict(e, RemovedDamaged)...)
		case e.number < newest[e.digest]:
			dirs = append(dirs, s.evict(e, RemovedSuperseded)...)
		default:
			bytes += e.manifest.Bytes
			idle = append(idle, e)
		}
	}

	return append(dirs, s.evictOldest(idle, bytes-s.config.maxSize)...)
}

// freeSpace evicts all sets that are not in use, but for those of a request, after an installation found the disk full.
// It is false when there are none.
func (s *Store) freeSpace(digest string) bool {
	s.mu.Lock()
	idle := slices.DeleteFunc(slices.Collect(maps.Values(s.entries)),
		func(e *entry) bool { return s.inUse(e) || e.digest == digest })
	dirs := s.evictOldest(idle, math.MaxInt64)
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

		bytes -= e.manifest.Bytes
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

// observeSize tells the observer how much is stored. The store is locked.
func (s *Store) observeSize() {
	var bytes int64
	for _, e := range s.entries {
		bytes += e.manifest.Bytes
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
