package content

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/installed"
)

// Marks are empty files in the directory of a set, whose modification times are recorded
// times. The time of a file can be changed also on a disk that is full.
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

	// checking is held while the files are looked at. Stamp is the installed.Stamp of the
	// files when they were last known to be intact; empty before the first use after a
	// start.
	checking chan struct{}
	stamp    string
}

func newEntry(m installed.Manifest, number int, dir string) *entry {
	return &entry{manifest: m, number: number, dir: dir, checking: make(chan struct{}, 1)}
}

func (e *entry) set() Set {
	return Set{Digest: e.manifest.Digest, Dir: e.dir, Collections: e.manifest.Collections, Roles: e.manifest.Roles}
}

// intact is true when the files are what was installed. Files that have not changed since they
// were last read are not read again. The error is that of the context.
func (e *entry) intact(ctx context.Context) (bool, error) {
	select {
	case e.checking <- struct{}{}:
		defer func() { <-e.checking }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}

	ok := e.checkFiles(ctx)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}

	return ok, nil
}

// checkFiles is true when the files are what was installed. It is false, too, when the context
// is done before that is known.
func (e *entry) checkFiles(ctx context.Context) bool {
	stamp, err := installed.Stamp(ctx, e.dir)
	if err != nil {
		return false
	}

	if stamp == e.stamp {
		return true
	}

	if !e.manifest.Intact(ctx, e.dir) {
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
	m := entryPattern.FindStringSubmatch(name)
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

	m, err := installed.Read(dir)
	if err != nil {
		return nil, err
	}

	// No request asks for a set of another schema.
	if m.Schema != installed.Schema || m.Digest != digest || m.Tree.Sum == "" {
		return nil, errors.New("the manifest is not that of this content set")
	}

	e := newEntry(m, number, dir)
	e.used = marked(dir, markUsed)

	return e, nil
}

// mark a set with a time. A time that cannot be written is not known after a restart, which
// does no harm.
func mark(dir, name string, at time.Time) {
	file := filepath.Join(dir, name)
	if os.Chtimes(file, at, at) == nil {
		return
	}

	if os.WriteFile(file, nil, 0o600) == nil {
		_ = os.Chtimes(file, at, at)
	}
}

// marked returns the time of a mark; without one, the time when the set was installed.
func marked(dir, name string) time.Time {
	for _, file := range []string{name, installed.File} {
		if info, err := os.Stat(filepath.Join(dir, file)); err == nil {
			return info.ModTime()
		}
	}

	return time.Time{}
}
