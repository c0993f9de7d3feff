package content

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/provider/installed"
)

// Marks are empty files in the directory of a set. Their modification times are recorded times, which can be changed
// also on a disk that is full.
const (
	// markResolved has the time when the request was last known to resolve to this set.
	markResolved = "resolved"
	// markUsed has the time when the set was last used.
	markUsed = "used"
)

var entryPattern = regexp.MustCompile(`^([0-9a-f]+)(?:-([1-9][0-9]{0,8}))?$`)

// An entry is a set in the store. Sets to which the same request has resolved at different
// times are numbered.
type entry struct {
	manifest installed.Manifest
	number   int
	dir      string

	// used is when the set was used last, uses is by how many it is now, and damaged is
	// true when it must not be used any more. Guarded by the store.
	used    time.Time
	uses    int
	damaged bool
	// resolved is when the request was last known to resolve to the set. Guarded by the
	// store.
	resolved time.Time
}

func newEntry(m installed.Manifest, number int, dir string) *entry {
	return &entry{manifest: m, number: number, dir: dir}
}

func (e *entry) set() Set {
	return Set{
		Dir: e.dir, Collections: e.manifest.Collections, Roles: e.manifest.Roles,
		Project: e.manifest.Project,
	}
}

// there is true for a set that has its manifest, which is written last and goes first.
func (e *entry) there() bool {
	_, err := os.Lstat(filepath.Join(e.dir, installed.File))

	return err == nil
}

// entryName is the name of a set's directory.
func entryName(digest string, number int) string {
	if number == 0 {
		return digest
	}

	return fmt.Sprintf("%s-%d", digest, number)
}

func parseEntryName(name string) (digest string, number int, ok bool) {
	m := entryPattern.FindStringSubmatch(name)
	if m == nil {
		return "", 0, false
	}

	number, _ = strconv.Atoi(m[2])

	return m[1], number, true
}

// loadEntry of a directory. A directory that is no set, or not a complete one, is a damaged set.
func loadEntry(dir string) *entry {
	digest, number, _ := parseEntryName(filepath.Base(dir))
	m, err := installed.Read(dir)

	e := newEntry(m, number, dir)
	e.used = marked(dir, markUsed)
	// No request asks for a set of another schema.
	e.damaged = err != nil || m.Schema != installed.Schema || m.Digest != digest

	return e
}

// mark a set with a time. A time that cannot be written is not known after a restart, which
// does no harm.
func mark(dir, name string, at time.Time) {
	file := filepath.Join(dir, name)
	if setTime(file, at) == nil {
		return
	}

	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return
	}

	_ = f.Close()
	_ = setTime(file, at)
}

// setTime of a file, or of a link in its place. The zero time changes nothing.
func setTime(file string, at time.Time) error {
	ts := unix.Timespec{Nsec: unix.UTIME_OMIT}
	if !at.IsZero() {
		ts = unix.NsecToTimespec(at.UnixNano())
	}

	return unix.UtimesNanoAt(unix.AT_FDCWD, file, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
}

// marked returns the time of a mark; without one, the time when the set was installed.
func marked(dir, name string) time.Time {
	for _, file := range []string{name, installed.File} {
		if at := timeOf(filepath.Join(dir, file)); !at.IsZero() {
			return at
		}
	}

	return time.Time{}
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
