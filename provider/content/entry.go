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

// Processes on many nodes may share a store, and each of them may end, or stand still, at any moment. Nothing
// is locked: a set is installed in a workspace, and gets its place by one rename, by which the first of those
// wins that install the same. The times of sets and workspaces say what is in use, and may be a run's for as
// long as the lease.
const (
	// clocks is how far the clocks of nodes may differ.
	clocks = 10 * time.Minute
	// longestInstall is how long an installation may take at most in a store that is shared.
	longestInstall = 24 * time.Hour
)

// An entry is a set in the store. The sets to which the same request has resolved at different times have numbers.
type entry struct {
	dir, digest string
	number      int

	// manifest of the set. A damaged set, which must not be used any more, has none.
	manifest installed.Manifest
	damaged  bool
	// used is when the set was used last, which is the time of its directory, and uses is by how many it is now.
	used time.Time
	uses int
	// resolved is when the request was last known to resolve to the set, which is the time of the manifest.
	resolved time.Time
}

// newEntry for a set that follows all of its request. The store is locked.
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

// load the sets of a digest as they are now; all sets for an empty digest. Other processes, and users, may have removed
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

// read what a set is. A directory that is no set, or not a complete one, is a damaged set. The store is locked.
func (s *Store) read(e *entry) {
	m, err := installed.Read(e.dir)
	// No request asks for a set of another schema.
	if e.damaged = err != nil || m.Schema != installed.Schema || m.Digest != e.digest; e.damaged {
		m = installed.Manifest{}
	}

	e.manifest, e.used, e.resolved = m, timeOf(e.dir), timeOf(filepath.Join(e.dir, installed.File))
}

// current is the set that a request has resolved to last, which runs get; nil when there is
// none. The store is locked.
func (s *Store) current(digest string) (newest *entry) {
	for _, e := range s.entries {
		if e.digest == digest && !e.damaged && (newest == nil || e.number > newest.number) {
			newest = e
		}
	}

	return newest
}

// use a set. The error may say that it is gone. Any other does no harm: the time is not known after a restart.
// The store is locked.
func (s *Store) use(e *entry) error {
	e.used = s.config.now()

	return os.Chtimes(e.dir, e.used, e.used)
}

// inUse is true for a set that a run uses, as far as is known. The store is locked.
func (s *Store) inUse(e *entry) bool {
	return e.uses > 0 || s.leased(timeOf(e.dir), s.config.Lease)
}

// leased is true for what was used, or made, at a time, and may be in use for some time by another process.
func (s *Store) leased(since time.Time, most time.Duration) bool {
	return s.config.Lease > 0 && s.config.now().Before(since.Add(min(s.config.Lease, most)+clocks))
}

// timeOf a file or a directory; the zero time when there is none. Between nodes only a file that
// is opened is known to be as it is.
func timeOf(file string) time.Time {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return time.Time{}
	}
	defer f.Close() //nolint:errcheck // It was only looked at.

	info, err := f.Stat()
	if err != nil {
		return time.Time{}
	}

	return info.ModTime()
}
