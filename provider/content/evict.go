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

// tidy removes damaged and superseded sets, and then the least recently used sets while the store is too large. Sets in
// use stay. The store is locked.
func (s *Store) tidy() {
	var (
		idle  []*entry
		bytes int64
	)

	for _, e := range s.entries {
		switch {
		case s.inUse(e):
			bytes += e.manifest.Bytes
		case e.damaged:
			s.evict(e, removedDamaged)
		case e != s.current(e.digest):
			s.evict(e, removedSuperseded)
		default:
			bytes += e.manifest.Bytes
			idle = append(idle, e)
		}
	}

	s.evictOldest(idle, bytes-s.config.maxSize)
}

// freeSpace evicts all sets that are not in use, except those of a request. It is called when an installation found the
// disk full. It returns false if there are no such sets.
func (s *Store) freeSpace(digest string) bool {
	s.mu.Lock()
	defer s.unlock()

	idle := slices.DeleteFunc(slices.Collect(maps.Values(s.entries)),
		func(e *entry) bool { return s.inUse(e) || e.digest == digest })
	s.evictOldest(idle, math.MaxInt64)

	return len(idle) > 0
}

// evictOldest evicts the least recently used sets until it has freed a number of bytes. The store is locked.
func (s *Store) evictOldest(idle []*entry, bytes int64) {
	slices.SortFunc(idle, func(a, b *entry) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.dir, b.dir)) })

	for _, e := range idle {
		if bytes <= 0 {
			break
		}

		bytes -= e.manifest.Bytes
		s.evict(e, removedForSpace)
	}
}

// evict removes a set. It renames the directory, so that a partly removed set is not found, even after a restart. The
// store is locked; unlock removes the files.
func (s *Store) evict(e *entry, why string) {
	trash := filepath.Join(s.temp(), rand.Text()+trashSuffix)
	if os.Rename(e.dir, trash) == nil {
		s.trash = append(s.trash, trash)
	}

	delete(s.entries, e.dir)
	s.config.Metrics.removals.WithLabelValues(why).Inc()
}

// unlock updates the metrics of the size, unlocks the store, and removes the files of evicted sets. Files that cannot
// be removed are leftovers at the next start.
func (s *Store) unlock() {
	var bytes int64
	for _, e := range s.entries {
		bytes += e.manifest.Bytes
	}

	s.config.Metrics.sets.Set(float64(len(s.entries)))
	s.config.Metrics.bytes.Set(float64(bytes))

	trash := s.trash
	s.trash = nil
	s.mu.Unlock()

	for _, dir := range trash {
		_ = workdir.Remove(dir)
	}
}
