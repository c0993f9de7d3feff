package content

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/installed"
)

// Processes on many nodes may share a store, and each of them may end, or stop for some time, at any moment. The store
// has no file locks: a set is installed in a workspace, and renamed to its place. Of several processes that install the
// same set, the first rename succeeds. The modification times of sets and workspaces tell what may be in use: a run may
// use a set for the duration of the lease.
const (
	// clocks is the largest difference between the clocks of nodes.
	clocks = 10 * time.Minute
	// longestInstall is the longest duration of an installation in a shared store.
	longestInstall = 24 * time.Hour
)

// An entry is a set in the store. Sets to which the same request has resolved at different times have different
// numbers.
type entry struct {
	dir, digest string
	number      int

	// manifest of the set. A damaged set, which must not be used, has none.
	manifest installed.Manifest
	damaged  bool
	// used is the time of the last use: the modification time of the directory. uses is the number of present uses by this
	// process.
	used time.Time
	uses int
	// resolved is the last time at which the request resolved to the set: the modification time of the manifest.
	resolved time.Time
}

// newEntry returns an entry with the next number of its request. The store is locked.
func (s *Store) newEntry(digest string) *entry {
	number := 0

	for _, e := range s.entries {
		if e.digest == digest {
			number = max(number, e.number+1)
		}
	}

	return &entry{dir: filepath.Join(s.sets(), fmt.Sprintf("%s-%d", digest, number)), digest: digest, number: number}
}

func (e *entry) set() Set {
	s := Set{Content: *e.manifest.DeepCopy(), Dir: e.dir}
	if !e.resolved.IsZero() {
		s.Resolved = &metav1.Time{Time: e.resolved.Truncate(time.Second)} // The status shows the time in seconds only.
	}

	return s
}

// load reads the present sets of a digest; all sets for an empty digest. Other processes, and users, may have removed
// or replaced them. The store is locked.
func (s *Store) load(digest string) error {
	names, err := os.ReadDir(s.sets())
	if err != nil {
		return errors.Wrap(err, "cannot read the content store")
	}

	there := map[string]bool{}

	for _, n := range names {
		of, number, _ := strings.Cut(n.Name(), "-")
		if digest != "" && of != digest {
			continue
		}

		dir := filepath.Join(s.sets(), n.Name())
		there[dir] = true

		if s.entries[dir] == nil {
			i, _ := strconv.Atoi(number)
			s.entries[dir] = &entry{dir: dir, digest: of, number: i}
		}

		s.read(s.entries[dir])
	}

	for dir, e := range s.entries {
		if !there[dir] && (digest == "" || e.digest == digest) {
			delete(s.entries, dir)
		}
	}

	return nil
}

// read reads the manifest and the times of a set. A directory without a complete set is a damaged set. The store is
// locked.
func (s *Store) read(e *entry) {
	m, err := installed.Read(e.dir)
	// The digests of requests include the schema, so that sets of other schemas are never used.
	if e.damaged = err != nil || m.Schema != installed.Schema || m.Digest != e.digest; e.damaged {
		m = installed.Manifest{}
	}

	e.manifest, e.used, e.resolved = m, timeOf(e.dir), timeOf(filepath.Join(e.dir, installed.File))
}

// current returns the set that a request has resolved to last, which runs use; nil if there is none. The store is
// locked.
func (s *Store) current(digest string) (newest *entry) {
	for _, e := range s.entries {
		if e.digest == digest && !e.damaged && (newest == nil || e.number > newest.number) {
			newest = e
		}
	}

	return newest
}

// use records the use of a set. The error is fs.ErrNotExist if the set is gone. Other errors are harmless: the time of
// the last use is not known after a restart. The store is locked.
func (s *Store) use(e *entry) error {
	e.used = s.config.now()

	return os.Chtimes(e.dir, e.used, e.used)
}

// inUse is true for a set that a run may use. The store is locked.
func (s *Store) inUse(e *entry) bool {
	return e.uses > 0 || s.leased(timeOf(e.dir), s.config.Lease)
}

// leased is true if another process may still use a file that was last used or made at a time, for most at the longest.
func (s *Store) leased(since time.Time, most time.Duration) bool {
	return s.config.Lease > 0 && s.config.now().Before(since.Add(min(s.config.Lease, most)+clocks))
}

// timeOf returns the modification time of a file or a directory; the zero time if it does not exist. It opens the file:
// on a network file system, only an opened file has current attributes.
func timeOf(file string) time.Time {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return time.Time{}
	}
	defer f.Close() //nolint:errcheck // It was not written.

	info, err := f.Stat()
	if err != nil {
		return time.Time{}
	}

	return info.ModTime()
}
