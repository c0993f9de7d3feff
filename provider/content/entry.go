package content

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Marks in the directory of a set are empty files whose times say something. A
// time can be changed also on a disk that is full.
const (
	// markResolved is when it was last known what is required resolves to this
	// set.
	markResolved = "resolved"
	// markUsed is when the set was last used.
	markUsed = "used"
)

// An entry is a set in the store. What was required may have resolved to
// several sets in the course of time; they are numbered.
type entry struct {
	manifest manifest
	number   int
	dir      string

	// used last, by how many now, and whether it must not be used any more.
	// Guarded by the store.
	used    time.Time
	uses    int
	damaged bool

	// stamp of the files when they were last known to be what was installed;
	// empty before the first use after a start.
	check sync.Mutex
	stamp string
}

func (e *entry) set() Set {
	return Set{Digest: e.manifest.Digest, Dir: e.dir, Collections: e.manifest.Collections, Roles: e.manifest.Roles}
}

// intact is true when the files are what was installed. They are only looked at
// when they were not touched since they were last read, and read otherwise.
func (e *entry) intact() bool {
	e.check.Lock()
	defer e.check.Unlock()

	stamp, err := stampTree(e.dir)
	if err != nil {
		return false
	}

	if stamp == e.stamp {
		return true
	}

	m, err := readManifest(e.dir)
	if err != nil || !m.same(e.manifest) {
		return false
	}

	t, err := readTree(e.dir)
	if err != nil || t.Sum != e.manifest.Tree.Sum {
		return false
	}

	e.stamp = stamp

	return true
}

// entryName is the name of a set's directory.
func entryName(digest string, number int) string {
	if number == 0 {
		return digest
	}

	return fmt.Sprintf("%s-%d", digest, number)
}

func parseEntryName(name string) (digest string, number int, ok bool) {
	m := regexp.MustCompile(`^([0-9a-f]+)(?:-([1-9][0-9]{0,8}))?$`).FindStringSubmatch(name)
	if m == nil {
		return "", 0, false
	}

	number, _ = strconv.Atoi(m[2])

	return m[1], number, true
}

// loadEntry of a directory. The error says what is damaged about it.
func loadEntry(dir string) (*entry, error) {
	digest, number, ok := parseEntryName(filepath.Base(dir))
	if !ok {
		return nil, errors.Errorf("%q is not a content set", filepath.Base(dir))
	}

	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}

	if m.Digest != digest || m.Tree.Sum == "" {
		return nil, errors.New("the manifest is not that of this content set")
	}

	return &entry{manifest: m, number: number, dir: dir, used: marked(dir, markUsed)}, nil
}

// mark a set with a time. What cannot be marked is only less well known after a
// restart.
func mark(dir, name string, at time.Time) {
	file := filepath.Join(dir, name)
	if os.Chtimes(file, at, at) == nil {
		return
	}

	if os.WriteFile(file, nil, 0o600) == nil {
		_ = os.Chtimes(file, at, at)
	}
}

// marked is the time of a mark; without one, when the set was installed.
func marked(dir, name string) time.Time {
	for _, file := range []string{name, manifestFile} {
		if info, err := os.Stat(filepath.Join(dir, file)); err == nil {
			return info.ModTime()
		}
	}

	return time.Time{}
}
