package content

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// An eviction is a set that is to go, and why.
type eviction struct {
	entry *entry
	why   Removal
}

// evictions returns the sets to remove: damaged and superseded ones, and then the least recently used ones, until the
// rest takes no more than so many bytes; 0 means no limit. Sets in use stay.
func evictions(entries []*entry, inUse func(*entry) bool, most int64) []eviction {
	var (
		out   []eviction
		idle  []*entry
		bytes int64
	)

	newest := map[string]int{}
	for _, e := range entries {
		if !e.damaged {
			newest[e.manifest.Digest] = max(newest[e.manifest.Digest], e.number)
		}
	}

	for _, e := range entries {
		switch {
		case inUse(e):
			bytes += e.manifest.Tree.Bytes
		case e.damaged:
			out = append(out, eviction{entry: e, why: RemovedDamaged})
		case e.number < newest[e.manifest.Digest]:
			out = append(out, eviction{entry: e, why: RemovedSuperseded})
		default:
			bytes += e.manifest.Tree.Bytes
			idle = append(idle, e)
		}
	}

	slices.SortFunc(idle, leastRecent)

	for _, e := range idle {
		if most == 0 || bytes <= most {
			break
		}

		bytes -= e.manifest.Tree.Bytes
		out = append(out, eviction{entry: e, why: RemovedForSpace})
	}

	return out
}

// evict sets from the store, which is locked. It returns directories to be removed when the
// store is not locked any more.
func (s *Store) evict(evictions []eviction) []string {
	var dirs []string

	for _, v := range evictions {
		// A set that is half removed must not be found, not even after a restart.
		trash, err := os.MkdirTemp(s.temp(), "*"+trashSuffix)
		if err == nil {
			err = os.Rename(v.entry.dir, filepath.Join(trash, "set"))
			dirs = append(dirs, trash)
		}

		// Another process may have removed the set, and put a new one in its place.
		if err != nil && s.config.Lease == 0 {
			dirs = append(dirs, v.entry.dir)
		}

		delete(s.entries, v.entry.dir)
		s.config.Observer.Removed(v.why)
	}

	s.observeSize()

	return dirs
}

// tidy evicts the sets that have to go, and returns directories as evict does. The store is
// locked.
func (s *Store) tidy() (dirs []string) {
	return s.evict(evictions(slices.Collect(maps.Values(s.entries)), s.inUse, s.config.MaxSize))
}

// freeSpace evicts sets after an installation found the disk full: half as many bytes as are
// free now. How much an installation needs is not known before it has ended, and each attempt
// takes its time. It is false when there is nothing to evict, or when the free space is enough
// for the largest installation: then something else is full than the disk.
func (s *Store) freeSpace(digest string) bool {
	free, err := available(s.config.Dir)
	if err != nil || s.config.Installer.Policy.RunSize > 0 && free >= s.config.Installer.Policy.RunSize {
		return false
	}

	s.mu.Lock()
	dirs := s.evict(evictionsFor(slices.Collect(maps.Values(s.entries)), s.inUse, digest, free/2))
	s.mu.Unlock()
	remove(dirs)

	return len(dirs) > 0
}

// evictionsFor returns the sets to remove for a request: those that were not used for longest,
// one at least, until they take some bytes. Sets in use stay, and sets of the request itself.
func evictionsFor(entries []*entry, inUse func(*entry) bool, digest string, bytes int64) []eviction {
	entries = slices.DeleteFunc(entries, func(e *entry) bool { return inUse(e) || e.manifest.Digest == digest })
	slices.SortFunc(entries, leastRecent)

	var out []eviction

	for _, e := range entries {
		if len(out) > 0 && bytes <= 0 {
			break
		}

		bytes -= e.manifest.Tree.Bytes
		out = append(out, eviction{entry: e, why: RemovedForSpace})
	}

	return out
}

// available returns the free space on the disk of a directory, in bytes.
func available(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, errors.Wrap(err, "cannot tell how much is free on the disk")
	}

	return int64(s.Bavail) * s.Bsize, nil //nolint:gosec // No disk has that many blocks.
}

// leastRecent compares sets by when they were last used.
func leastRecent(a, b *entry) int {
	return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.dir, b.dir))
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
